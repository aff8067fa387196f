// Rendered by idl2mcp from spec.py; edit the source. [407c136d49f1f06a]
//! Reads values from bytes and writes them, and checks every length.

use {
    crate::error::Check,
    alloc::vec::Vec,
    pinocchio::{error::ProgramError, ProgramResult},
};

/// The longest list of items that take no bytes.
const MOST_EMPTY_ITEMS: usize = 1_024;

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

    /// A flag of `N` bytes: 0 or 1.
    #[inline(always)]
    pub fn flag<const N: usize>(&mut self) -> Result<bool, ProgramError> {
        match self.length::<N>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(malformed()),
        }
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

    /// `count` items of at least `least` bytes each. Fails before it allocates if the data cannot
    /// hold so many.
    pub fn list<T>(
        &mut self,
        count: usize,
        least: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<Vec<T>, ProgramError> {
        if count
            > self
                .data
                .len()
                .checked_div(least)
                .unwrap_or(MOST_EMPTY_ITEMS)
        {
            return Err(malformed());
        }
        let mut out = Vec::new();
        out.try_reserve_exact(count).map_err(|_| malformed())?;
        for _ in 0..count {
            out.push(read(self)?);
        }
        Ok(out)
    }
}

/// A destination for values.
pub trait Output {
    fn put(&mut self, bytes: &[u8]) -> ProgramResult;

    /// An unsigned number in `N` bytes, at most 8.
    #[inline(always)]
    fn length<const N: usize>(&mut self, value: usize) -> ProgramResult {
        match (value as u64).to_le_bytes().split_first_chunk::<N>() {
            Some((low, high)) if high.iter().all(|byte| *byte == 0) => self.put(low),
            _ => Err(ProgramError::InvalidArgument),
        }
    }
}

impl Output for Vec<u8> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) -> ProgramResult {
        self.extend_from_slice(bytes);
        Ok(())
    }
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
    U32(u32, 4);
    U64(u64, 8);
    I64(i64, 8);
}

/// A flag of one byte in an account's data. Every value but 0 is true.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(transparent)]
pub struct Flag(u8);

impl Flag {
    #[inline(always)]
    pub const fn get(&self) -> bool {
        self.0 != 0
    }

    #[inline(always)]
    pub const fn set(&mut self, value: bool) {
        self.0 = value as u8;
    }
}
