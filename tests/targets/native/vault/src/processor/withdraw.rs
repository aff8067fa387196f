//! Take tokens out of a vault, and return how many are left in it.

use {
    crate::{
        checks::{ensure, token_amount, transfer_tokens},
        error::VaultError,
        events::Withdrawn,
        instruction::withdraw::{Accounts, Args},
        state::State,
    },
    solana_program::program_error::ProgramError,
};

pub fn process(accounts: &Accounts, args: &Args) -> Result<u64, ProgramError> {
    let amount = args.amount;
    ensure(amount > 0, VaultError::ZeroAmount)?;
    ensure(
        amount <= token_amount(accounts.tokens)?,
        VaultError::NotEnoughTokens,
    )?;
    {
        let mut data = accounts.vault.try_borrow_mut_data()?;
        let state = State::load_mut(&mut data)?;
        let withdrawn = state
            .withdrawn
            .get()
            .checked_add(amount)
            .ok_or(VaultError::Overflow)?;
        state.withdrawn.set(withdrawn);
    }
    transfer_tokens(
        accounts.token_program,
        [accounts.tokens, accounts.destination, accounts.vault],
        amount,
        &[&accounts.vault_seeds()],
    )?;
    Withdrawn {
        vault: *accounts.vault.key,
        amount,
    }
    .emit()?;
    token_amount(accounts.tokens)
}
