// Rendered by idl2mcp from spec.py; edit the source. [6a2dc14881f8a2cb]
//! Take tokens out of a vault, and return how many are left in it.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::VaultError,
        events,
        instruction::withdraw::{Accounts, Args},
        state::State,
    },
    solana_program::program_error::ProgramError,
};

pub fn process(accounts: &Accounts, args: &Args) -> Result<u64, ProgramError> {
    checks::ensure(args.amount > 0, VaultError::ZeroAmount)?;
    checks::ensure(
        args.amount <= checks::token_amount(accounts.tokens)?,
        VaultError::NotEnoughTokens,
    )?;
    let mut vault_data = accounts.vault.try_borrow_mut_data()?;
    let vault_state = State::load_mut(&mut vault_data)?;
    vault_state.withdrawn.set(
        vault_state
            .withdrawn
            .get()
            .checked_add(args.amount)
            .ok_or(VaultError::Overflow)?,
    );
    drop(vault_data);
    checks::call_tokens(
        accounts.token_program,
        &[(accounts.tokens, true), (accounts.destination, true)],
        accounts.vault,
        &[&[3], &u64::to_le_bytes(args.amount)],
        &[&accounts.vault_seeds()],
    )?;
    events::Withdrawn {
        vault: *accounts.vault.key,
        amount: args.amount,
    }
    .emit()?;
    Ok(checks::token_amount(accounts.tokens)?)
}
