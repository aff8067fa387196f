// Rendered by idl2mcp from spec.py; edit the source. [723677cf9638f8a4]
//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::VaultError,
        events,
        instruction::deposit::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    checks::ensure(args.amount > 0, VaultError::ZeroAmount)?;
    let mut vault_view = *accounts.vault;
    let mut vault_data = vault_view.try_borrow_mut()?;
    let vault_state = State::load_mut(&mut vault_data)?;
    vault_state.deposited.set(
        vault_state
            .deposited
            .get()
            .checked_add(args.amount)
            .ok_or(VaultError::Overflow)?,
    );
    drop(vault_data);
    pinocchio_token::instructions::Transfer::new(
        accounts.source,
        accounts.tokens,
        accounts.depositor,
        args.amount,
    )
    .invoke()?;
    events::Deposited {
        vault: *accounts.vault.address(),
        depositor: *accounts.depositor.address(),
        amount: args.amount,
    }
    .emit()?;
    Ok(())
}
