// Rendered by idl2mcp from spec.py; edit the source. [d02e4517fdf519c0]
//! A counter for each wallet, which only that wallet can change.
//!
//! All modules are written by idl2mcp.

#![no_std]

extern crate alloc;

pub mod checks;
pub mod codec;
pub mod entrypoint;
pub mod error;
pub mod events;
pub mod ids;
pub mod instruction;
pub mod log;
pub mod processor;
pub mod schema;
pub mod state;
pub mod types;

/// The program's address.
// J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb
pub const ID: pinocchio::Address = pinocchio::Address::new_from_array([
    0xfe, 0x9c, 0x44, 0x6b, 0x1b, 0x86, 0x6b, 0xfd, 0x80, 0xda, 0x58, 0x6d, 0x06, 0xde, 0x4a, 0x63,
    0xdb, 0xe5, 0x23, 0x45, 0xd5, 0x78, 0xa8, 0xce, 0x6a, 0x2b, 0x8e, 0x87, 0xef, 0xe6, 0x9e, 0xee,
]);
