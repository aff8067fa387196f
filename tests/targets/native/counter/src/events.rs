// Rendered by idl2mcp from spec.py; edit the source. [fb9ba62d05021dd3]
//! Events: `emit` writes one to the transaction's log, behind the bytes by which clients know it.

use crate::codec::{Output, Writer};
use crate::log::log_data;
use solana_program::entrypoint::ProgramResult;

pub use crate::types::Changed;

impl Changed {
    /// What stands before the event in the log.
    pub const DISCRIMINATOR: [u8; 8] = [0x4e, 0xda, 0xe7, 0x56, 0x1f, 0xa7, 0xf5, 0x0e];

    /// Logs the event.
    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}
