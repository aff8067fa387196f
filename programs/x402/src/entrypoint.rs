// Rendered by idl2mcp from spec.py; edit the source. [5e8f04bb6f7c169c]
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
const MAX_ACCOUNTS: usize = 64;

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

// open: given
const OPEN: u8 = 1;

// settle: given
const SETTLE: u8 = 2;

// top_up: given
const TOP_UP: u8 = 3;

// settle_and_seal: given
const SETTLE_AND_SEAL: u8 = 4;

// request_close: given
const REQUEST_CLOSE: u8 = 5;

// seal: given
const SEAL: u8 = 6;

// distribute: given
const DISTRIBUTE: u8 = 7;

// withdraw_payer: given
const WITHDRAW_PAYER: u8 = 8;

// reclaim: given
const RECLAIM: u8 = 9;

// emit_event: given
const EMIT_EVENT: u8 = 228;

// pay: given
const PAY: u8 = 16;

// close_receipt: given
const CLOSE_RECEIPT: u8 = 17;

// create_plan: given
const CREATE_PLAN: u8 = 32;

// set_plan_open: given
const SET_PLAN_OPEN: u8 = 33;

// close_plan: given
const CLOSE_PLAN: u8 = 34;

// subscribe: given
const SUBSCRIBE: u8 = 35;

// charge: given
const CHARGE: u8 = 36;

// change_plan: given
const CHANGE_PLAN: u8 = 37;

// cancel: given
const CANCEL: u8 = 38;

// merchant_cancel: given
const MERCHANT_CANCEL: u8 = 39;

// close_subscription: given
const CLOSE_SUBSCRIPTION: u8 = 40;

// quote: given
const QUOTE: u8 = 48;

// channel_status: given
const CHANNEL_STATUS: u8 = 49;

// subscription_status: given
const SUBSCRIPTION_STATUS: u8 = 50;

/// Hands the instruction to its processor.
#[inline(always)]
pub fn process_instruction(
    program_id: &Address,
    accounts: &mut [AccountView],
    data: &[u8],
) -> ProgramResult {
    let Some((discriminator, arguments)) = data.split_first_chunk::<1>() else {
        return Err(Check::InstructionFallbackNotFound.into());
    };
    let context = Context {
        program_id,
        accounts,
        arguments,
    };
    match u8::from_le_bytes(*discriminator) {
        OPEN => instruction::open::dispatch(context),
        SETTLE => instruction::settle::dispatch(context),
        TOP_UP => instruction::top_up::dispatch(context),
        SETTLE_AND_SEAL => instruction::settle_and_seal::dispatch(context),
        REQUEST_CLOSE => instruction::request_close::dispatch(context),
        SEAL => instruction::seal::dispatch(context),
        DISTRIBUTE => instruction::distribute::dispatch(context),
        WITHDRAW_PAYER => instruction::withdraw_payer::dispatch(context),
        RECLAIM => instruction::reclaim::dispatch(context),
        EMIT_EVENT => instruction::emit_event::dispatch(context),
        PAY => instruction::pay::dispatch(context),
        CLOSE_RECEIPT => instruction::close_receipt::dispatch(context),
        CREATE_PLAN => instruction::create_plan::dispatch(context),
        SET_PLAN_OPEN => instruction::set_plan_open::dispatch(context),
        CLOSE_PLAN => instruction::close_plan::dispatch(context),
        SUBSCRIBE => instruction::subscribe::dispatch(context),
        CHARGE => instruction::charge::dispatch(context),
        CHANGE_PLAN => instruction::change_plan::dispatch(context),
        CANCEL => instruction::cancel::dispatch(context),
        MERCHANT_CANCEL => instruction::merchant_cancel::dispatch(context),
        CLOSE_SUBSCRIPTION => instruction::close_subscription::dispatch(context),
        QUOTE => instruction::quote::dispatch(context),
        CHANNEL_STATUS => instruction::channel_status::dispatch(context),
        SUBSCRIPTION_STATUS => instruction::subscription_status::dispatch(context),
        _ => otherwise(schema::list_tools_in(data)),
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
