// Rendered by idl2mcp from spec.py; edit the source. [dd87be241cb026c2]
//! The account type Channel.

use {
    crate::{
        codec::{I64, U32, U64},
        error::Check,
    },
    pinocchio::{error::ProgramError, Address, ProgramResult},
};

/// A channel: tokens of a payer in escrow, which vouchers give to a payee step by step.
///
/// Used in place in the account's data: every field has an alignment of one byte.
#[repr(C)]
pub struct Channel {
    discriminator_: [u8; 1],
    /// 1\.
    pub version: u8,
    /// The bump of the channel's address.
    pub bump: u8,
    /// 0 open, 1 sealed, 2 closing, 3 distributed.
    pub status: u8,
    /// A number that distinguishes channels of the same parties.
    pub salt: U64,
    /// Tokens that the payer put in, in base units.
    pub deposit: U64,
    /// Tokens that vouchers proved so far, in base units.
    pub settled: U64,
    /// The part of \`settled\` that distributions have paid out.
    pub payout_watermark: U64,
    /// The time when the payer asked to close, in seconds since 1970; 0 if not closing.
    pub closure_started_at: I64,
    /// The time when the payer got the rest, in seconds since 1970; 0 before.
    pub payer_withdrawn_at: I64,
    /// Seconds that the payee has for a last voucher after the payer asked to close.
    pub grace_period: U32,
    /// SHA-256 of the distribution entries.
    pub distribution_hash: [u8; 32],
    /// The wallet that put the tokens in, and gets the rest back.
    pub payer: Address,
    /// The wallet that gets what the distribution entries leave.
    pub payee: Address,
    /// The key that signs vouchers.
    pub authorized_signer: Address,
    /// The mint of the tokens.
    pub mint: Address,
    /// The wallet that paid for the accounts, and gets their lamports back.
    pub rent_payer: Address,
    /// The slot that \`open\` was given.
    pub open_slot: U64,
}

const _: () = assert!(size_of::<Channel>() == Channel::LEN && align_of::<Channel>() == 1);

impl Channel {
    pub const DISCRIMINATOR: [u8; 1] = [0x01];

    /// Size of the account, with its discriminator.
    pub const LEN: usize = 256;

    /// Checks that the account is of this type.
    #[inline(always)]
    fn check(data: &[u8]) -> ProgramResult {
        match data.first_chunk::<1>() {
            Some(found) if data.len() >= Self::LEN && *found == Self::DISCRIMINATOR => Ok(()),
            _ => Err(Self::fault(data).into()),
        }
    }

    /// Why it is not of this type. A function apart, so that good state costs nothing more.
    #[cold]
    #[inline(never)]
    fn fault(data: &[u8]) -> Check {
        match data.first_chunk::<1>() {
            None => Check::AccountDiscriminatorNotFound,
            Some(found) if *found != Self::DISCRIMINATOR => Check::AccountDiscriminatorMismatch,
            Some(_) => Check::AccountDidNotDeserialize,
        }
    }

    #[inline(always)]
    pub fn load(data: &[u8]) -> Result<&Self, ProgramError> {
        Self::check(data)?;
        // SAFETY: there are LEN bytes, all bytes are values, and the alignment is 1 (see above).
        Ok(unsafe { &*data.as_ptr().cast::<Self>() })
    }

    #[inline(always)]
    pub fn load_mut(data: &mut [u8]) -> Result<&mut Self, ProgramError> {
        Self::check(data)?;
        // SAFETY: as in `load`; the borrow is exclusive.
        Ok(unsafe { &mut *data.as_mut_ptr().cast::<Self>() })
    }

    /// Writes the discriminator to the data of a new account, in which all else is zero.
    #[inline(always)]
    pub fn create(data: &mut [u8]) -> Result<&mut Self, ProgramError> {
        data.first_chunk_mut()
            .map(|found| *found = Self::DISCRIMINATOR)
            .ok_or(ProgramError::AccountDataTooSmall)?;
        Self::load_mut(data)
    }
}
