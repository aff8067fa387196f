// Rendered by idl2mcp from spec.py; edit the source. [a6964d2c9bd45e5e]
//! State: what stands in an account, and how it is read and written.

use crate::codec::U64;
use crate::error::Check;
use pinocchio::error::ProgramError;
use pinocchio::{Address, ProgramResult};

/// One wallet's counter.
///
/// It lies over the account's data as it is: every field is aligned to one byte, so nothing is
/// copied.
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
    /// The bytes by which the account is known.
    // derived as Anchor does
    pub const DISCRIMINATOR: [u8; 8] = [0xd8, 0x92, 0x6b, 0x5e, 0x68, 0x4b, 0xb6, 0xb1];

    /// Bytes in the account, the discriminator included.
    pub const LEN: usize = 49;

    /// The account holds this type.
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

    /// Why it does not; in one place, so that state which is right pays for no error.
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
