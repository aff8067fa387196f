// Rendered by idl2mcp from spec.py; edit the source. [ca2cd6f1a07aa28b]
//! Add an amount to the counter.
//!
//! amount: How much to add.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use crate::instructions::Increment;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Increment>, amount: u64) -> Result<()> {
    ctx.accounts.counter.count = ctx
        .accounts
        .counter
        .count
        .checked_add(amount)
        .ok_or(crate::error::CounterError::Overflow)?;
    emit!(crate::events::Changed {
        counter: ctx.accounts.counter.key(),
        count: ctx.accounts.counter.count
    });
    Ok(())
}
