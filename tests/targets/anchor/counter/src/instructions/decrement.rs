// Rendered by idl2mcp from spec.py; edit the source. [7b3e7c38ac89638a]
//! Take an amount from the counter, and return what is left.
//!
//! amount: How much to take away.

use crate::state::State;
use anchor_lang::prelude::*;

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Decrement<'info> {
    /// The wallet's counter.
    #[account(
        mut,
        has_one = authority,
        seeds = [b"counter".as_ref(), authority.key().as_ref()],
        bump = counter.bump
    )]
    pub counter: Account<'info, State>,
    /// The wallet that owns the counter.
    pub authority: Signer<'info>,
}
