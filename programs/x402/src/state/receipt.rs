// Rendered by idl2mcp from spec.py; edit the source. [6184ce6d73c1a337]
//! The account type Receipt.

use {
    crate::{
        codec::{I64, U64},
        error::Check,
    },
    pinocchio::{error::ProgramError, Address, ProgramResult},
};

/// Proof of one exact payment.
///
/// Used in place in the account's data: every field has an alignment of one byte.
#[repr(C)]
pub struct Receipt {
    discriminator_: [u8; 1],
    /// The bump of the receipt's address.
    pub bump: u8,
    /// The owner of the tokens that paid.
    pub payer: Address,
    /// The wallet that was paid.
    pub payee: Address,
    /// The mint of the tokens.
    pub mint: Address,
    /// The wallet that paid for this account, and gets its lamports back.
    pub rent_payer: Address,
    /// The payment's id. Its first 8 bytes are the expiry, big-endian.
    pub payment_id: [u8; 32],
    /// Hash of the resource or the tool call that was paid for.
    pub call_hash: [u8; 32],
    /// Tokens paid, in base units.
    pub amount: U64,
    /// The time of the payment, in seconds since 1970.
    pub paid_at: I64,
    /// The slot of the payment.
    pub paid_slot: U64,
    /// The time until which the payment could be made, in seconds since 1970.
    pub expires_at: I64,
}

const _: () = assert!(size_of::<Receipt>() == Receipt::LEN && align_of::<Receipt>() == 1);

impl Receipt {
    pub const DISCRIMINATOR: [u8; 1] = [0x10];

    /// Size of the account, with its discriminator.
    pub const LEN: usize = 226;

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
