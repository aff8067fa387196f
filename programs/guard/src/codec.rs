// Rendered by idl2mcp from spec.py; edit the source. [ea073aad18316e37]
//! Reads values from bytes and writes them, and checks every length.

use {
    crate::error::Check,
    pinocchio::{error::ProgramError, ProgramResult},
};

#[cold]
fn malformed() -> ProgramError {
    Check::InstructionDidNotDeserialize.into()
}

/// The bytes that are left to read.
pub struct Reader<'a> {
    data: &'a [u8],
}

impl<'a> Reader<'a> {
    #[inline(always)]
    pub const fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Fails if bytes are left.
    #[inline(always)]
    pub fn end(&self) -> ProgramResult {
        if self.data.is_empty() {
            Ok(())
        } else {
            Err(malformed())
        }
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], ProgramError> {
        let (head, rest) = self.data.split_at_checked(length).ok_or_else(malformed)?;
        self.data = rest;
        Ok(head)
    }

    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], ProgramError> {
        let (head, rest) = self.data.split_first_chunk().ok_or_else(malformed)?;
        self.data = rest;
        Ok(head)
    }

    #[inline(always)]
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.data)
    }

    #[inline(always)]
    pub fn byte(&mut self) -> Result<u8, ProgramError> {
        let [byte] = *self.array()?;
        Ok(byte)
    }

    /// A length or a tag: an unsigned number of `N` bytes, at most 8.
    #[inline(always)]
    pub fn length<const N: usize>(&mut self) -> Result<usize, ProgramError> {
        let bytes = self.array::<N>()?;
        let mut wide = [0; 8];
        let Some(low) = wide.first_chunk_mut::<N>() else {
            return Err(malformed());
        };
        *low = *bytes;
        usize::try_from(u64::from_le_bytes(wide)).map_err(|_| malformed())
    }
}
