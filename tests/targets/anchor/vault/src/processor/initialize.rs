//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

use crate::instructions::Initialize;
use anchor_lang::prelude::*;

/// The vault and its token account were created before this, as the spec says.
pub fn process(ctx: Context<Initialize>) -> Result<()> {
    let vault = &mut ctx.accounts.vault;
    vault.authority = ctx.accounts.authority.key();
    vault.mint = ctx.accounts.mint.key();
    Ok(())
}
