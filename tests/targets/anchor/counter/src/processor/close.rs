//! Close the counter and give its rent back to the wallet.
//!
//! When to use: When the counter stands at zero and is not needed any more.

use crate::error::CounterError;
use crate::instructions::Close;
use anchor_lang::prelude::*;

/// The account itself is closed behind this, as the spec says.
pub fn process(ctx: Context<Close>) -> Result<()> {
    require_eq!(ctx.accounts.counter.count, 0, CounterError::NotZero);
    Ok(())
}
