// Rendered by idl2mcp from spec.py; edit the source. [f7d37c019cffbb46]
//! State: what this program's accounts hold.

use anchor_lang::prelude::*;

/// One wallet's counter.
#[account]
#[derive(Debug, PartialEq)]
pub struct State {
    /// The wallet that may change the counter.
    pub authority: Pubkey,
    /// What was counted so far.
    pub count: u64,
    /// The bump of the counter's address.
    pub bump: u8,
}

impl State {
    /// The account's size, its discriminator included.
    pub const LEN: usize = 49;
}
