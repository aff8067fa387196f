// Rendered by idl2mcp from spec.py; edit the source. [d97da04e5d85fb8a]
//! The entry: answers list_tools, and hands every other call to its instruction.

use {
    crate::{error::Check, instruction, schema},
    core::{
        marker::PhantomData,
        mem::MaybeUninit,
        slice::{from_raw_parts, from_raw_parts_mut},
    },
    pinocchio::{entrypoint::deserialize, hint::cold_path, AccountView, Address, ProgramResult},
};

pinocchio::default_allocator!();
pinocchio::nostd_panic_handler!();

/// The accounts that a call may have.
const MAX_ACCOUNTS: usize = 64;

/// A pointer to the instruction data in the loader's buffer: its length, the data, then the
/// program's id. One word, so that it is passed in a register. SKIP: bytes of discriminator.
#[derive(Clone, Copy)]
pub struct Call<'a, const SKIP: usize> {
    length: *const u8,
    buffer: PhantomData<&'a u8>,
}

impl<'a, const SKIP: usize> Call<'a, SKIP> {
    /// # Safety
    ///
    /// `data` is the instruction data in the loader's buffer, and has at least SKIP bytes.
    #[inline(always)]
    unsafe fn new(data: &'a [u8]) -> Self {
        // SAFETY: the length lies before the data.
        let length = unsafe { data.as_ptr().sub(8) };
        Self {
            length,
            buffer: PhantomData,
        }
    }

    /// The program's id and the arguments.
    #[inline(always)]
    pub fn parts(self) -> (&'a Address, &'a [u8]) {
        // SAFETY: `new` was given the loader's buffer.
        unsafe {
            let length = self.length.cast::<u64>().read() as usize;
            let data = self.length.add(8);
            (
                &*data.add(length).cast(),
                from_raw_parts(data.add(SKIP), length.wrapping_sub(SKIP)),
            )
        }
    }
}

#[inline(always)]
pub fn exit_code(result: ProgramResult) -> u64 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            cold_path();
            error.into()
        }
    }
}

/// # Safety
///
/// `input` is the loader's buffer.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    let mut accounts = [const { MaybeUninit::<AccountView>::uninit() }; MAX_ACCOUNTS];
    // SAFETY: `input` is the loader's buffer, and `deserialize` writes the first `count` accounts.
    unsafe {
        if let Some(exit) = schema::list_tools_without_accounts(input) {
            return exit;
        }
        if input.cast::<u64>().read() > MAX_ACCOUNTS as u64 {
            return exit_code(Err(Check::TooManyAccounts.into()));
        }
        let (_, count, data) = deserialize::<MAX_ACCOUNTS>(input, &mut accounts);
        process_instruction(
            from_raw_parts_mut(accounts.as_mut_ptr().cast(), count),
            data,
        )
    }
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

#[inline(always)]
fn process_instruction(accounts: &mut [AccountView], data: &[u8]) -> u64 {
    let Some(discriminator) = data.first_chunk::<1>() else {
        return exit_code(Err(Check::InstructionFallbackNotFound.into()));
    };
    // SAFETY: the loader's data, with its discriminator.
    let call = unsafe { Call::<1>::new(data) };
    match u8::from_le_bytes(*discriminator) {
        OPEN => instruction::open::dispatch(accounts, call),
        SETTLE => instruction::settle::dispatch(accounts, call),
        TOP_UP => instruction::top_up::dispatch(accounts, call),
        SETTLE_AND_SEAL => instruction::settle_and_seal::dispatch(accounts, call),
        REQUEST_CLOSE => instruction::request_close::dispatch(accounts, call),
        SEAL => instruction::seal::dispatch(accounts, call),
        DISTRIBUTE => instruction::distribute::dispatch(accounts, call),
        WITHDRAW_PAYER => instruction::withdraw_payer::dispatch(accounts, call),
        RECLAIM => instruction::reclaim::dispatch(accounts, call),
        EMIT_EVENT => instruction::emit_event::dispatch(accounts, call),
        PAY => instruction::pay::dispatch(accounts, call),
        CLOSE_RECEIPT => instruction::close_receipt::dispatch(accounts, call),
        CREATE_PLAN => instruction::create_plan::dispatch(accounts, call),
        SET_PLAN_OPEN => instruction::set_plan_open::dispatch(accounts, call),
        CLOSE_PLAN => instruction::close_plan::dispatch(accounts, call),
        SUBSCRIBE => instruction::subscribe::dispatch(accounts, call),
        CHARGE => instruction::charge::dispatch(accounts, call),
        CHANGE_PLAN => instruction::change_plan::dispatch(accounts, call),
        CANCEL => instruction::cancel::dispatch(accounts, call),
        MERCHANT_CANCEL => instruction::merchant_cancel::dispatch(accounts, call),
        CLOSE_SUBSCRIPTION => instruction::close_subscription::dispatch(accounts, call),
        QUOTE => instruction::quote::dispatch(accounts, call),
        CHANNEL_STATUS => instruction::channel_status::dispatch(accounts, call),
        SUBSCRIPTION_STATUS => instruction::subscription_status::dispatch(accounts, call),
        _ => schema::list_tools_in(data),
    }
}
