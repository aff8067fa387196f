// Rendered by idl2mcp from spec.py; edit the source. [f93974a9cd5e6d47]
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

/// Accounts of the largest instruction. Further accounts are ignored.
const MAX_ACCOUNTS: usize = 6;

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
        let (_, count, data) = deserialize::<MAX_ACCOUNTS>(input, &mut accounts);
        process_instruction(
            from_raw_parts_mut(accounts.as_mut_ptr().cast(), count),
            data,
        )
    }
}

// initialize: sha256("global:initialize")[..8]
const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);

// deposit: sha256("global:deposit")[..8]
const DEPOSIT: u64 = u64::from_le_bytes([0xf2, 0x23, 0xc6, 0x89, 0x52, 0xe1, 0xf2, 0xb6]);

// withdraw: sha256("global:withdraw")[..8]
const WITHDRAW: u64 = u64::from_le_bytes([0xb7, 0x12, 0x46, 0x9c, 0x94, 0x6d, 0xa1, 0x22]);

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
        other => schema::list_tools(other, arguments),
    }
}
