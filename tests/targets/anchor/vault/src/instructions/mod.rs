// Rendered by idl2mcp from spec.py; edit the source. [e1b3591b11565a10]
//! The accounts of each instruction, and what is checked of them.

pub mod deposit;
pub mod initialize;
pub mod withdraw;

pub use deposit::*;
pub use initialize::*;
pub use withdraw::*;
