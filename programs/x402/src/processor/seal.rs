// Rendered by idl2mcp from spec.py; edit the source. [878ab6dd1504c182]
//! Seal a closing channel after its grace period. Anyone may call it.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::seal::{Accounts, Args},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_status(2, channel_state)?;
    checks::ensure(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp
            >= crate::helpers::seal_deadline(channel_state)?,
        X402Error::SealGracePeriodNotElapsed,
    )?;
    channel_state.status = 1;
    channel_state.closure_started_at.set(0);
    events::Sealed {
        channel: *accounts.channel.address(),
        settled: channel_state.settled.get(),
    }
    .emit()?;
    Ok(())
}
