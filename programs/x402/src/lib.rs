// Rendered by idl2mcp from spec.py; edit the source. [776904b7d5fa6ad1]
//! Payments for tools and APIs: exact payments with receipts, channels with vouchers,
//! subscriptions.
//!
//! | module | holds | written by |
//! |---|---|---|
//! | `processor` | what each instruction does | the author |
//! | `entrypoint` | which instruction is meant | idl2mcp |
//! | `instruction` | its arguments and accounts, decoded and checked | idl2mcp |
//! | `state`, `types`, `events`, `error` | what the source defines | idl2mcp |
//! | `schema` | the answers to `list_tools` | idl2mcp |
//! | `constants` | the source's constants | idl2mcp |
//! | `checks`, `codec`, `log` | what they are made with | idl2mcp |

#![no_std]

extern crate alloc;

pub mod checks;
pub mod codec;
pub mod constants;
pub mod entrypoint;
pub mod error;
pub mod events;
pub mod instruction;
pub mod log;
pub mod processor;
pub mod schema;
pub mod state;
pub mod types;

/// The program's id, as its source gives it.
// 8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz
pub const ID: pinocchio::Address = pinocchio::Address::new_from_array([
    0x73, 0xa3, 0xbe, 0xdd, 0xbc, 0x78, 0x8f, 0x33, 0xbc, 0x04, 0xb8, 0xf3, 0x93, 0x1d, 0x76, 0xc8,
    0x01, 0xb2, 0x6c, 0xdc, 0x6f, 0x9a, 0xc2, 0xdf, 0x23, 0x33, 0xe0, 0x4c, 0xe3, 0xd2, 0x20, 0xc3,
]);
