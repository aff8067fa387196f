//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.

use {
    crate::{
        checks::{ensure, transfer_tokens},
        error::VaultError,
        events::Deposited,
        instruction::deposit::{Accounts, Args},
        state::State,
    },
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, args: &Args) -> ProgramResult {
    let amount = args.amount;
    ensure(amount > 0, VaultError::ZeroAmount)?;
    {
        let mut data = accounts.vault.try_borrow_mut_data()?;
        let state = State::load_mut(&mut data)?;
        let deposited = state
            .deposited
            .get()
            .checked_add(amount)
            .ok_or(VaultError::Overflow)?;
        state.deposited.set(deposited);
    }
    transfer_tokens(
        accounts.token_program,
        [accounts.source, accounts.tokens, accounts.depositor],
        amount,
        &[],
    )?;
    Deposited {
        vault: *accounts.vault.key,
        depositor: *accounts.depositor.key,
        amount,
    }
    .emit()
}
