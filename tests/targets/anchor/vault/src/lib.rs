// Rendered by idl2mcp from spec.py; edit the source. [9f02869c0a8734dd]
//! Keeps SPL tokens of one mint for one wallet; only that wallet can take them out again.
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
pub mod tokens;

// The #[program] macro looks for these here.
pub use instructions::*;
pub use list_tools::*;

declare_id!("J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK");

#[program]
pub mod vault {
    use super::*;

    /// Create an empty vault for a wallet and a mint.
    ///
    /// When to use: Once for each wallet and mint, before the first deposit.
    pub fn initialize(ctx: Context<Initialize>) -> Result<()> {
        ctx.accounts.vault.bump = ctx.bumps.vault;
        processor::initialize::process(ctx)
    }

    /// Put tokens into a vault. Anyone may; only the vault's authority can take them out.
    ///
    /// amount: How many tokens.
    pub fn deposit(ctx: Context<Deposit>, amount: u64) -> Result<()> {
        processor::deposit::process(ctx, amount)
    }

    /// Take tokens out of a vault, and return how many are left in it.
    ///
    /// amount: How many tokens.
    pub fn withdraw(ctx: Context<Withdraw>, amount: u64) -> Result<u64> {
        processor::withdraw::process(ctx, amount)
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

nothing_behind!(Initialize, Deposit, Withdraw,);
