// Rendered by idl2mcp from spec.py; edit the source. [04f9c380324824b7]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use crate::instructions::Initialize;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Initialize>) -> Result<()> {
    ctx.accounts.vault.authority = ctx.accounts.authority.key();
    ctx.accounts.vault.mint = ctx.accounts.mint.key();
    Ok(())
}
