// Rendered by idl2mcp from spec.py; edit the source. [90330824154be204]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.
//!
//! start: The counter's first value.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

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
