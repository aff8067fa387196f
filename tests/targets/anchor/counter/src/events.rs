// Rendered by idl2mcp from spec.py; edit the source. [a84ca46b2530c166]
//! Events: `emit!` writes one to the transaction's log.

#[allow(unused_imports)]
use crate::state::*;
use anchor_lang::prelude::*;

/// The counter has a new value.
#[event]
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The counter's address.
    pub counter: Pubkey,
    /// Its value from now on.
    pub count: u64,
}
