// Rendered by idl2mcp from spec.py; edit the source. [1855fe66af9a3daa]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

use crate::state::State;
use anchor_lang::prelude::*;
use anchor_spl::token::{Mint, Token, TokenAccount};

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Initialize<'info> {
    /// The new vault.
    #[account(
        init,
        payer = authority,
        space = State::LEN,
        seeds = [b"vault".as_ref(), authority.key().as_ref(), mint.key().as_ref()],
        bump
    )]
    pub vault: Box<Account<'info, State>>,
    /// The vault's own token account.
    #[account(
        init,
        payer = authority,
        token::mint = mint,
        token::authority = vault,
        seeds = [b"tokens".as_ref(), vault.key().as_ref()],
        bump
    )]
    pub tokens: Box<Account<'info, TokenAccount>>,
    /// The mint of the tokens to keep.
    pub mint: Box<Account<'info, Mint>>,
    /// The wallet that may withdraw; it pays the rent.
    #[account(mut)]
    pub authority: Signer<'info>,
    pub token_program: Program<'info, Token>,
    pub system_program: Program<'info, System>,
}
