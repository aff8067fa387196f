//! Take tokens out of a vault, and return how many are left in it.

use {
    crate::{
        checks::{ensure, token_amount},
        error::VaultError,
        events::Withdrawn,
        instruction::withdraw::{Accounts, Args},
        state::State,
    },
    pinocchio::{cpi::Signer, error::ProgramError},
    pinocchio_token::instructions::Transfer,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> Result<u64, ProgramError> {
    let amount = args.amount;
    ensure(amount > 0, VaultError::ZeroAmount)?;
    ensure(
        amount <= token_amount(accounts.tokens)?,
        VaultError::NotEnoughTokens,
    )?;
    {
        let mut data = accounts.vault.try_borrow_mut()?;
        let state = State::load_mut(&mut data)?;
        let withdrawn = state
            .withdrawn
            .get()
            .checked_add(amount)
            .ok_or(VaultError::Overflow)?;
        state.withdrawn.set(withdrawn);
    }
    Transfer::new(
        accounts.tokens,
        accounts.destination,
        accounts.vault,
        amount,
    )
    .invoke_signed(&[Signer::from(&accounts.vault_seeds())])?;
    Withdrawn {
        vault: *accounts.vault.address(),
        amount,
    }
    .emit()?;
    token_amount(accounts.tokens)
}
