//! Create an empty vault for a wallet and a mint.

use {
    crate::{
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

/// The vault and its token account were created before this, as the spec says.
pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let mut data = accounts.vault.try_borrow_mut()?;
    let state = State::load_mut(&mut data)?;
    state.authority = *accounts.authority.address();
    state.mint = *accounts.mint.address();
    Ok(())
}
