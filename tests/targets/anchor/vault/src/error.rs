// Rendered by idl2mcp from spec.py; edit the source. [06f3020633bce215]
//! Errors: the program's own.

use anchor_lang::prelude::*;

/// The program's own errors.
#[error_code(offset = 0)]
#[derive(PartialEq, Eq)]
pub enum VaultError {
    /// The amount must be more than zero
    #[msg("The amount must be more than zero")]
    ZeroAmount = 6000,
    /// The vault holds fewer tokens than that
    #[msg("The vault holds fewer tokens than that")]
    NotEnoughTokens = 6001,
    /// Only the vault's authority may do this
    #[msg("Only the vault's authority may do this")]
    WrongAuthority = 6002,
    /// The vault has counted more than 18446744073709551615 base units
    #[msg("The vault has counted more than 18446744073709551615 base units")]
    Overflow = 6003,
}

/// What a handler answers that is not written yet.
pub fn not_written() -> Error {
    msg!("InstructionNotWritten (5999): This instruction's handler is not written yet");
    ProgramError::Custom(5_999).into()
}
