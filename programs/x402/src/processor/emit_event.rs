// Rendered by idl2mcp from spec.py; edit the source. [923df17ae8edec36]
//! Carries an event, as a call of the program to itself. Only the program can call it.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::instruction::emit_event::{Accounts, Args},
    pinocchio::ProgramResult,
};

pub fn process(_accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    Ok(())
}
