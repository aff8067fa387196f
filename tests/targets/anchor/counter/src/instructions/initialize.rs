// Rendered by idl2mcp from spec.py; edit the source. [d0e86a8bd7b5f7ea]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.
//!
//! start: The counter's first value.

use crate::state::State;
use anchor_lang::prelude::*;

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Initialize<'info> {
    /// The new counter; its address is derived from the wallet's.
    #[account(
        init,
        payer = authority,
        space = State::LEN,
        seeds = [b"counter".as_ref(), authority.key().as_ref()],
        bump
    )]
    pub counter: Account<'info, State>,
    /// The wallet; it pays the rent and owns the counter.
    #[account(mut)]
    pub authority: Signer<'info>,
    pub system_program: Program<'info, System>,
}
