// Rendered by idl2mcp from spec.py; edit the source. [ae0d3190ef11edd6]
//! The program's account types.

mod state_account;

pub use state_account::State;
