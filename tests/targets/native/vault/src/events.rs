// Rendered by idl2mcp from spec.py; edit the source. [dcb59b970b9e1d50]
//! Events: `emit` writes one to the transaction's log, behind the bytes by which clients know it.

use crate::codec::{Output, Writer};
use crate::log::log_data;
use solana_program::entrypoint::ProgramResult;

pub use crate::types::Deposited;
pub use crate::types::Withdrawn;

impl Deposited {
    /// What stands before the event in the log.
    pub const DISCRIMINATOR: [u8; 8] = [0x6f, 0x8d, 0x1a, 0x2d, 0xa1, 0x23, 0x64, 0x39];

    /// Logs the event.
    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 80];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}

impl Withdrawn {
    /// What stands before the event in the log.
    pub const DISCRIMINATOR: [u8; 8] = [0x14, 0x59, 0xdf, 0xc6, 0xc2, 0x7c, 0xdb, 0x0d];

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
