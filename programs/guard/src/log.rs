// Rendered by idl2mcp from spec.py; edit the source. [049e9a1f1cd67a6e]
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
