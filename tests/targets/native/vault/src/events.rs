// Rendered by idl2mcp from spec.py; edit the source. [4ff79006a1a1771d]
//! Events, written to the transaction's log.

use {
    crate::{
        codec::{Output, Writer},
        log::log_data,
    },
    solana_program::entrypoint::ProgramResult,
};

pub use crate::types::Deposited;
pub use crate::types::Withdrawn;

impl Deposited {
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x6f, 0x8d, 0x1a, 0x2d, 0xa1, 0x23, 0x64, 0x39];

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
    /// The first bytes of the event's log entry.
    pub const DISCRIMINATOR: [u8; 8] = [0x14, 0x59, 0xdf, 0xc6, 0xc2, 0x7c, 0xdb, 0x0d];

    pub fn emit(&self) -> ProgramResult {
        let mut bytes = [0; 48];
        let w = &mut Writer::new(&mut bytes);
        w.put(&Self::DISCRIMINATOR)?;
        self.encode(w)?;
        log_data(&bytes);
        Ok(())
    }
}
