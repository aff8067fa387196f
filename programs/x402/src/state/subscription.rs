// Rendered by idl2mcp from spec.py; edit the source. [76dabb5a6cbe76c9]
//! Subscription: what stands in an account, and how it is read and written.

use crate::codec::{I64, U32, U64};
use crate::error::Check;
use pinocchio::error::ProgramError;
use pinocchio::{Address, ProgramResult};

/// A subscriber's agreement, with the terms of the day on which it was made.
///
/// It lies over the account's data as it is: every field is aligned to one byte, so nothing is
/// copied.
#[repr(C)]
pub struct Subscription {
    discriminator_: [u8; 1],
    /// The bump of the subscription's address.
    pub bump: u8,
    /// The plan that was subscribed to first.
    pub plan: Address,
    /// The plan whose terms hold now.
    pub terms: Address,
    /// Who is paid.
    pub merchant: Address,
    /// Who pays.
    pub subscriber: Address,
    /// The mint of the tokens.
    pub mint: Address,
    /// Who paid for this account, and gets its lamports back.
    pub rent_payer: Address,
    /// Tokens for each charge, in base units.
    pub price: U64,
    /// Tokens that the last charge took.
    pub last_price: U64,
    /// Seconds in a period.
    pub period: U32,
    /// Seconds after a charge is due in which it can still be made.
    pub grace: U32,
    /// Charges made under these terms.
    pub charges: U32,
    /// Charges that the subscriber agreed to.
    pub max_charges: U32,
    /// Start of the period that was paid last, in seconds since 1970; 0 before the first charge.
    pub paid_from: I64,
    /// When the next charge is due, in seconds since 1970: the end of the trial or of the paid
    /// period.
    pub due_at: I64,
    /// When it was cancelled, in seconds since 1970; else 0.
    pub cancelled_at: I64,
}

const _: () =
    assert!(size_of::<Subscription>() == Subscription::LEN && align_of::<Subscription>() == 1);

impl Subscription {
    /// The bytes by which the account is known.
    pub const DISCRIMINATOR: [u8; 1] = [0x30];

    /// Bytes in the account, the discriminator included.
    pub const LEN: usize = 250;

    /// The account holds this type.
    #[inline(always)]
    fn check(data: &[u8]) -> ProgramResult {
        match data.first_chunk::<1>() {
            Some(found) if data.len() >= Self::LEN && *found == Self::DISCRIMINATOR => Ok(()),
            _ => Err(Self::fault(data).into()),
        }
    }

    /// Why it does not; in one place, so that state which is right pays for no error.
    #[cold]
    #[inline(never)]
    fn fault(data: &[u8]) -> Check {
        match data.first_chunk::<1>() {
            None => Check::AccountDiscriminatorNotFound,
            Some(found) if *found != Self::DISCRIMINATOR => Check::AccountDiscriminatorMismatch,
            Some(_) => Check::AccountDidNotDeserialize,
        }
    }

    /// The state in an account's data.
    #[inline(always)]
    pub fn load(data: &[u8]) -> Result<&Self, ProgramError> {
        Self::check(data)?;
        // SAFETY: there are at least LEN bytes, any bytes are a valid value, and one byte is
        // alignment enough (see above).
        Ok(unsafe { &*data.as_ptr().cast::<Self>() })
    }

    /// The state in an account's data, to be changed.
    #[inline(always)]
    pub fn load_mut(data: &mut [u8]) -> Result<&mut Self, ProgramError> {
        Self::check(data)?;
        // SAFETY: as in `load`; the borrow is exclusive.
        Ok(unsafe { &mut *data.as_mut_ptr().cast::<Self>() })
    }

    /// The state in the data of an account that was just created: marks it, all else is zero.
    #[inline(always)]
    pub fn create(data: &mut [u8]) -> Result<&mut Self, ProgramError> {
        data.first_chunk_mut()
            .map(|found| *found = Self::DISCRIMINATOR)
            .ok_or(ProgramError::AccountDataTooSmall)?;
        Self::load_mut(data)
    }
}
