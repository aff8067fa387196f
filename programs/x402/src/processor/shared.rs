//! What several handlers need: channels, payouts, token accounts, events by CPI.

pub mod channel;
pub mod emit;
pub mod payout;
pub mod tokens;

use pinocchio::{
    error::ProgramError,
    sysvars::{clock::Clock, Sysvar},
};

/// Seconds since 1970, as the cluster counts them.
#[inline(always)]
pub fn now() -> Result<i64, ProgramError> {
    Ok(Clock::get()?.unix_timestamp)
}
