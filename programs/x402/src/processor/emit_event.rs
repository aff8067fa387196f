// Rendered by idl2mcp from spec.py; edit the source. [c6d23e2cce6002ae]
//! Carries an event, as a call of the program to itself. Only the program can call it.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use {
    crate::instruction::emit_event::{Accounts, Args},
    pinocchio::ProgramResult,
};

pub fn process(_accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    Ok(())
}
