// Rendered by idl2mcp from spec.py; edit the source. [49eb897eeb4391a6]
//! The log and return data.

/// A line of text in the transaction's log.
pub fn log(text: &str) {
    solana_program::log::sol_log(text);
}

/// Bytes in the transaction's log, as "Program data: base64".
pub fn log_data(bytes: &[u8]) {
    solana_program::log::sol_log_data(&[bytes]);
}

/// What the caller gets back, 1,024 bytes at most.
pub fn return_data(bytes: &[u8]) {
    solana_program::program::set_return_data(bytes);
}
