// Rendered by idl2mcp from spec.py; edit the source. [14e3e7a35ba11e89]
//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.
//!
//! amount: How many tokens.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use crate::instructions::Deposit;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Deposit>, amount: u64) -> Result<()> {
    require!(amount > 0, crate::error::VaultError::ZeroAmount);
    ctx.accounts.vault.deposited = ctx
        .accounts
        .vault
        .deposited
        .checked_add(amount)
        .ok_or(crate::error::VaultError::Overflow)?;
    anchor_spl::token::transfer(
        CpiContext::new(
            ctx.accounts.token_program.key(),
            anchor_spl::token::Transfer {
                from: ctx.accounts.source.to_account_info(),
                to: ctx.accounts.tokens.to_account_info(),
                authority: ctx.accounts.depositor.to_account_info(),
            },
        ),
        amount,
    )?;
    emit!(crate::events::Deposited {
        vault: ctx.accounts.vault.key(),
        depositor: ctx.accounts.depositor.key(),
        amount
    });
    Ok(())
}
