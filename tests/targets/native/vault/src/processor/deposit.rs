// Rendered by idl2mcp from spec.py; edit the source. [09e96ff3c25078f4]
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
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, args: &Args) -> ProgramResult {
    checks::ensure(args.amount > 0, VaultError::ZeroAmount)?;
    let mut vault_data = accounts.vault.try_borrow_mut_data()?;
    let vault_state = State::load_mut(&mut vault_data)?;
    vault_state.deposited.set(
        vault_state
            .deposited
            .get()
            .checked_add(args.amount)
            .ok_or(VaultError::Overflow)?,
    );
    drop(vault_data);
    checks::call_tokens(
        accounts.token_program,
        &[(accounts.source, true), (accounts.tokens, true)],
        accounts.depositor,
        &[&[3], &u64::to_le_bytes(args.amount)],
        &[],
    )?;
    events::Deposited {
        vault: *accounts.vault.key,
        depositor: *accounts.depositor.key,
        amount: args.amount,
    }
    .emit()?;
    Ok(())
}
