// Rendered by idl2mcp from spec.py; edit the source. [d3caba8346bf6e73]
//! The arguments and accounts of each instruction, decoded and checked.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;
