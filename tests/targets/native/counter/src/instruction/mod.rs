// Rendered by idl2mcp from spec.py; edit the source. [ebff022024663730]
//! The instructions: what each is given, decoded and checked.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;
