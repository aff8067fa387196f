//! programs/counter as one would write it by hand in plain pinocchio: the same instructions, data, accounts and state,
//! the same checks and named errors; nothing rendered, no list_tools. A peer of bench_programs.py.

#![no_std]

use pinocchio::{
    address::address_eq,
    cpi::{Seed, Signer},
    default_allocator,
    entrypoint::process_entrypoint,
    error::ProgramError,
    nostd_panic_handler, AccountView, Address, ProgramResult,
};

default_allocator!();
nostd_panic_handler!();

/// # Safety
///
/// `input` is the buffer that the loader lays out.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    // SAFETY: the loader's buffer, passed on.
    unsafe { process_entrypoint::<3>(input, process) }
}

const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);
const INCREMENT: u64 = u64::from_le_bytes([0x0b, 0x12, 0x68, 0x09, 0x68, 0xae, 0x3b, 0x21]);
const DECREMENT: u64 = u64::from_le_bytes([0x6a, 0xe3, 0xa8, 0x3b, 0xf8, 0x1b, 0x96, 0x65]);
const CLOSE: u64 = u64::from_le_bytes([0x62, 0xa5, 0xc9, 0xb1, 0x6c, 0x41, 0xce, 0x60]);

/// The account's first bytes, and the event's.
const STATE: u64 = u64::from_le_bytes([0xd8, 0x92, 0x6b, 0x5e, 0x68, 0x4b, 0xb6, 0xb1]);
const CHANGED: [u8; 8] = [0x4e, 0xda, 0xe7, 0x56, 0x1f, 0xa7, 0xf5, 0x0e];

const SYSTEM_PROGRAM: Address = Address::new_from_array([0; 32]);

fn process(program_id: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return Err(fail(Error::InstructionFallbackNotFound));
    };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => initialize(program_id, accounts, amount(arguments)?),
        INCREMENT => {
            let amount = amount(arguments)?;
            change(program_id, accounts, |count| {
                count.checked_add(amount).ok_or(Error::Overflow)
            })?;
            Ok(())
        }
        DECREMENT => {
            let amount = amount(arguments)?;
            return_amount(change(program_id, accounts, |count| {
                count.checked_sub(amount).ok_or(Error::Underflow)
            })?);
            Ok(())
        }
        CLOSE => {
            need(arguments.is_empty(), Error::InstructionDidNotDeserialize)?;
            close(program_id, accounts)
        }
        _ => Err(fail(Error::InstructionFallbackNotFound)),
    }
}

/// A counter's account, as it stands in its data.
#[repr(C)]
struct State {
    discriminator: [u8; 8],
    authority: Address,
    count: [u8; 8],
    bump: u8,
}

impl State {
    /// The state in the data of an account that this program owns.
    #[inline(always)]
    fn load(data: &mut [u8]) -> Result<&mut Self, ProgramError> {
        let Some(found) = data.first_chunk::<8>() else {
            return Err(fail(Error::AccountDiscriminatorNotFound));
        };
        need(u64::from_le_bytes(*found) == STATE, Error::AccountDiscriminatorMismatch)?;
        need(data.len() >= size_of::<Self>(), Error::AccountDidNotDeserialize)?;
        // SAFETY: the length was checked, the alignment is 1 and all bytes are values.
        Ok(unsafe { &mut *data.as_mut_ptr().cast::<Self>() })
    }
}

#[inline(always)]
fn owned(account: &AccountView, program_id: &Address) -> ProgramResult {
    if account.owned_by(program_id) {
        return Ok(());
    }
    let is_new = account.owned_by(&SYSTEM_PROGRAM) && account.is_data_empty();
    Err(fail(if is_new {
        Error::AccountNotInitialized
    } else {
        Error::AccountOwnedByWrongProgram
    }))
}

/// The counter's state is of this authority, and it stands at its own address.
#[inline(always)]
fn authorized(state: &State, counter: &Address, authority: &Address, program_id: &Address) -> ProgramResult {
    need(address_eq(&state.authority, authority), Error::ConstraintHasOne)?;
    let seeds: [&[u8]; 2] = [b"counter", authority.as_ref()];
    let derived = Address::derive_address(&seeds, Some(state.bump), program_id);
    need(address_eq(&derived, counter), Error::ConstraintSeeds)
}

