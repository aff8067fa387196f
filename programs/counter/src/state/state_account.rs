// Rendered by idl2mcp from spec.py; edit the source. [44602999d4eb2f2c]
//! The account type State.

use {
    crate::{codec::U64, error::Check},
    pinocchio::{error::ProgramError, Address, ProgramResult},
};

/// One wallet's counter.
///
/// Used in place in the account's data: every field has an alignment of one byte.
#[repr(C)]
pub struct State {
    discriminator_: [u8; 8],
    /// The wallet that may change the counter.
    pub authority: Address,
    /// What was counted so far.
    pub count: U64,
    /// The bump of the counter's address.
    pub bump: u8,
}

const _: () = assert!(size_of::<State>() == State::LEN && align_of::<State>() == 1);

impl State {
    // derived as Anchor does
    pub const DISCRIMINATOR: [u8; 8] = [0xd8, 0x92, 0x6b, 0x5e, 0x68, 0x4b, 0xb6, 0xb1];

    /// Size of the account, with its discriminator.
    pub const LEN: usize = 49;

    /// Checks that the account is of this type.
    #[inline(always)]
    fn check(data: &[u8]) -> ProgramResult {
        match data.first_chunk::<8>() {
            Some(found)
                if data.len() >= Self::LEN
                    && u64::from_le_bytes(*found) == u64::from_le_bytes(Self::DISCRIMINATOR) =>
            {
                Ok(())
            }
            _ => Err(Self::fault(data).into()),
        }
    }

    /// Why it is not of this type. A function apart, so that good state costs nothing more.
    #[cold]
    #[inline(never)]
    fn fault(data: &[u8]) -> Check {
        match data.first_chunk::<8>() {
            None => Check::AccountDiscriminatorNotFound,
            Some(found)
                if u64::from_le_bytes(*found) != u64::from_le_bytes(Self::DISCRIMINATOR) =>
            {
                Check::AccountDiscriminatorMismatch
            }
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
