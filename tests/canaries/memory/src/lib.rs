//! memcpy, memmove, memcmp and memset of a length known only at run time.
#![no_std]

use core::cmp::Ordering;

harness::canary!(answer);

/// The question: which of them, a length, then bytes. memcmp compares the bytes' two halves.
fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let [which, low, high, bytes @ ..] = question else {
        return None;
    };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    match which {
        0 => answer
            .get_mut(..length)?
            .copy_from_slice(bytes.get(..length)?),
        1 => answer.get_mut(..length)?.fill(*bytes.first()?),
        2 => {
            harness::put(answer, bytes)?;
            answer.get_mut(..length + 3)?.copy_within(..length, 3);
            return Some(length + 3);
        }
        3 => {
            let order = bytes.get(..length)?.cmp(bytes.get(length..)?);
            return harness::put(
                answer,
                &[match order {
                    Ordering::Less => 0,
                    Ordering::Equal => 1,
                    Ordering::Greater => 2,
                }],
            );
        }
        _ => return None,
    }
    Some(length)
}
