//! Lists that grow. The library's function for it has six arguments, unless it is made part of its callers.
#![no_std]

extern crate alloc;

use alloc::vec::Vec;
use harness::pinocchio::{
    default_allocator, nostd_panic_handler, program_entrypoint, AccountView, Address, ProgramResult,
};

program_entrypoint!(process, 8);
default_allocator!();
nostd_panic_handler!();

fn process(_program: &Address, _accounts: &mut [AccountView], question: &[u8]) -> ProgramResult {
    harness::reply(answer, question)
}

/// The words of the question, the last first, by one list of words and one of bytes.
fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let mut words = Vec::new();
    for n in 0..question.len() / 8 {
        words.push(harness::number(question, n)?);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(3).ok()?;
    for word in words.iter().rev() {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    harness::put(answer, &bytes)
}
