// Rendered by idl2mcp from spec.py; edit the source. [e1eb55c798d66d57]
//! Events: `emit!` writes one to the transaction's log.

#[allow(unused_imports)]
use crate::state::*;
use anchor_lang::prelude::*;

/// Tokens were put in.
#[event]
#[derive(Clone, Debug, PartialEq)]
pub struct Deposited {
    /// The vault's address.
    pub vault: Pubkey,
    /// Who put them in.
    pub depositor: Pubkey,
    /// How many, in base units.
    pub amount: u64,
}

/// Tokens were taken out.
#[event]
#[derive(Clone, Debug, PartialEq)]
pub struct Withdrawn {
    /// The vault's address.
    pub vault: Pubkey,
    /// How many, in base units.
    pub amount: u64,
}
