// Rendered by idl2mcp from spec.py; edit the source. [78c976fe4968d579]
//! The handler of each instruction, written by the author.

pub mod assert_account_data_multi;
pub mod assert_account_info_multi;
pub mod shared;
