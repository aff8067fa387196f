//! 128-bit shifts by an amount known only at run time.
#![no_std]

harness::canary!(answer);

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let word = |n| harness::number(question, n);
    let value = u128::from(word(0)?) | u128::from(word(1)?) << 64;
    let by = u32::try_from(word(2)?).ok()?;
    harness::put(answer, &value.checked_shl(by)?.to_le_bytes())?;
    answer
        .get_mut(16..32)?
        .copy_from_slice(&value.checked_shr(by)?.to_le_bytes());
    Some(32)
}
