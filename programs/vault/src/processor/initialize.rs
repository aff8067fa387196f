// Rendered by idl2mcp from spec.py; edit the source. [82dfbce2c290884b]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use {
    crate::{
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let mut vault_view = *accounts.vault;
    let mut vault_data = vault_view.try_borrow_mut()?;
    let vault_state = State::load_mut(&mut vault_data)?;
    vault_state.authority = *accounts.authority.address();
    vault_state.mint = *accounts.mint.address();
    Ok(())
}
