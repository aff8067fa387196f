//! A sysvar read by its syscall: the clock, and what rent asks for a size.
#![no_std]

use harness::pinocchio::sysvars::{clock::Clock, rent::Rent, Sysvar};

harness::canary!(answer);

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let clock = Clock::get().ok()?;
    let rent = Rent::get()
        .ok()?
        .try_minimum_balance(usize::try_from(harness::number(question, 0)?).ok()?)
        .ok()?;
    harness::put(answer, &clock.slot.to_le_bytes())?;
    answer
        .get_mut(8..16)?
        .copy_from_slice(&clock.unix_timestamp.to_le_bytes());
    answer.get_mut(16..24)?.copy_from_slice(&rent.to_le_bytes());
    Some(24)
}
