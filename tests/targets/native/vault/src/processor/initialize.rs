//! Create an empty vault for a wallet and a mint.

use {
    crate::{
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    solana_program::entrypoint::ProgramResult,
};

/// The vault and its token account were created before this, as the spec says.
pub fn process(accounts: &Accounts, _args: &Args) -> ProgramResult {
    let mut data = accounts.vault.try_borrow_mut_data()?;
    let state = State::load_mut(&mut data)?;
    state.authority = *accounts.authority.key;
    state.mint = *accounts.mint.key;
    Ok(())
}
