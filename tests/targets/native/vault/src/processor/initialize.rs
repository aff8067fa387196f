// Rendered by idl2mcp from spec.py; edit the source. [415525508efa0f3a]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

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
