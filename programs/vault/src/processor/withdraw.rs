//! Take tokens out of a vault, and return how many are left in it.

use crate::checks::{ensure, token_amount};
use crate::error::VaultError;
use crate::events::Withdrawn;
use crate::instruction::withdraw::{Accounts, Args};
use crate::state::State;
use pinocchio::cpi::Signer;
use pinocchio::error::ProgramError;
use pinocchio_token::instructions::Transfer;

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
