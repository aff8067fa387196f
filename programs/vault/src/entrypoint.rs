// Rendered by idl2mcp from spec.py; edit the source. [28eb9aaa40c98c38]
//! Where the program starts: list_tools is answered at once, all else goes to the instruction
//! that its first bytes name.

use {
    crate::{
        error::Check,
        instruction,
        schema::{self, Outcome},
    },
    core::{marker::PhantomData, mem::MaybeUninit, slice},
    pinocchio::{
        default_allocator, entrypoint::deserialize, error::ProgramError, hint::cold_path,
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

/// The instruction's data and the program's id, in one word: that of the loader's buffer where
/// the data's length stands, then the data, then the id. The data opens with SKIP bytes of
/// discriminator.
#[derive(Clone, Copy)]
pub struct Call<'a, const SKIP: usize> {
    length: *const u8,
    buffer: PhantomData<&'a u8>,
}

impl<'a, const SKIP: usize> Call<'a, SKIP> {
    /// # Safety
    ///
    /// `data` is the instruction data as it stands in the loader's buffer, of SKIP bytes at least.
    #[inline(always)]
    unsafe fn new(data: &'a [u8]) -> Self {
        Self {
            // SAFETY: its length stands before it.
            length: unsafe { data.as_ptr().sub(8) },
            buffer: PhantomData,
        }
    }

    /// The program's id, and the arguments.
    #[inline(always)]
    pub fn parts(self) -> (&'a Address, &'a [u8]) {
        // SAFETY: the loader's buffer, as `new` was promised.
        unsafe {
            let length = self.length.cast::<u64>().read() as usize;
            let data = self.length.add(8);
            let arguments = slice::from_raw_parts(data.add(SKIP), length.wrapping_sub(SKIP));
            (&*data.add(length).cast(), arguments)
        }
    }
}

/// What a program returns to the runtime: 0, or its error's code.
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
/// `input` is the buffer that the loader lays out, as `deserialize` wants it.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    // SAFETY: the loader's buffer, passed on.
    if let Some(outcome) = unsafe { schema::asked_without_accounts(input) } {
        return outcome;
    }
    let mut accounts = [const { MaybeUninit::<AccountView>::uninit() }; MAX_ACCOUNTS];
    // SAFETY: as above.
    let (_, count, data) = unsafe { deserialize::<MAX_ACCOUNTS>(input, &mut accounts) };
    // SAFETY: the first `count` accounts were written just now.
    let accounts = unsafe { slice::from_raw_parts_mut(accounts.as_mut_ptr().cast(), count) };
    process_instruction(accounts, data)
}

// initialize: sha256("global:initialize")[..8]
const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);

// deposit: sha256("global:deposit")[..8]
const DEPOSIT: u64 = u64::from_le_bytes([0xf2, 0x23, 0xc6, 0x89, 0x52, 0xe1, 0xf2, 0xb6]);

// withdraw: sha256("global:withdraw")[..8]
const WITHDRAW: u64 = u64::from_le_bytes([0xb7, 0x12, 0x46, 0x9c, 0x94, 0x6d, 0xa1, 0x22]);

/// Hands the instruction to its processor.
#[inline(always)]
fn process_instruction(accounts: &mut [AccountView], data: &[u8]) -> u64 {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return exit_code(Err(Check::InstructionFallbackNotFound.into()));
    };
    // SAFETY: the loader's data, with its discriminator.
    let call = unsafe { Call::<8>::new(data) };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => instruction::initialize::dispatch(accounts, call),
        DEPOSIT => instruction::deposit::dispatch(accounts, call),
        WITHDRAW => instruction::withdraw::dispatch(accounts, call),
        other => otherwise(schema::list_tools(other, arguments)),
    }
}

/// No instruction was found in the data: it was list_tools, or nothing that this program knows.
#[inline(always)]
fn otherwise(outcome: Outcome) -> u64 {
    exit_code(match outcome {
        Outcome::Answered => Ok(()),
        Outcome::NoSuchPage => Err(ProgramError::InvalidInstructionData),
        Outcome::NotAsked => Err(Check::InstructionFallbackNotFound.into()),
    })
}
