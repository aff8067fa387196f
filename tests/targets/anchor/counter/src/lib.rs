// Rendered by idl2mcp from spec.py; edit the source. [72c4f4ff8f4b5782]
//! A counter for each wallet, which only that wallet can change.
//!
//! | module | holds | written by |
//! |---|---|---|
//! | `processor` | what each instruction does | idl2mcp |
//! | `instructions` | its accounts and their constraints | idl2mcp |
//! | `state`, `types`, `events`, `error` | what the source defines | idl2mcp |
//! | `list_tools` | the answers to `list_tools` | idl2mcp |

use anchor_lang::prelude::*;

pub mod error;
pub mod events;
pub mod instructions;
pub mod list_tools;
pub mod processor;
pub mod state;

// The #[program] macro looks for these here.
pub use instructions::*;
pub use list_tools::*;

declare_id!("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb");

#[program]
pub mod counter {
    use super::*;

    /// Create the counter of a wallet.
    ///
    /// When to use: Once for each wallet, before anything can be counted.
    ///
    /// start: The counter's first value.
    pub fn initialize(ctx: Context<Initialize>, start: u64) -> Result<()> {
        ctx.accounts.counter.bump = ctx.bumps.counter;
        processor::initialize::process(ctx, start)
    }

    /// Add an amount to the counter.
    ///
    /// amount: How much to add.
    pub fn increment(ctx: Context<Increment>, amount: u64) -> Result<()> {
        processor::increment::process(ctx, amount)
    }

    /// Take an amount from the counter, and return what is left.
    ///
    /// amount: How much to take away.
    pub fn decrement(ctx: Context<Decrement>, amount: u64) -> Result<u64> {
        processor::decrement::process(ctx, amount)
    }

    /// Close the counter and give its rent back to the wallet.
    ///
    /// When to use: When the counter stands at zero and is not needed any more.
    pub fn close(ctx: Context<Close>) -> Result<()> {
        processor::close::process(ctx)
    }

    /// The program's tools, page by page, for clients that do not know it yet.
    #[instruction(discriminator = [0x42, 0x19, 0x5e, 0x6a, 0x55, 0xfd, 0x41, 0xc0])]
    pub fn list_tools(_ctx: Context<ListTools>, cursor: Cursor) -> Result<()> {
        list_tools::answer(cursor)
    }
}

/// Anchor ignores bytes after the arguments. Its dispatcher calls `deserialize` of these structs, and these functions
/// take precedence over the trait's: they refuse data that is too long, as they refuse data that is too short.
macro_rules! nothing_behind {
    ($($name:ident),* $(,)?) => {
        $(
            impl instruction::$name {
                pub fn deserialize(data: &mut &[u8]) -> std::io::Result<Self> {
                    let found = <Self as AnchorDeserialize>::deserialize(data)?;
                    if data.is_empty() {
                        Ok(found)
                    } else {
                        Err(std::io::ErrorKind::InvalidData.into())
                    }
                }
            }
        )*
    };
}

nothing_behind!(Initialize, Increment, Decrement, Close,);
