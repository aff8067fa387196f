//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.

use {
    crate::{
        checks::ensure,
        error::VaultError,
        events::Deposited,
        instruction::deposit::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
    pinocchio_token::instructions::Transfer,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let amount = args.amount;
    ensure(amount > 0, VaultError::ZeroAmount)?;
    {
        let mut data = accounts.vault.try_borrow_mut()?;
        let state = State::load_mut(&mut data)?;
        let deposited = state
            .deposited
            .get()
            .checked_add(amount)
            .ok_or(VaultError::Overflow)?;
        state.deposited.set(deposited);
    }
    Transfer::new(accounts.source, accounts.tokens, accounts.depositor, amount).invoke()?;
    Deposited {
        vault: *accounts.vault.address(),
        depositor: *accounts.depositor.address(),
        amount,
    }
    .emit()
}
