// Rendered by idl2mcp from spec.py; edit the source. [e895ed1a1edc3f3e]
//! SHA-256 of values.

use {
    crate::codec::Output,
    alloc::vec::Vec,
    pinocchio::{error::ProgramError, ProgramResult},
};

/// The bytes of a list, as in an instruction's data: how many items it has, in four bytes, and each of them.
#[inline(always)]
pub fn list<T>(
    items: &[T],
    put: impl Fn(&T, &mut Vec<u8>) -> ProgramResult,
) -> Result<Vec<u8>, ProgramError> {
    let mut bytes = Vec::with_capacity(core::mem::size_of_val(items).saturating_add(4));
    let w = &mut bytes;
    w.length::<4>(items.len())?;
    for item in items {
        put(item, w)?;
    }
    Ok(bytes)
}

/// The hash of these parts, one after the other.
#[inline(always)]
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = [0; 32];
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads the slices, each an address and a length, and writes 32 bytes.
    unsafe {
        pinocchio::syscalls::sol_sha256(
            parts.as_ptr().cast(),
            parts.len() as u64,
            hash.as_mut_ptr(),
        );
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box((parts, &mut hash));
    hash
}
