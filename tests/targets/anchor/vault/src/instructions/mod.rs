// Rendered by idl2mcp from spec.py; edit the source. [c75e05886d9a6009]
//! The accounts of each instruction, and their constraints.

pub mod deposit;
pub mod initialize;
pub mod withdraw;

pub use deposit::*;
pub use initialize::*;
pub use withdraw::*;
