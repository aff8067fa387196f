//! Take an amount from the counter, and return what is left.
//!
//! amount: How much to take away.

use crate::error::CounterError;
use crate::events::Changed;
use crate::instructions::Decrement;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Decrement>, amount: u64) -> Result<u64> {
    let counter = &mut ctx.accounts.counter;
    counter.count = counter
        .count
        .checked_sub(amount)
        .ok_or(CounterError::Underflow)?;
    emit!(Changed {
        counter: counter.key(),
        count: counter.count,
    });
    Ok(counter.count)
}
