// Rendered by idl2mcp from spec.py; edit the source. [7aec77aa918b9eea]
//! The program's own types, as they stand in instruction data, state and events.

use crate::codec::{Output, Reader};
use solana_program::entrypoint::ProgramResult;
use solana_program::program_error::ProgramError;
use solana_program::pubkey::Pubkey as Address;

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
    #[inline(always)]
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, ProgramError> {
        let vault = Address::new_from_array(*r.array()?);
        let depositor = Address::new_from_array(*r.array()?);
        let amount = u64::from_le_bytes(*r.array()?);
        Ok(Self {
            vault,
            depositor,
            amount,
        })
    }

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
    #[inline(always)]
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, ProgramError> {
        let vault = Address::new_from_array(*r.array()?);
        let amount = u64::from_le_bytes(*r.array()?);
        Ok(Self { vault, amount })
    }

    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.vault.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}
