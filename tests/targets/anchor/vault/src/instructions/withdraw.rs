// Rendered by idl2mcp from spec.py; edit the source. [4a6b5e8ea5382a34]
//! Take tokens out of a vault, and return how many are left in it.
//!
//! amount: How many tokens.

use crate::error::VaultError;
use crate::state::State;
use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Withdraw<'info> {
    /// The vault that gives the tokens.
    #[account(
        mut,
        has_one = authority @ VaultError::WrongAuthority,
        has_one = mint,
        seeds = [b"vault".as_ref(), authority.key().as_ref(), mint.key().as_ref()],
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
    /// The token account that gets them.
    #[account(mut, token::mint = mint)]
    pub destination: Box<Account<'info, TokenAccount>>,
    pub mint: Box<Account<'info, Mint>>,
    /// The vault's authority.
    pub authority: Signer<'info>,
    pub token_program: Program<'info, Token>,
}
