// Rendered by idl2mcp from spec.py; edit the source. [ebc9cc43e480961a]
//! Close the counter and give its rent back to the wallet.
//!
//! When to use: When the counter stands at zero and is not needed any more.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use crate::instructions::Close;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Close>) -> Result<()> {
    require!(
        ctx.accounts.counter.count == 0,
        crate::error::CounterError::NotZero
    );
    Ok(())
}
