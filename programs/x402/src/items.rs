// Rendered by idl2mcp from spec.py; edit the source. [71fe558b49a828dc]
//! How many items lists have.

/// The number of items.
#[inline(always)]
pub fn count(items: impl ExactSizeIterator) -> u64 {
    items.len() as u64
}
