// Rendered by idl2mcp from spec.py; edit the source. [ea452089f93b7e24]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, _args: &Args) -> ProgramResult {
    let mut vault_data = accounts.vault.try_borrow_mut_data()?;
    let vault_state = State::load_mut(&mut vault_data)?;
    vault_state.authority = *accounts.authority.key;
    vault_state.mint = *accounts.mint.key;
    Ok(())
}
