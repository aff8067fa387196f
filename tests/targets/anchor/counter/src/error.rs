// Rendered by idl2mcp from spec.py; edit the source. [a09047e82dee82be]
//! Errors: the program's own.

use anchor_lang::prelude::*;

/// The program's own errors.
#[error_code(offset = 0)]
#[derive(PartialEq, Eq)]
pub enum CounterError {
    /// The count would go over 18446744073709551615
    #[msg("The count would go over 18446744073709551615")]
    Overflow = 6000,
    /// The count would go below zero
    #[msg("The count would go below zero")]
    Underflow = 6001,
    /// Only a counter that stands at zero can be closed
    #[msg("Only a counter that stands at zero can be closed")]
    NotZero = 6002,
}

/// What a handler answers that is not written yet.
pub fn not_written() -> Error {
    msg!("InstructionNotWritten (5999): This instruction's handler is not written yet");
    ProgramError::Custom(5_999).into()
}
