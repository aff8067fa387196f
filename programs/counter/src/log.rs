// Rendered by idl2mcp from spec.py; edit the source. [f7b7fb03c26b1c4c]
//! Logs and return data. Off chain they do nothing.

/// Logs a line of text.
#[inline(always)]
pub fn log(text: &str) {
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads `text.len()` bytes from `text`.
    unsafe {
        pinocchio::syscalls::sol_log_(text.as_ptr(), text.len() as u64);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(text);
}

/// Logs bytes, as "Program data: base64".
#[inline(always)]
pub fn log_data(bytes: &[u8]) {
    let parts = [bytes];
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads one slice, an address and a length.
    unsafe {
        pinocchio::syscalls::sol_log_data(parts.as_ptr().cast(), 1);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(parts);
}

/// Sets the return data, at most 1,024 bytes.
#[inline(always)]
pub fn return_data(bytes: &[u8]) {
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads `bytes.len()` bytes from `bytes`.
    unsafe {
        pinocchio::syscalls::sol_set_return_data(bytes.as_ptr(), bytes.len() as u64);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(bytes);
}
