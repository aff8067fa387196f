//! f64 add, multiply, divide and compare: library calls, since the SVM has no floating point.
#![no_std]

harness::canary!(answer);

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let (a, b) = (
        f64::from_bits(harness::number(question, 0)?),
        f64::from_bits(harness::number(question, 1)?),
    );
    for (at, value) in [a + b, a * b, a / b].into_iter().enumerate() {
        answer
            .get_mut(at * 8..at * 8 + 8)?
            .copy_from_slice(&value.to_bits().to_le_bytes());
    }
    *answer.get_mut(24)? = u8::from(a >= b);
    Some(25)
}
