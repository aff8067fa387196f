// Rendered by idl2mcp from spec.py; edit the source. [4a6df1cfcfa01e12]
//! The handler of each instruction.

pub mod deposit;
pub mod initialize;
pub mod withdraw;
