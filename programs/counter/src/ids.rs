// Rendered by idl2mcp from spec.py; edit the source. [c0bb1475886c22a9]
//! Addresses of programs and accounts that this program knows.

use pinocchio::Address;

/// 11111111111111111111111111111111
pub const SYSTEM_PROGRAM: Address = Address::new_from_array([0; 32]);
