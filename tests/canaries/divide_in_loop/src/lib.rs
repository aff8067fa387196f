//! A number divided in some turns of a loop. The divisor may be zero, and is checked there.
#![no_std]

harness::canary!(answer);

#[inline(never)]
fn mixed(total: u64, byte: u8) -> u64 {
    harness::return_data(&total.to_le_bytes());
    total.rotate_left(7).wrapping_mul(31) ^ u64::from(byte)
}

fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let divisor = u16::from_le_bytes(*question.first_chunk()?);
    let mut total = 0_u64;
    for byte in question.get(2..)? {
        total = mixed(total, *byte);
        match total % 4 {
            0 => total = mixed(total, 1) ^ u64::from(u16::MAX.checked_div(divisor)?),
            1 => total = mixed(mixed(total, 2), 3),
            2 => total = mixed(total.swap_bytes(), 4) ^ mixed(total >> 9, 5),
            _ => total = mixed(mixed(mixed(total, 6) ^ 77, 7), 8),
        }
        if total % 3 == 1 {
            total = mixed(total, 9) ^ mixed(total >> 3, *byte);
        }
    }
    harness::put(answer, &total.to_le_bytes())
}
