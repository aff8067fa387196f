//! u128 divided: quotient and remainder.
#![no_std]

harness::canary!(answer);

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let a = u128::from_le_bytes(*question.first_chunk()?);
    let b = u128::from_le_bytes(*question.get(16..)?.first_chunk()?);
    harness::put(answer, &a.checked_div(b)?.to_le_bytes())?;
    answer
        .get_mut(16..32)?
        .copy_from_slice(&a.checked_rem(b)?.to_le_bytes());
    Some(32)
}
