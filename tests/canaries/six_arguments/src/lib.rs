//! A function of six arguments. A BPF function has registers for five: the rest goes through the stack.
#![no_std]

harness::canary!(answer);

#[inline(never)]
fn sum(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    0u64.wrapping_add(a.wrapping_mul(1))
        .wrapping_add(b.wrapping_mul(10))
        .wrapping_add(c.wrapping_mul(100))
        .wrapping_add(d.wrapping_mul(1000))
        .wrapping_add(e.wrapping_mul(10000))
        .wrapping_add(f.wrapping_mul(100000))
}

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let word = |n| harness::number(question, n);
    let total = sum(word(0)?, word(1)?, word(2)?, word(3)?, word(4)?, word(5)?);
    harness::put(answer, &total.to_le_bytes())
}
