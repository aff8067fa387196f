// Rendered by idl2mcp from spec.py; edit the source. [983102e8fff9e970]
//! Assertions about accounts. An instruction of this program succeeds or fails, and changes
//! nothing.
//!
//! It understands the assertions of the Lighthouse program that mcpsol-py's bridge appends to
//! what it signs, in
//! the same bytes, for chains on which Lighthouse is not deployed.
//!
//! `processor` is written by the author, all other modules by idl2mcp.

#![no_std]

extern crate alloc;

pub mod checks;
pub mod codec;
pub mod constants;
pub mod entrypoint;
pub mod error;
pub mod instruction;
pub mod log;
pub mod processor;
pub mod schema;

/// The program's address.
// 8kt91MkCXZ8wTZ4BNDwesbPfvncNkiEmCTZqfRmaykbE
pub const ID: pinocchio::Address = pinocchio::Address::new_from_array([
    0x73, 0x3f, 0x9a, 0xf0, 0xde, 0x84, 0x60, 0xff, 0x20, 0xf1, 0x21, 0xa7, 0x44, 0xcc, 0x5d, 0x72,
    0xa5, 0x94, 0x77, 0xbd, 0x40, 0x95, 0x2d, 0xe8, 0x6b, 0x2b, 0x53, 0xf3, 0x05, 0xfa, 0xd1, 0x1d,
]);
