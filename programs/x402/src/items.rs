// Rendered by idl2mcp from spec.py; edit the source. [6b018b2ec4235440]
//! The items of lists and of accounts.

use pinocchio::error::ProgramError;

/// The number of items.
#[inline(always)]
pub fn count(items: impl ExactSizeIterator) -> u64 {
    items.len() as u64
}

/// The items of two sequences, side by side. They must be of one length.
#[inline(always)]
pub fn zip<A: ExactSizeIterator, B: ExactSizeIterator>(
    one: A,
    other: B,
) -> Result<core::iter::Zip<A, B>, ProgramError> {
    if one.len() != other.len() {
        return Err(ProgramError::InvalidArgument);
    }
    Ok(one.zip(other))
}

/// Whether a condition holds for all items. The first for which it does not is the last one read.
#[inline(always)]
pub fn all<T>(
    items: impl Iterator<Item = T>,
    mut holds: impl FnMut(T) -> Result<bool, ProgramError>,
) -> Result<bool, ProgramError> {
    for item in items {
        if !holds(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}
