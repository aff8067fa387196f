//! u128 multiplied, wrapping and checked.
#![no_std]

harness::canary!(answer);

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let a = u128::from_le_bytes(*question.first_chunk()?);
    let b = u128::from_le_bytes(*question.get(16..)?.first_chunk()?);
    harness::put(answer, &a.wrapping_mul(b).to_le_bytes())?;
    *answer.get_mut(16)? = u8::from(a.checked_mul(b).is_some());
    Some(17)
}
