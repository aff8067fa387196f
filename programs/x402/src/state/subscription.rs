// Rendered by idl2mcp from spec.py; edit the source. [b3835c57f90535ac]
//! The account type Subscription.

use {
    crate::{
        codec::{I64, U32, U64},
        error::Check,
    },
    pinocchio::{error::ProgramError, Address, ProgramResult},
};

/// A subscriber's agreement, with the plan's terms at that time.
///
/// Used in place in the account's data: every field has an alignment of one byte.
#[repr(C)]
pub struct Subscription {
    discriminator_: [u8; 1],
    /// The bump of the subscription's address.
    pub bump: u8,
    /// The plan of the first agreement.
    pub plan: Address,
    /// The plan whose terms apply now.
    pub terms: Address,
    /// The wallet that is paid.
    pub merchant: Address,
    /// The wallet that pays.
    pub subscriber: Address,
    /// The mint of the tokens.
    pub mint: Address,
    /// The wallet that paid for this account, and gets its lamports back.
    pub rent_payer: Address,
    /// Tokens for each charge, in base units.
    pub price: U64,
    /// Tokens that the last charge took.
    pub last_price: U64,
    /// Seconds in a period.
    pub period: U32,
    /// Seconds after a charge is due within which it can still be made.
    pub grace: U32,
    /// Charges made under these terms.
    pub charges: U32,
    /// Charges that the subscriber agreed to; no more than \`charges\` once the allowance is taken
    /// back.
    pub max_charges: U32,
    /// Start of the period that was paid last, in seconds since 1970; 0 before the first charge.
    pub paid_from: I64,
    /// The time when the next charge is due, in seconds since 1970: the end of the trial or paid
    /// period.
    pub due_at: I64,
    /// The time when it was cancelled, in seconds since 1970; else 0.
    pub cancelled_at: I64,
}

const _: () =
    assert!(size_of::<Subscription>() == Subscription::LEN && align_of::<Subscription>() == 1);

impl Subscription {
    pub const DISCRIMINATOR: [u8; 1] = [0x30];

    /// Size of the account, with its discriminator.
    pub const LEN: usize = 250;

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
