//! Loads and stores of two, four and eight bytes at odd addresses: we tell the compiler that the SVM allows them.
#![no_std]

harness::canary!(answer);

/// The question: an offset, then bytes. The answer: the u16, u32 and u64 at that offset, the u64 stored again at offset 7.
fn answer(question: &[u8], answer: &mut [u8; 1024]) -> Option<usize> {
    let (offset, bytes) = question.split_first()?;
    let bytes = bytes.get(usize::from(*offset)..)?;
    let two = u16::from_le_bytes(*bytes.first_chunk()?);
    let four = u32::from_le_bytes(*bytes.first_chunk()?);
    let eight = u64::from_le_bytes(*bytes.first_chunk()?);
    *answer.get_mut(1..)?.first_chunk_mut()? = two.wrapping_add(1).to_le_bytes();
    *answer.get_mut(3..)?.first_chunk_mut()? = four.wrapping_add(1).to_le_bytes();
    *answer.get_mut(7..)?.first_chunk_mut()? = eight.wrapping_add(1).to_le_bytes();
    Some(15)
}
