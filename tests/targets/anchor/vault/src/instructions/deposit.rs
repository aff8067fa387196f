// Rendered by idl2mcp from spec.py; edit the source. [04c7f6ee38f11987]
//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.
//!
//! amount: How many tokens.

use crate::state::State;
use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Deposit<'info> {
    /// The vault that gets the tokens.
    #[account(
        mut,
        has_one = mint,
        seeds = [b"vault".as_ref(), vault.authority.as_ref(), mint.key().as_ref()],
        bump = vault.bump
    )]
    pub vault: Box<Account<'info, State>>,
    #[account(
        mut,
        token::mint = mint,
        token::authority = vault,
        seeds = [b"tokens".as_ref(), vault.key().as_ref()],
        bump
    )]
    pub tokens: Box<Account<'info, TokenAccount>>,
    /// The token account that gives them.
    #[account(mut, token::mint = mint, token::authority = depositor)]
    pub source: Box<Account<'info, TokenAccount>>,
    pub mint: Box<Account<'info, Mint>>,
    /// The wallet that owns the source.
    pub depositor: Signer<'info>,
    pub token_program: Program<'info, Token>,
}
