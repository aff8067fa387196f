// Rendered by idl2mcp from spec.py; edit the source. [13828af6dfdb91ac]
//! Logs and return data.

/// Logs a line of text.
pub fn log(text: &str) {
    solana_program::log::sol_log(text);
}

/// Logs bytes, as "Program data: base64".
pub fn log_data(bytes: &[u8]) {
    solana_program::log::sol_log_data(&[bytes]);
}

/// Sets the return data, at most 1,024 bytes.
pub fn return_data(bytes: &[u8]) {
    solana_program::program::set_return_data(bytes);
}
