// Rendered by idl2mcp from spec.py; edit the source. [c8d897dfdb6b9749]
//! Take tokens out of a vault, and return how many are left in it.
//!
//! amount: How many tokens.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use crate::instructions::Withdraw;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Withdraw>, amount: u64) -> Result<u64> {
    require!(amount > 0, crate::error::VaultError::ZeroAmount);
    require!(
        amount <= crate::tokens::token_amount(&ctx.accounts.tokens.to_account_info())?,
        crate::error::VaultError::NotEnoughTokens
    );
    ctx.accounts.vault.withdrawn = ctx
        .accounts
        .vault
        .withdrawn
        .checked_add(amount)
        .ok_or(crate::error::VaultError::Overflow)?;
    anchor_spl::token::transfer(
        CpiContext::new_with_signer(
            ctx.accounts.token_program.key(),
            anchor_spl::token::Transfer {
                from: ctx.accounts.tokens.to_account_info(),
                to: ctx.accounts.destination.to_account_info(),
                authority: ctx.accounts.vault.to_account_info(),
            },
            &[&[
                b"vault".as_ref(),
                ctx.accounts.authority.key().as_ref(),
                ctx.accounts.mint.key().as_ref(),
                &[ctx.accounts.vault.bump],
            ]],
        ),
        amount,
    )?;
    emit!(crate::events::Withdrawn {
        vault: ctx.accounts.vault.key(),
        amount
    });
    Ok(crate::tokens::token_amount(
        &ctx.accounts.tokens.to_account_info(),
    )?)
}
