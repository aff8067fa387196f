// Rendered by idl2mcp from spec.py; edit the source. [a61aa1ebefebb0f8]
//! State: what this program's accounts hold.

use anchor_lang::prelude::*;

/// One vault.
#[account]
#[derive(Debug, PartialEq)]
pub struct State {
    /// The wallet that may withdraw.
    pub authority: Pubkey,
    /// The mint of the tokens that are kept.
    pub mint: Pubkey,
    /// Tokens that were ever put in, in base units.
    pub deposited: u64,
    /// Tokens that were ever taken out, in base units.
    pub withdrawn: u64,
    /// The bump of the vault's address.
    pub bump: u8,
}

impl State {
    /// The account's size, its discriminator included.
    pub const LEN: usize = 89;
}
