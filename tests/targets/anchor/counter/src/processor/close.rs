// Rendered by idl2mcp from spec.py; edit the source. [c1eb821326401695]
//! Close the counter and give its rent back to the wallet.
//!
//! When to use: When the counter stands at zero and is not needed any more.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use crate::instructions::Close;
use anchor_lang::prelude::*;

pub fn process(ctx: Context<Close>) -> Result<()> {
    require!(
        ctx.accounts.counter.count == 0,
        crate::error::CounterError::NotZero
    );
    Ok(())
}
