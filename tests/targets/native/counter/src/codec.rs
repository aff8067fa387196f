// Rendered by idl2mcp from spec.py; edit the source. [525693304b1450b7]
//! Reading values from bytes and writing them, with every length checked.
//!
//! Numbers are little-endian unless the source says otherwise. A reader that is done must be at
//! the end of its data.

use crate::error::Check;
use core::{mem::MaybeUninit, str};
use solana_program::entrypoint::ProgramResult;
use solana_program::program_error::ProgramError;

/// Items without a size that a counted list may claim to hold.
const MOST_EMPTY_ITEMS: usize = 1_024;

#[cold]
fn short() -> ProgramError {
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

    /// Nothing may be left.
    #[inline(always)]
    pub fn end(&self) -> ProgramResult {
        if self.data.is_empty() {
            Ok(())
        } else {
            Err(short())
        }
    }

    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], ProgramError> {
        let (head, rest) = self.data.split_at_checked(length).ok_or_else(short)?;
        self.data = rest;
        Ok(head)
    }

    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], ProgramError> {
        let (head, rest) = self.data.split_first_chunk().ok_or_else(short)?;
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

    /// 0 or 1, in `N` bytes.
    #[inline(always)]
    pub fn flag<const N: usize>(&mut self) -> Result<bool, ProgramError> {
        match self.length::<N>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(short()),
        }
    }

    /// An unsigned number of `N` bytes (8 at most), as a length or a tag.
    #[inline(always)]
    pub fn length<const N: usize>(&mut self) -> Result<usize, ProgramError> {
        let bytes = self.array::<N>()?;
        let mut wide = [0; 8];
        let Some(low) = wide.first_chunk_mut::<N>() else {
            return Err(short());
        };
        *low = *bytes;
        usize::try_from(u64::from_le_bytes(wide)).map_err(|_| short())
    }

    /// As `length`, big-endian.
    pub fn length_be<const N: usize>(&mut self) -> Result<usize, ProgramError> {
        let bytes = self.array::<N>()?;
        let mut wide = [0; 8];
        let Some(low) = wide.last_chunk_mut::<N>() else {
            return Err(short());
        };
        *low = *bytes;
        usize::try_from(u64::from_be_bytes(wide)).map_err(|_| short())
    }

    /// Solana's compact-u16: one to three bytes of seven bits, low first, no more of them than
    /// are needed.
    pub fn short_u16(&mut self) -> Result<u16, ProgramError> {
        let low = self.byte()?;
        if low < 0x80 {
            return Ok(u16::from(low));
        }
        let middle = self.byte()?;
        let value = u16::from(low & 0x7f) | (u16::from(middle & 0x7f) << 7);
        if middle < 0x80 {
            return if middle == 0 { Err(short()) } else { Ok(value) };
        }
        match self.byte()? {
            high @ 1..=3 => Ok(value | (u16::from(high) << 14)),
            _ => Err(short()),
        }
    }

    /// UTF-8 text of `length` bytes.
    #[inline(always)]
    pub fn text(&mut self, length: usize) -> Result<&'a str, ProgramError> {
        str::from_utf8(self.take(length)?).map_err(|_| short())
    }

    /// UTF-8 text to the end.
    #[inline(always)]
    pub fn text_rest(&mut self) -> Result<&'a str, ProgramError> {
        str::from_utf8(self.rest()).map_err(|_| short())
    }

    /// UTF-8 text in `length` bytes, without the zeros behind it.
    pub fn padded_text(&mut self, length: usize) -> Result<&'a str, ProgramError> {
        Ok(self.text(length)?.trim_end_matches('\0'))
    }

    /// A value that takes exactly `length` bytes.
    #[inline(always)]
    pub fn within<T>(
        &mut self,
        length: usize,
        read: impl FnOnce(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<T, ProgramError> {
        let mut part = Self::new(self.take(length)?);
        let value = read(&mut part)?;
        part.end()?;
        Ok(value)
    }

    /// A value in `length` bytes, with zeros behind it.
    pub fn padded<T>(
        &mut self,
        length: usize,
        read: impl FnOnce(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<T, ProgramError> {
        let mut part = Self::new(self.take(length)?);
        let value = read(&mut part)?;
        if part.rest().iter().any(|byte| *byte != 0) {
            return Err(short());
        }
        Ok(value)
    }

    /// A value that ends where the bytes `mark` stand.
    pub fn until<T>(
        &mut self,
        mark: &[u8],
        read: impl FnOnce(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<T, ProgramError> {
        let at = self
            .data
            .windows(mark.len().max(1))
            .position(|part| part == mark)
            .ok_or_else(short)?;
        let value = self.within(at, read)?;
        self.take(mark.len())?;
        Ok(value)
    }

    /// These bytes, exactly.
    pub fn expect(&mut self, bytes: &[u8]) -> ProgramResult {
        if self.take(bytes.len())? == bytes {
            Ok(())
        } else {
            Err(short())
        }
    }

    /// Steps over `bytes` if they come next.
    pub fn skip_if(&mut self, bytes: &[u8]) -> bool {
        match self.data.strip_prefix(bytes) {
            Some(rest) => {
                self.data = rest;
                true
            }
            None => false,
        }
    }

    /// `N` items.
    #[inline(always)]
    pub fn items<T: Clone, const N: usize>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<[T; N], ProgramError> {
        let mut out = [const { MaybeUninit::uninit() }; N];
        for item in &mut out {
            // On an error the items so far are forgotten; the program ends then.
            item.write(read(self)?);
        }
        // SAFETY: every item was written; MaybeUninit<T> has the layout of T.
        Ok(out.map(|item| unsafe { item.assume_init() }))
    }

    /// `count` items of at least `least` bytes each, so that a count that the data cannot hold
    /// is refused at once.
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
            return Err(short());
        }
        let mut out = Vec::new();
        out.try_reserve_exact(count).map_err(|_| short())?;
        for _ in 0..count {
            out.push(read(self)?);
        }
        Ok(out)
    }

    /// Items to the end of the data.
    pub fn list_rest<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<Vec<T>, ProgramError> {
        let mut out = Vec::new();
        while !self.is_empty() {
            let before = self.data.len();
            out.push(read(self)?);
            if self.data.len() == before {
                return Err(short());
            }
        }
        Ok(out)
    }
}

/// What values are written to.
pub trait Output {
    fn put(&mut self, bytes: &[u8]) -> ProgramResult;

    fn zeros(&mut self, mut count: usize) -> ProgramResult {
        const ZEROS: [u8; 32] = [0; 32];
        while let Some(rest) = count.checked_sub(ZEROS.len()) {
            self.put(&ZEROS)?;
            count = rest;
        }
        self.put(ZEROS.get(..count).unwrap_or_default())
    }

    /// An unsigned number in `N` bytes (8 at most).
    #[inline(always)]
    fn length<const N: usize>(&mut self, value: usize) -> ProgramResult {
        match (value as u64).to_le_bytes().split_first_chunk::<N>() {
            Some((low, high)) if high.iter().all(|byte| *byte == 0) => self.put(low),
            _ => Err(ProgramError::InvalidArgument),
        }
    }

    /// As `length`, big-endian.
    fn length_be<const N: usize>(&mut self, value: usize) -> ProgramResult {
        match (value as u64).to_be_bytes().split_last_chunk::<N>() {
            Some((high, low)) if high.iter().all(|byte| *byte == 0) => self.put(low),
            _ => Err(ProgramError::InvalidArgument),
        }
    }

    fn short_u16(&mut self, value: usize) -> ProgramResult {
        let value = u16::try_from(value).map_err(|_| ProgramError::InvalidArgument)?;
        let [low, middle, high] =
            [value & 0x7f, (value >> 7) & 0x7f, value >> 14].map(|part| part as u8);
        match value {
            0..=0x7f => self.put(&[low]),
            0x80..=0x3fff => self.put(&[low | 0x80, middle]),
            _ => self.put(&[low | 0x80, middle | 0x80, high]),
        }
    }

    /// `bytes`, and zeros behind them to `length` in all.
    fn padded(&mut self, bytes: &[u8], length: usize) -> ProgramResult {
        let zeros = length
            .checked_sub(bytes.len())
            .ok_or(ProgramError::InvalidArgument)?;
        self.put(bytes)?;
        self.zeros(zeros)
    }

    fn exactly(&self, found: usize, wanted: usize) -> ProgramResult {
        if found == wanted {
            Ok(())
        } else {
            Err(ProgramError::InvalidArgument)
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

/// Bytes that are written in place, from the front.
pub struct Writer<'a> {
    room: &'a mut [u8],
}

impl<'a> Writer<'a> {
    #[inline(always)]
    pub const fn new(room: &'a mut [u8]) -> Self {
        Self { room }
    }

    /// The bytes that nothing was written to yet.
    #[inline(always)]
    pub const fn room(&self) -> usize {
        self.room.len()
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
    ($($name:ident: $number:ty, $size:literal;)*) => {
        $(
            /// A little-endian number at any place in an account's data.
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
    U16: u16, 2;
    U32: u32, 4;
    U64: u64, 8;
    U128: u128, 16;
    I16: i16, 2;
    I32: i32, 4;
    I64: i64, 8;
    I128: i128, 16;
    F32: f32, 4;
    F64: f64, 8;
}

/// A flag in one byte of an account's data.
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
