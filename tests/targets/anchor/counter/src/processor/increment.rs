// Rendered by idl2mcp from spec.py; edit the source. [e7172382eaeea2ec]
//! Add an amount to the counter.
//!
//! amount: How much to add.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

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
