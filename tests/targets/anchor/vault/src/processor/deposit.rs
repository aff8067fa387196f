//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.
//!
//! amount: How many tokens.

use crate::error::VaultError;
use crate::events::Deposited;
use crate::instructions::Deposit;
use anchor_lang::prelude::*;
use anchor_spl::token::{transfer, Transfer};

pub fn process(ctx: Context<Deposit>, amount: u64) -> Result<()> {
    require_gt!(amount, 0, VaultError::ZeroAmount);
    let vault = &mut ctx.accounts.vault;
    vault.deposited = vault
        .deposited
        .checked_add(amount)
        .ok_or(VaultError::Overflow)?;
    let accounts = Transfer {
        from: ctx.accounts.source.to_account_info(),
        to: ctx.accounts.tokens.to_account_info(),
        authority: ctx.accounts.depositor.to_account_info(),
    };
    let program = ctx.accounts.token_program.key();
    transfer(CpiContext::new(program, accounts), amount)?;
    emit!(Deposited {
        vault: ctx.accounts.vault.key(),
        depositor: ctx.accounts.depositor.key(),
        amount,
    });
    Ok(())
}
