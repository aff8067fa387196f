//! The rules that all channel instructions share.

use {
    crate::{checks::ensure, error::X402Error, state::Channel},
    pinocchio::{error::ProgramError, ProgramResult},
};

pub const VERSION: u8 = 1;

pub const OPEN: u8 = 0;
pub const SEALED: u8 = 1;
pub const DISTRIBUTED: u8 = 3;

const WHOLE: u64 = 10_000;

/// An account of zeros is not a channel: its discriminator is checked before the status, in which 0
/// means open.
pub fn version(channel: &Channel) -> ProgramResult {
    ensure(
        channel.version == VERSION,
        X402Error::UnsupportedChannelVersion,
    )
}

/// The channel, of this version and in this status.
pub fn in_status(channel: &Channel, status: u8) -> ProgramResult {
    version(channel)?;
    ensure(channel.status == status, X402Error::InvalidChannelStatus)
}

/// The whole part of `amount` times `bps` hundredths of a percent. Nothing can overflow for bps up
/// to 10,000, since the amount is divided first.
fn part(amount: u64, bps: u64) -> Option<u64> {
    let whole = amount.checked_div(WHOLE)?.checked_mul(bps)?;
    let rest = amount
        .checked_rem(WHOLE)?
        .checked_mul(bps)?
        .checked_div(WHOLE)?;
    whole.checked_add(rest)
}

/// The share of `bps` between two watermarks. Rounded shares of both sums are subtracted, so that no
/// remainder is lost between two distributions.
pub fn share(from: u64, to: u64, bps: u64) -> Result<u64, ProgramError> {
    part(to, bps)
        .zip(part(from, bps))
        .and_then(|(after, before)| after.checked_sub(before))
        .ok_or_else(|| X402Error::DistributePoolOverflow.into())
}

/// The share that the entries leave for the payee.
pub fn payee_bps(entries: &[crate::types::DistributionEntry]) -> Result<u64, ProgramError> {
    entries.iter().try_fold(WHOLE, |left, entry| {
        ensure(entry.bps > 0, X402Error::InvalidSplitConfig)?;
        left.checked_sub(u64::from(entry.bps))
            .ok_or_else(|| X402Error::InvalidSplitConfig.into())
    })
}

/// Checks the entries: at most 32, each with a share, together at most the whole, none twice.
pub fn entries(entries: &[crate::types::DistributionEntry]) -> Result<u64, ProgramError> {
    let most = usize::try_from(crate::constants::MAX_RECIPIENTS).unwrap_or_default();
    ensure(entries.len() <= most, X402Error::InvalidRecipientCount)?;
    let left = payee_bps(entries)?;
    for (i, entry) in entries.iter().enumerate() {
        let is_new = entries
            .iter()
            .take(i)
            .all(|before| before.recipient != entry.recipient);
        ensure(is_new, X402Error::DuplicateRecipient)?;
    }
    Ok(left)
}

/// SHA-256 of some bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    {
        let parts = [bytes];
        // SAFETY: the syscall reads one slice (an address and a length) and writes 32 bytes.
        unsafe {
            pinocchio::syscalls::sol_sha256(
                parts.as_ptr().cast(),
                parts.len() as u64,
                hash.as_mut_ptr(),
            );
        }
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box((bytes, &mut hash));
    hash
}

/// The first slot at which the account may be given back: no channel can be opened at its address
/// from then on, since its open slot is too long ago.
pub fn reclaim_slot(open_slot: u64) -> Result<u64, ProgramError> {
    open_slot
        .checked_add(crate::constants::OPEN_SLOT_WINDOW)
        .and_then(|last| last.checked_add(1))
        .ok_or(ProgramError::ArithmeticOverflow)
}
