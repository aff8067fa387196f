// Rendered by idl2mcp from spec.py; edit the source. [bbe395e8392b4993]
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
const MAX_ACCOUNTS: usize = 3;

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

// increment: sha256("global:increment")[..8]
const INCREMENT: u64 = u64::from_le_bytes([0x0b, 0x12, 0x68, 0x09, 0x68, 0xae, 0x3b, 0x21]);

// decrement: sha256("global:decrement")[..8]
const DECREMENT: u64 = u64::from_le_bytes([0x6a, 0xe3, 0xa8, 0x3b, 0xf8, 0x1b, 0x96, 0x65]);

// close: sha256("global:close")[..8]
const CLOSE: u64 = u64::from_le_bytes([0x62, 0xa5, 0xc9, 0xb1, 0x6c, 0x41, 0xce, 0x60]);

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
        INCREMENT => instruction::increment::dispatch(context),
        DECREMENT => instruction::decrement::dispatch(context),
        CLOSE => instruction::close::dispatch(context),
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
