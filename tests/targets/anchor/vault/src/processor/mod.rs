// Rendered by idl2mcp from spec.py; edit the source. [8dd35d11b19d9f5d]
//! What each instruction does.

pub mod deposit;
pub mod initialize;
pub mod withdraw;
