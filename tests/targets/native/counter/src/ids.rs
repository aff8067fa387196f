// Rendered by idl2mcp from spec.py; edit the source. [0b09c927568e3069]
//! Addresses of programs and accounts that this program knows.

use solana_program::pubkey::Pubkey as Address;

/// 11111111111111111111111111111111
pub const SYSTEM_PROGRAM: Address = Address::new_from_array([0; 32]);
