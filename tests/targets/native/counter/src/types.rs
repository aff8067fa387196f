// Rendered by idl2mcp from spec.py; edit the source. [8642a821d34434ac]
//! The program's types, in instruction data, accounts and events.

use {
    crate::codec::Output,
    solana_program::{entrypoint::ProgramResult, pubkey::Pubkey as Address},
};

/// The counter has a new value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// The counter's address.
    pub counter: Address,
    /// Its value from now on.
    pub count: u64,
}

impl Changed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.counter.as_array().as_slice())?;
        w.put(&self.count.to_le_bytes())?;
        Ok(())
    }
}
