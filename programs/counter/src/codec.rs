// Rendered by idl2mcp from spec.py; edit the source. [5461f431baae5031]
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
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], ProgramError> {
        let (head, rest) = self.data.split_first_chunk().ok_or_else(malformed)?;
        self.data = rest;
        Ok(head)
    }
}

/// A destination for values.
pub trait Output {
    fn put(&mut self, bytes: &[u8]) -> ProgramResult;
}

/// Writes to a slice, from its start.
pub struct Writer<'a> {
    room: &'a mut [u8],
}

impl<'a> Writer<'a> {
    #[inline(always)]
    pub const fn new(room: &'a mut [u8]) -> Self {
        Self { room }
    }
}

impl Output for Writer<'_> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) -> ProgramResult {
        let room = core::mem::take(&mut self.room);
        let (head, rest) = room
            .split_at_mut_checked(bytes.len())
            .ok_or(ProgramError::AccountDataTooSmall)?;
        head.copy_from_slice(bytes);
        self.room = rest;
        Ok(())
    }
}

macro_rules! numbers {
    ($($name:ident($number:ty, $size:literal);)*) => {
        $(
            /// A little-endian number in an account's data, at any alignment.
            #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
            #[repr(transparent)]
            pub struct $name([u8; $size]);

            impl $name {
                #[inline(always)]
                pub const fn get(&self) -> $number {
                    <$number>::from_le_bytes(self.0)
                }

                #[inline(always)]
                pub const fn set(&mut self, value: $number) {
                    self.0 = value.to_le_bytes();
                }
            }
        )*
    };
}

numbers! {
    U64(u64, 8);
}
