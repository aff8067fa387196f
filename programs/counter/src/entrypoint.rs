// Rendered by idl2mcp from spec.py; edit the source. [f981f5374025db1d]
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
const MAX_ACCOUNTS: usize = 3;

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

// increment: sha256("global:increment")[..8]
const INCREMENT: u64 = u64::from_le_bytes([0x0b, 0x12, 0x68, 0x09, 0x68, 0xae, 0x3b, 0x21]);

// decrement: sha256("global:decrement")[..8]
const DECREMENT: u64 = u64::from_le_bytes([0x6a, 0xe3, 0xa8, 0x3b, 0xf8, 0x1b, 0x96, 0x65]);

// close: sha256("global:close")[..8]
const CLOSE: u64 = u64::from_le_bytes([0x62, 0xa5, 0xc9, 0xb1, 0x6c, 0x41, 0xce, 0x60]);

#[inline(always)]
fn process_instruction(accounts: &mut [AccountView], data: &[u8]) -> u64 {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return exit_code(Err(Check::InstructionFallbackNotFound.into()));
    };
    // SAFETY: the loader's data, with its discriminator.
    let call = unsafe { Call::<8>::new(data) };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => instruction::initialize::dispatch(accounts, call),
        INCREMENT => instruction::increment::dispatch(accounts, call),
        DECREMENT => instruction::decrement::dispatch(accounts, call),
        CLOSE => instruction::close::dispatch(accounts, call),
        other => schema::list_tools(other, arguments),
    }
}
