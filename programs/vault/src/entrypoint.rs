// Rendered by idl2mcp from spec.py; edit the source. [7fbeadd062145b96]
//! Where the program starts: list_tools is answered at once, all else goes to the instruction
//! that its first bytes name.

use {
    crate::{
        error::Check,
        instruction,
        schema::{self, Outcome},
    },
    pinocchio::{
        default_allocator, entrypoint::process_entrypoint, error::ProgramError,
        nostd_panic_handler, AccountView, Address, ProgramResult,
    },
};

default_allocator!();
nostd_panic_handler!();

/// Accounts of the largest instruction; more than these are not looked at.
const MAX_ACCOUNTS: usize = 6;

/// What an instruction is given.
pub struct Context<'a> {
    pub program_id: &'a Address,
    pub accounts: &'a mut [AccountView],
    pub arguments: &'a [u8],
}

/// # Safety
///
/// `input` is the buffer that the loader lays out, as `process_entrypoint` wants it.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    // SAFETY: the loader's buffer, passed on.
    if let Some(outcome) = unsafe { schema::asked_without_accounts(input) } {
        return outcome;
    }
    // SAFETY: as above.
    unsafe { process_entrypoint::<MAX_ACCOUNTS>(input, process_instruction) }
}

// initialize: sha256("global:initialize")[..8]
const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);

// deposit: sha256("global:deposit")[..8]
const DEPOSIT: u64 = u64::from_le_bytes([0xf2, 0x23, 0xc6, 0x89, 0x52, 0xe1, 0xf2, 0xb6]);

// withdraw: sha256("global:withdraw")[..8]
const WITHDRAW: u64 = u64::from_le_bytes([0xb7, 0x12, 0x46, 0x9c, 0x94, 0x6d, 0xa1, 0x22]);

/// Hands the instruction to its processor.
#[inline(always)]
pub fn process_instruction(
    program_id: &Address,
    accounts: &mut [AccountView],
    data: &[u8],
) -> ProgramResult {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return Err(Check::InstructionFallbackNotFound.into());
    };
    let context = Context {
        program_id,
        accounts,
        arguments,
    };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => instruction::initialize::dispatch(context),
        DEPOSIT => instruction::deposit::dispatch(context),
        WITHDRAW => instruction::withdraw::dispatch(context),
        other => otherwise(schema::list_tools(other, arguments)),
    }
}

/// No instruction was found in the data: it was list_tools, or nothing that this program knows.
#[inline(always)]
fn otherwise(outcome: Outcome) -> ProgramResult {
    match outcome {
        Outcome::Answered => Ok(()),
        Outcome::NoSuchPage => Err(ProgramError::InvalidInstructionData),
        Outcome::NotAsked => Err(Check::InstructionFallbackNotFound.into()),
    }
}
