// Rendered by idl2mcp from spec.py; edit the source. [2771a5e9b655f893]
//! Events by calls: the program calls itself with an event, which nobody can cut from the record of a transaction.

use {
    crate::codec::Output,
    alloc::vec::Vec,
    pinocchio::{
        cpi::{invoke_signed, Signer},
        error::ProgramError,
        instruction::{InstructionAccount, InstructionView},
        AccountView, ProgramResult,
    },
};

/// The first bytes of the call, those of Anchor.
const TAG: [u8; 8] = [0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d];

/// The first bytes of the call. The event `E` follows them: there is room for it.
#[inline(always)]
pub fn start<E>(discriminator: &[u8]) -> Result<Vec<u8>, ProgramError> {
    let head = TAG.len().saturating_add(discriminator.len());
    let mut bytes = Vec::with_capacity(core::mem::size_of::<E>().saturating_add(head));
    bytes.put(&TAG)?;
    bytes.put(discriminator)?;
    Ok(bytes)
}

/// Calls the program itself. Inlined: the SVM passes five words, and this takes more.
#[inline(always)]
pub fn emit(
    program: &AccountView,
    authority: &AccountView,
    event: &[u8],
    signers: &[Signer],
) -> ProgramResult {
    invoke_signed(
        &InstructionView {
            program_id: program.address(),
            accounts: &[InstructionAccount::readonly_signer(authority.address())],
            data: event,
        },
        &[authority, program],
        signers,
    )
}
