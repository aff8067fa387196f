// Rendered by idl2mcp from spec.py; edit the source. [abc9d29cc0fb47e9]
//! Events, written to the transaction's log.

use {
    crate::{
        codec::{Output, Writer},
        log::log_data,
    },
    solana_program::entrypoint::ProgramResult,
};

pub use crate::types::Changed;

impl Changed {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x4e, 0xda, 0xe7, 0x56, 0x1f, 0xa7, 0xf5, 0x0e];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}
