// Rendered by idl2mcp from spec.py; edit the source. [5e95e32df2333fe4]
//! The account type Plan.

use {
    crate::{
        codec::{Flag, U32, U64},
        error::Check,
    },
    pinocchio::{error::ProgramError, Address, ProgramResult},
};

/// A merchant's offer to subscribers. Only \`open\` can change.
///
/// Used in place in the account's data: every field has an alignment of one byte.
#[repr(C)]
pub struct Plan {
    discriminator_: [u8; 1],
    /// The bump of the plan's address.
    pub bump: u8,
    /// The plan takes new subscribers.
    pub open: Flag,
    /// The wallet that is paid.
    pub merchant: Address,
    /// The mint of the tokens.
    pub mint: Address,
    /// A number that distinguishes the merchant's plans.
    pub plan_id: U64,
    /// Tokens for each period, in base units.
    pub price: U64,
    /// Seconds in a period.
    pub period: U32,
    /// Seconds before the first charge; 0 charges at once.
    pub trial: U32,
    /// Seconds after a charge is due within which it can still be made.
    pub grace: U32,
    /// The most charges that a subscriber can agree to.
    pub max_charges: U32,
}

const _: () = assert!(size_of::<Plan>() == Plan::LEN && align_of::<Plan>() == 1);

impl Plan {
    pub const DISCRIMINATOR: [u8; 1] = [0x20];

    /// Size of the account, with its discriminator.
    pub const LEN: usize = 99;

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
