//! Take tokens out of a vault, and return how many are left in it.
//!
//! amount: How many tokens.

use crate::error::VaultError;
use crate::events::Withdrawn;
use crate::instructions::Withdraw;
use anchor_lang::prelude::*;
use anchor_spl::token::{transfer, Transfer};

pub fn process(ctx: Context<Withdraw>, amount: u64) -> Result<u64> {
    require_gt!(amount, 0, VaultError::ZeroAmount);
    require_gte!(
        ctx.accounts.tokens.amount,
        amount,
        VaultError::NotEnoughTokens
    );
    let vault = &mut ctx.accounts.vault;
    vault.withdrawn = vault
        .withdrawn
        .checked_add(amount)
        .ok_or(VaultError::Overflow)?;
    let seeds: [&[u8]; 4] = [
        b"vault",
        vault.authority.as_ref(),
        vault.mint.as_ref(),
        &[vault.bump],
    ];
    let accounts = Transfer {
        from: ctx.accounts.tokens.to_account_info(),
        to: ctx.accounts.destination.to_account_info(),
        authority: vault.to_account_info(),
    };
    let program = ctx.accounts.token_program.key();
    transfer(
        CpiContext::new_with_signer(program, accounts, &[&seeds]),
        amount,
    )?;
    emit!(Withdrawn {
        vault: vault.key(),
        amount,
    });
    ctx.accounts.tokens.reload()?;
    Ok(ctx.accounts.tokens.amount)
}
