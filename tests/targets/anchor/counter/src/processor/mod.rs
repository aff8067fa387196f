// Rendered by idl2mcp from spec.py; edit the source. [5bf858b955f90a01]
//! What each instruction does. These files are the author's: they are written once and never
//! touched again.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;
