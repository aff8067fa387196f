// Rendered by idl2mcp from spec.py; edit the source. [b159c42e96674e23]
//! Keeps SPL tokens of one mint for one wallet; only that wallet can take them out again.
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
// J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK
pub const ID: pinocchio::Address = pinocchio::Address::new_from_array([
    0xfe, 0x4b, 0x88, 0xad, 0x82, 0x51, 0x5a, 0x0d, 0x6a, 0xea, 0x0b, 0xff, 0x05, 0xa1, 0x10, 0xe8,
    0x14, 0xf5, 0x2f, 0x8c, 0xdf, 0x68, 0x2c, 0xea, 0x0b, 0x56, 0x58, 0x25, 0x71, 0x71, 0xf7, 0x36,
]);
