// Rendered by idl2mcp from spec.py; edit the source. [c6b6e0dfa00f0679]
//! The handler of each instruction, written by the author.

pub mod deposit;
pub mod initialize;
pub mod withdraw;
