//! Functions of six arguments that no call reaches: one that is exported, and those behind a panic's message.
#![no_std]

use core::fmt::{self, Debug, Formatter};

harness::canary!(answer);

#[no_mangle]
pub extern "C" fn exported(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64) -> u64 {
    a ^ b ^ c ^ d ^ e ^ f
}

struct TooLarge(u64);

impl Debug for TooLarge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad_integral(true, "0x", if self.0 > 1000 { "large" } else { "small" })
    }
}

#[inline(never)]
fn checked(number: u64) -> Result<u64, TooLarge> {
    (number < 300).then_some(number).ok_or(TooLarge(number))
}

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let number = checked(harness::number(question, 0)?).unwrap();
    harness::put(answer, &number.to_le_bytes())
}