fn log_changed(counter: &Address, count: u64) {
    let mut event = [0; 48];
    event[..8].copy_from_slice(&CHANGED);
    event[8..40].copy_from_slice(counter.as_ref());
    event[40..].copy_from_slice(&count.to_le_bytes());
    log_data(&event);
}

fn initialize(program_id: &Address, accounts: &mut [AccountView], start: u64) -> ProgramResult {
    let [counter, authority, system_program, ..] = accounts else {
        return Err(fail(Error::AccountNotEnoughKeys));
    };
    need(counter.is_writable(), Error::ConstraintMut)?;
    need(authority.is_signer(), Error::AccountNotSigner)?;
    need(authority.is_writable(), Error::ConstraintMut)?;
    need(
        address_eq(system_program.address(), &SYSTEM_PROGRAM),
        Error::InvalidProgramId,
    )?;
    let seeds: [&[u8]; 2] = [b"counter", authority.address().as_ref()];
    let bump = match Address::derive_program_address(&seeds, program_id) {
        Some((derived, bump)) if address_eq(&derived, counter.address()) => [bump],
        _ => return Err(fail(Error::ConstraintSeeds)),
    };
    need(
        counter.is_data_empty() && counter.owned_by(&SYSTEM_PROGRAM),
        Error::AccountDiscriminatorAlreadySet,
    )?;
    let signer = [
        Seed::from(b"counter".as_slice()),
        Seed::from(authority.address().as_ref()),
        Seed::from(bump.as_slice()),
    ];
    pinocchio_system::create_account_with_minimum_balance_signed(
        counter,
        size_of::<State>(),
        program_id,
        authority,
        None,
        &[Signer::from(&signer)],
    )?;
    {
        let mut data = counter.try_borrow_mut()?;
        let Some(discriminator) = data.first_chunk_mut::<8>() else {
            return Err(ProgramError::AccountDataTooSmall);
        };
        *discriminator = STATE.to_le_bytes();
        let state = State::load(&mut data)?;
        state.authority = *authority.address();
        state.count = start.to_le_bytes();
        state.bump = bump[0];
    }
    log_changed(counter.address(), start);
    Ok(())
}

#[inline(always)]
fn change(
    program_id: &Address,
    accounts: &mut [AccountView],
    next: impl FnOnce(u64) -> Result<u64, Error>,
) -> Result<u64, ProgramError> {
    let [counter, authority, ..] = accounts else {
        return Err(fail(Error::AccountNotEnoughKeys));
    };
    need(counter.is_writable(), Error::ConstraintMut)?;
    need(authority.is_signer(), Error::AccountNotSigner)?;
    owned(counter, program_id)?;
    let address = *counter.address();
    let count = {
        let mut data = counter.try_borrow_mut()?;
        let state = State::load(&mut data)?;
        authorized(state, &address, authority.address(), program_id)?;
        let count = next(u64::from_le_bytes(state.count)).map_err(fail)?;
        state.count = count.to_le_bytes();
        count
    };
    log_changed(&address, count);
    Ok(count)
}

fn close(program_id: &Address, accounts: &mut [AccountView]) -> ProgramResult {
    let [counter, authority, ..] = accounts else {
        return Err(fail(Error::AccountNotEnoughKeys));
    };
    need(counter.is_writable(), Error::ConstraintMut)?;
    need(authority.is_signer(), Error::AccountNotSigner)?;
    need(authority.is_writable(), Error::ConstraintMut)?;
    owned(counter, program_id)?;
    let address = *counter.address();
    {
        let mut data = counter.try_borrow_mut()?;
        let state = State::load(&mut data)?;
        authorized(state, &address, authority.address(), program_id)?;
        need(state.count == [0; 8], Error::NotZero)?;
        data.fill(0);
    }
    let total = authority
        .lamports()
        .checked_add(counter.lamports())
        .ok_or(ProgramError::ArithmeticOverflow)?;
    authority.set_lamports(total);
    counter.set_lamports(0);
    counter.close()
}

