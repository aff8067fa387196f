//! A 128-bit multiply that calls a function of another convention: this crate brings one that takes pointers, so the
//! product would be read from a stray address. The build has to refuse it.
#![no_std]

#[cfg(target_arch = "bpf")]
use solana_compiler_builtins as _;

harness::canary!(answer);

#[inline(never)]
fn product(a: u64, b: u64) -> Option<u64> {
    a.checked_mul(b)
}

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    match product(harness::number(question, 0)?, harness::number(question, 1)?) {
        Some(product) => harness::put(answer, &product.to_le_bytes()),
        None => harness::put(answer, b"overflow"),
    }
}
