// Rendered by idl2mcp from spec.py; edit the source. [ff5e6b896f06ba6a]
//! The arguments and accounts of each instruction, decoded and checked.

pub mod deposit;
pub mod initialize;
pub mod withdraw;
