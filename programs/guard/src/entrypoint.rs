// Rendered by idl2mcp from spec.py; edit the source. [e43dd88926e4bc86]
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
const MAX_ACCOUNTS: usize = 1;

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

// assert_account_info_multi: given
const ASSERT_ACCOUNT_INFO_MULTI: u8 = 6;

// assert_account_data_multi: given
const ASSERT_ACCOUNT_DATA_MULTI: u8 = 3;

#[inline(always)]
fn process_instruction(accounts: &mut [AccountView], data: &[u8]) -> u64 {
    let Some(discriminator) = data.first_chunk::<1>() else {
        return exit_code(Err(Check::InstructionFallbackNotFound.into()));
    };
    // SAFETY: the loader's data, with its discriminator.
    let call = unsafe { Call::<1>::new(data) };
    match u8::from_le_bytes(*discriminator) {
        ASSERT_ACCOUNT_INFO_MULTI => {
            instruction::assert_account_info_multi::dispatch(accounts, call)
        }
        ASSERT_ACCOUNT_DATA_MULTI => {
            instruction::assert_account_data_multi::dispatch(accounts, call)
        }
        _ => schema::list_tools_in(data),
    }
}
