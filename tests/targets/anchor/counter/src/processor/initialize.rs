//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.
//!
//! start: The counter's first value.

use crate::events::Changed;
use crate::instructions::Initialize;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Initialize>, start: u64) -> Result<()> {
    let counter = &mut ctx.accounts.counter;
    counter.authority = ctx.accounts.authority.key();
    counter.count = start;
    emit!(Changed {
        counter: counter.key(),
        count: start,
    });
    Ok(())
}
