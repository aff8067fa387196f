// Rendered by idl2mcp from spec.py; edit the source. [4d13e4b7cd982da8]
//! What each instruction does. These files are the author's: they are written once and never
//! touched again.

pub mod deposit;
pub mod initialize;
pub mod withdraw;
