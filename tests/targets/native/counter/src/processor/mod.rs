// Rendered by idl2mcp from spec.py; edit the source. [bcab504423e04457]
//! The handler of each instruction.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;
