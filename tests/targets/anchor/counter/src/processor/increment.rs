//! Add an amount to the counter.
//!
//! amount: How much to add.

use crate::error::CounterError;
use crate::events::Changed;
use crate::instructions::Increment;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Increment>, amount: u64) -> Result<()> {
    let counter = &mut ctx.accounts.counter;
    counter.count = counter
        .count
        .checked_add(amount)
        .ok_or(CounterError::Overflow)?;
    emit!(Changed {
        counter: counter.key(),
        count: counter.count,
    });
    Ok(())
}
