// Rendered by idl2mcp from spec.py; edit the source. [6d69090aa420e08f]
//! The accounts of each instruction, and what is checked of them.

pub mod close;
pub mod decrement;
pub mod increment;
pub mod initialize;

pub use close::*;
pub use decrement::*;
pub use increment::*;
pub use initialize::*;
