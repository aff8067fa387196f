// Rendered by idl2mcp from spec.py; edit the source. [ef877aa1e5c2fab9]
//! Take an amount from the counter, and return what is left.
//!
//! amount: How much to take away.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

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
