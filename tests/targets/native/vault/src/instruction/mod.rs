// Rendered by idl2mcp from spec.py; edit the source. [0a8c88c5a7417721]
//! The instructions: what each is given, decoded and checked.

pub mod deposit;
pub mod initialize;
pub mod withdraw;
