// Rendered by idl2mcp from spec.py; edit the source. [05d0b94615a5a6d2]
//! Add an amount to the counter.
//!
//! amount: How much to add.

use crate::state::State;
use anchor_lang::prelude::*;

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Increment<'info> {
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
