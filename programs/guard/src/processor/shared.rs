//! Reads assertions one after the other, and compares.

use {
    crate::{checks::ensure, error::GuardError},
    pinocchio::{error::ProgramError, ProgramResult},
};

/// Assertions that are left to read. Each must be read whole, and none may be left over.
pub struct Assertions<'a> {
    rest: &'a [u8],
}

impl<'a> Assertions<'a> {
    /// Runs `check` on each assertion.
    #[inline(always)]
    pub fn check_each(
        assertions: &'a [u8],
        mut check: impl FnMut(&mut Self) -> ProgramResult,
    ) -> ProgramResult {
        let mut this = Self { rest: assertions };
        let mut left = this.byte()?;
        // A count of more than one byte, or of nothing: the bridge writes neither.
        ensure((1..0x80).contains(&left), GuardError::InvalidAssertion)?;
        while left > 0 {
            check(&mut this)?;
            left = left.wrapping_sub(1);
        }
        ensure(this.rest.is_empty(), GuardError::InvalidAssertion)
    }

    #[inline(always)]
    pub fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], ProgramError> {
        let (head, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(GuardError::InvalidAssertion)?;
        self.rest = rest;
        Ok(head)
    }

    #[inline(always)]
    pub fn byte(&mut self) -> Result<u8, ProgramError> {
        let [byte] = self.take()?;
        Ok(*byte)
    }

    /// Reads an offset of one or two bytes of LEB128: up to 16,383.
    #[inline(always)]
    pub fn offset(&mut self) -> Result<usize, ProgramError> {
        let low = self.byte()?;
        if low < 0x80 {
            return Ok(usize::from(low));
        }
        let high = self.byte()?;
        ensure(high < 0x80, GuardError::InvalidAssertion)?;
        Ok(usize::from(low & 0x7f) | (usize::from(high) << 7))
    }

    /// Reads an operator and compares: 0 equal, 4 at least, 5 at most.
    #[inline(always)]
    pub fn compare(&mut self, found: u64, wanted: u64) -> ProgramResult {
        let holds = match self.byte()? {
            0 => found == wanted,
            4 => found >= wanted,
            5 => found <= wanted,
            _ => return Err(GuardError::InvalidAssertion.into()),
        };
        ensure(holds, GuardError::AssertionFailed)
    }

    /// Reads an operator, which must be "equal".
    #[inline(always)]
    pub fn equal(&mut self) -> ProgramResult {
        ensure(self.byte()? == 0, GuardError::InvalidAssertion)
    }
}
