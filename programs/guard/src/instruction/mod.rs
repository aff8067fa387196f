// Rendered by idl2mcp from spec.py; edit the source. [b3bab0085d723f4e]
//! The arguments and accounts of each instruction, decoded and checked.

pub mod assert_account_data_multi;
pub mod assert_account_info_multi;
