// Rendered by idl2mcp from spec.py; edit the source. [909b9deeb51f294d]
//! Addresses that programs derive from seeds.

use pinocchio::{error::ProgramError, Address};

/// The address that `program` derives from `seeds`, with the largest bump that gives one.
#[inline(never)]
pub fn find<const N: usize>(
    seeds: &[&[u8]; N],
    program: &Address,
) -> Result<Address, ProgramError> {
    match Address::derive_program_address(seeds, program) {
        Some((address, _)) => Ok(address),
        None => Err(ProgramError::InvalidSeeds),
    }
}
