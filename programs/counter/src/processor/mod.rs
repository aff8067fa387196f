// Rendered by idl2mcp from spec.py; edit the source. [2994a5e79344acee]
//! The handler of each instruction, written by the author.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;
