// Rendered by idl2mcp from spec.py; edit the source. [c9a7911ac51536ac]
//! The program's own types, as they stand in instruction data, state and events.

use crate::codec::{Output, Reader};
use pinocchio::error::ProgramError;
use pinocchio::{Address, ProgramResult};

/// The counter has a new value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// The counter's address.
    pub counter: Address,
    /// Its value from now on.
    pub count: u64,
}

impl Changed {
    #[inline(always)]
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, ProgramError> {
        let counter = Address::new_from_array(*r.array()?);
        let count = u64::from_le_bytes(*r.array()?);
        Ok(Self { counter, count })
    }

    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.counter.as_array().as_slice())?;
        w.put(&self.count.to_le_bytes())?;
        Ok(())
    }
}
