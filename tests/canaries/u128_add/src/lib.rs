//! 128-bit add, subtract and compare, which LLVM splits into 64-bit halves.
#![no_std]

harness::canary!(answer);

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let mut halves = question
        .chunks_exact(16)
        .map(|half| half.try_into().map(u128::from_le_bytes).unwrap_or(0));
    let (a, b) = (halves.next()?, halves.next()?);
    harness::put(answer, &a.wrapping_add(b).to_le_bytes())?;
    answer
        .get_mut(16..32)?
        .copy_from_slice(&a.wrapping_sub(b).to_le_bytes());
    *answer.get_mut(32)? = u8::from(a < b);
    *answer.get_mut(33)? = u8::from(a.checked_add(b).is_some());
    Some(34)
}
