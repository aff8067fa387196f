// Rendered by idl2mcp from spec.py; edit the source. [29409546814ba2b2]
//! The accounts of each instruction, and their constraints.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;

pub use close::*;
pub use decrement::*;
pub use increment::*;
pub use initialize::*;
