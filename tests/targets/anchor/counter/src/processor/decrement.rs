// Rendered by idl2mcp from spec.py; edit the source. [e891afecdc458409]
//! Take an amount from the counter, and return what is left.
//!
//! amount: How much to take away.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use crate::instructions::Decrement;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Decrement>, amount: u64) -> Result<u64> {
    ctx.accounts.counter.count = ctx
        .accounts
        .counter
        .count
        .checked_sub(amount)
        .ok_or(crate::error::CounterError::Underflow)?;
    emit!(crate::events::Changed {
        counter: ctx.accounts.counter.key(),
        count: ctx.accounts.counter.count
    });
    Ok(ctx.accounts.counter.count)
}
