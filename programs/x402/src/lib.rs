// Rendered by idl2mcp from spec.py; edit the source. [bb7dd50543e45471]
//! Payments for tools and APIs: exact payments with receipts, channels with vouchers,
//! subscriptions.
//!
//! All modules are written by idl2mcp.

#![no_std]

extern crate alloc;

pub mod bytes;
pub mod checks;
pub mod codec;
pub mod constants;
pub mod entrypoint;
pub mod error;
pub mod events;
pub mod hash;
pub mod helpers;
pub mod ids;
pub mod instruction;
pub mod items;
pub mod log;
pub mod own;
pub mod pda;
pub mod processor;
pub mod schema;
pub mod state;
pub mod types;

/// The program's address.
// 8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz
pub const ID: pinocchio::Address = pinocchio::Address::new_from_array([
    0x73, 0xa3, 0xbe, 0xdd, 0xbc, 0x78, 0x8f, 0x33, 0xbc, 0x04, 0xb8, 0xf3, 0x93, 0x1d, 0x76, 0xc8,
    0x01, 0xb2, 0x6c, 0xdc, 0x6f, 0x9a, 0xc2, 0xdf, 0x23, 0x33, 0xe0, 0x4c, 0xe3, 0xd2, 0x20, 0xc3,
]);
