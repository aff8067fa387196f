// Rendered by idl2mcp from spec.py; edit the source. [39c2f8439b92bd42]
//! The program's types, in instruction data, accounts and events.

use {
    crate::codec::Output,
    pinocchio::{Address, ProgramResult},
};

/// Tokens were put in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deposited {
    /// The vault's address.
    pub vault: Address,
    /// Who put them in.
    pub depositor: Address,
    /// How many, in base units.
    pub amount: u64,
}

impl Deposited {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.vault.as_array().as_slice())?;
        w.put(self.depositor.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}

/// Tokens were taken out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Withdrawn {
    /// The vault's address.
    pub vault: Address,
    /// How many, in base units.
    pub amount: u64,
}

impl Withdrawn {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.vault.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}
