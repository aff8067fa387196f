// Rendered by idl2mcp from spec.py; edit the source. [504270ff7765881b]
//! Close the counter and give its rent back to the wallet.
//!
//! When to use: When the counter stands at zero and is not needed any more.

use crate::state::State;
use anchor_lang::prelude::*;

/// Accounts expected by this instruction.
#[derive(Accounts)]
pub struct Close<'info> {
    /// The wallet's counter.
    #[account(
        mut,
        has_one = authority,
        seeds = [b"counter".as_ref(), authority.key().as_ref()],
        bump = counter.bump,
        close = authority
    )]
    pub counter: Account<'info, State>,
    /// The wallet that owns the counter; it gets the rent.
    #[account(mut)]
    pub authority: Signer<'info>,
}
