// Rendered by idl2mcp from spec.py; edit the source. [9165ed97c7374530]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.
//!
//! start: The counter's first value.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use crate::instructions::Initialize;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Initialize>, start: u64) -> Result<()> {
    ctx.accounts.counter.authority = ctx.accounts.authority.key();
    ctx.accounts.counter.count = start;
    emit!(crate::events::Changed {
        counter: ctx.accounts.counter.key(),
        count: start
    });
    Ok(())
}
