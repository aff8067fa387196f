// Rendered by idl2mcp from spec.py; edit the source. [007843fd06d49cd6]
//! The log and return data, by the runtime's syscalls; on the host there is nobody to tell.

/// A line of text in the transaction's log.
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

/// Bytes in the transaction's log, as "Program data: base64".
#[inline(always)]
pub fn log_data(bytes: &[u8]) {
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    {
        let parts = [bytes];
        // SAFETY: the syscall reads one slice, which is laid out as an address and a length.
        unsafe {
            pinocchio::syscalls::sol_log_data(parts.as_ptr().cast(), parts.len() as u64);
        }
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(bytes);
}

/// What the caller gets back, 1,024 bytes at most.
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