#[derive(Clone, Copy)]
enum Error {
    InstructionFallbackNotFound,
    InstructionDidNotDeserialize,
    ConstraintMut,
    ConstraintHasOne,
    ConstraintSeeds,
    AccountDiscriminatorAlreadySet,
    AccountDiscriminatorNotFound,
    AccountDiscriminatorMismatch,
    AccountDidNotDeserialize,
    AccountNotEnoughKeys,
    AccountOwnedByWrongProgram,
    InvalidProgramId,
    AccountNotSigner,
    AccountNotInitialized,
    Overflow,
    Underflow,
    NotZero,
}

impl Error {
    /// The code and the log message.
    const fn text(self) -> (u32, &'static str) {
        match self {
            Self::InstructionFallbackNotFound => (
                101,
                "InstructionFallbackNotFound (101): No instruction has this discriminator",
            ),
            Self::InstructionDidNotDeserialize => (
                102,
                "InstructionDidNotDeserialize (102): Arguments are too short, too long or malformed",
            ),
            Self::ConstraintMut => (2000, "ConstraintMut (2000): Account is not writable"),
            Self::ConstraintHasOne => (
                2001,
                "ConstraintHasOne (2001): Account does not match a field of the state",
            ),
            Self::ConstraintSeeds => (2006, "ConstraintSeeds (2006): Account address does not match its seeds"),
            Self::AccountDiscriminatorAlreadySet => (
                3000,
                "AccountDiscriminatorAlreadySet (3000): Account to create already exists",
            ),
            Self::AccountDiscriminatorNotFound => (
                3001,
                "AccountDiscriminatorNotFound (3001): Account is too short for a discriminator",
            ),
            Self::AccountDiscriminatorMismatch => {
                (3002, "AccountDiscriminatorMismatch (3002): Account is of another type")
            }
            Self::AccountDidNotDeserialize => (
                3003,
                "AccountDidNotDeserialize (3003): Account data is too short or malformed",
            ),
            Self::AccountNotEnoughKeys => (3005, "AccountNotEnoughKeys (3005): Too few accounts"),
            Self::AccountOwnedByWrongProgram => (
                3007,
                "AccountOwnedByWrongProgram (3007): Account is owned by another program",
            ),
            Self::InvalidProgramId => (3008, "InvalidProgramId (3008): Account is not the expected program"),
            Self::AccountNotSigner => (3010, "AccountNotSigner (3010): Account did not sign"),
            Self::AccountNotInitialized => (3012, "AccountNotInitialized (3012): Account does not exist"),
            Self::Overflow => (6000, "Overflow (6000): The count would go over 18446744073709551615"),
            Self::Underflow => (6001, "Underflow (6001): The count would go below zero"),
            Self::NotZero => (6002, "NotZero (6002): Only a counter that stands at zero can be closed"),
        }
    }
}

#[cold]
#[inline(never)]
fn fail(error: Error) -> ProgramError {
    let (code, text) = error.text();
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads `text.len()` bytes from `text`.
    unsafe {
        pinocchio::syscalls::sol_log_(text.as_ptr(), text.len() as u64);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(text);
    ProgramError::Custom(code)
}

#[inline(always)]
fn need(condition: bool, error: Error) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(fail(error))
    }
}

/// The only argument: a u64, and nothing behind it.
#[inline(always)]
fn amount(arguments: &[u8]) -> Result<u64, ProgramError> {
    match <[u8; 8]>::try_from(arguments) {
        Ok(bytes) => Ok(u64::from_le_bytes(bytes)),
        Err(_) => Err(fail(Error::InstructionDidNotDeserialize)),
    }
}

fn log_data(bytes: &[u8]) {
    let parts = [bytes];
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads one slice, an address and a length.
    unsafe {
        pinocchio::syscalls::sol_log_data(parts.as_ptr().cast(), 1);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(parts);
}

fn return_amount(amount: u64) {
    let bytes = amount.to_le_bytes();
    #[cfg(any(target_os = "solana", target_arch = "bpf"))]
    // SAFETY: the syscall reads 8 bytes.
    unsafe {
        pinocchio::syscalls::sol_set_return_data(bytes.as_ptr(), 8);
    }
    #[cfg(not(any(target_os = "solana", target_arch = "bpf")))]
    core::hint::black_box(bytes);
}
