// Rendered by idl2mcp from spec.py; edit the source. [974ee716a40ef79a]
//! What each instruction does.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;
