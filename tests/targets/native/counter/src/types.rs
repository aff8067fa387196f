// Rendered by idl2mcp from spec.py; edit the source. [8c145f2178140c21]
//! The program's own types, as they stand in instruction data, state and events.

use crate::codec::{Output, Reader};
use solana_program::entrypoint::ProgramResult;
use solana_program::program_error::ProgramError;
use solana_program::pubkey::Pubkey as Address;

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
