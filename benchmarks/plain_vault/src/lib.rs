//! programs/vault as one would write it by hand in plain pinocchio: the same instructions, data, accounts and state,
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
use pinocchio_token::instructions::{InitializeAccount3, Transfer};

default_allocator!();
nostd_panic_handler!();

/// # Safety
///
/// `input` is the buffer that the loader lays out.
#[no_mangle]
pub unsafe extern "C" fn entrypoint(input: *mut u8) -> u64 {
    // SAFETY: the loader's buffer, passed on.
    unsafe { process_entrypoint::<6>(input, process) }
}

const INITIALIZE: u64 = u64::from_le_bytes([0xaf, 0xaf, 0x6d, 0x1f, 0x0d, 0x98, 0x9b, 0xed]);
const DEPOSIT: u64 = u64::from_le_bytes([0xf2, 0x23, 0xc6, 0x89, 0x52, 0xe1, 0xf2, 0xb6]);
const WITHDRAW: u64 = u64::from_le_bytes([0xb7, 0x12, 0x46, 0x9c, 0x94, 0x6d, 0xa1, 0x22]);

/// The account's first bytes, and the events'.
const STATE: u64 = u64::from_le_bytes([0xd8, 0x92, 0x6b, 0x5e, 0x68, 0x4b, 0xb6, 0xb1]);
const DEPOSITED: [u8; 8] = [0x6f, 0x8d, 0x1a, 0x2d, 0xa1, 0x23, 0x64, 0x39];
const WITHDRAWN: [u8; 8] = [0x14, 0x59, 0xdf, 0xc6, 0xc2, 0x7c, 0xdb, 0x0d];

const SYSTEM_PROGRAM: Address = Address::new_from_array([0; 32]);
const TOKEN_ACCOUNT: usize = 165;
const MINT: usize = 82;

fn process(program_id: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let Some((discriminator, arguments)) = data.split_first_chunk::<8>() else {
        return Err(fail(Error::InstructionFallbackNotFound));
    };
    match u64::from_le_bytes(*discriminator) {
        INITIALIZE => {
            need(arguments.is_empty(), Error::InstructionDidNotDeserialize)?;
            initialize(program_id, accounts)
        }
        DEPOSIT => deposit(program_id, accounts, amount(arguments)?),
        WITHDRAW => withdraw(program_id, accounts, amount(arguments)?),
        _ => Err(fail(Error::InstructionFallbackNotFound)),
    }
}

/// A vault's account, as it stands in its data.
#[repr(C)]
struct State {
    discriminator: [u8; 8],
    authority: Address,
    mint: Address,
    deposited: [u8; 8],
    withdrawn: [u8; 8],
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

/// What one of this program's totals becomes.
#[inline(always)]
fn add(total: &mut [u8; 8], amount: u64) -> ProgramResult {
    match u64::from_le_bytes(*total).checked_add(amount) {
        Some(sum) => {
            *total = sum.to_le_bytes();
            Ok(())
        }
        None => Err(fail(Error::Overflow)),
    }
}

#[inline(always)]
fn owned(account: &AccountView, program: &Address) -> ProgramResult {
    if account.owned_by(program) {
        return Ok(());
    }
    let is_new = account.owned_by(&SYSTEM_PROGRAM) && account.is_data_empty();
    Err(fail(if is_new {
        Error::AccountNotInitialized
    } else {
        Error::AccountOwnedByWrongProgram
    }))
}

#[inline(always)]
fn same(one: &AccountView, other: &AccountView) -> ProgramResult {
    need(
        !address_eq(one.address(), other.address()),
        Error::ConstraintDuplicateMutableAccount,
    )
}

/// An initialized account of SPL Token, of this mint and, if given, of this owner; how many tokens it holds.
#[inline(always)]
fn token_account(account: &AccountView, mint: &Address, owner: Option<&Address>) -> Result<u64, ProgramError> {
    owned(account, &pinocchio_token::ID)?;
    let data = account.try_borrow()?;
    let Some(data) = data
        .first_chunk::<TOKEN_ACCOUNT>()
        .filter(|_| data.len() == TOKEN_ACCOUNT)
    else {
        return Err(fail(Error::AccountDidNotDeserialize));
    };
    need(data[108] != 0, Error::AccountDidNotDeserialize)?;
    need(data[..32] == *mint.as_ref(), Error::ConstraintTokenMint)?;
    if let Some(owner) = owner {
        need(data[32..64] == *owner.as_ref(), Error::ConstraintTokenOwner)?;
    }
    Ok(held(data))
}

#[inline(always)]
fn held(data: &[u8; TOKEN_ACCOUNT]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&data[64..72]);
    u64::from_le_bytes(bytes)
}

/// An initialized mint of SPL Token.
#[inline(always)]
fn mint_account(account: &AccountView) -> ProgramResult {
    owned(account, &pinocchio_token::ID)?;
    let data = account.try_borrow()?;
    need(
        data.len() == MINT && data.get(45) == Some(&1),
        Error::AccountDidNotDeserialize,
    )
}

/// The vault's token account stands at its own address.
#[inline(always)]
fn tokens_derived(tokens: &AccountView, vault: &Address, program_id: &Address) -> Result<u8, ProgramError> {
    let seeds: [&[u8]; 2] = [b"tokens", vault.as_ref()];
    match Address::derive_program_address(&seeds, program_id) {
        Some((derived, bump)) if address_eq(&derived, tokens.address()) => Ok(bump),
        _ => Err(fail(Error::ConstraintSeeds)),
    }
}

#[inline(always)]
fn vault_derived(vault: &Address, state: &State, program_id: &Address) -> ProgramResult {
    let seeds: [&[u8]; 3] = [b"vault", state.authority.as_ref(), state.mint.as_ref()];
    let derived = Address::derive_address(&seeds, Some(state.bump), program_id);
    need(address_eq(&derived, vault), Error::ConstraintSeeds)
}

fn initialize(program_id: &Address, accounts: &mut [AccountView]) -> ProgramResult {
    let [vault, tokens, mint, authority, token_program, system_program, ..] = accounts else {
        return Err(fail(Error::AccountNotEnoughKeys));
    };
    need(vault.is_writable() && tokens.is_writable(), Error::ConstraintMut)?;
    need(authority.is_signer(), Error::AccountNotSigner)?;
    need(authority.is_writable(), Error::ConstraintMut)?;
    need(
        address_eq(token_program.address(), &pinocchio_token::ID),
        Error::InvalidProgramId,
    )?;
    need(
        address_eq(system_program.address(), &SYSTEM_PROGRAM),
        Error::InvalidProgramId,
    )?;
    same(vault, tokens)?;
    mint_account(mint)?;
    let seeds: [&[u8]; 3] = [b"vault", authority.address().as_ref(), mint.address().as_ref()];
    let bump = match Address::derive_program_address(&seeds, program_id) {
        Some((derived, bump)) if address_eq(&derived, vault.address()) => [bump],
        _ => return Err(fail(Error::ConstraintSeeds)),
    };
    let tokens_bump = [tokens_derived(tokens, vault.address(), program_id)?];
    for new in [&*vault, &*tokens] {
        need(
            new.is_data_empty() && new.owned_by(&SYSTEM_PROGRAM),
            Error::AccountDiscriminatorAlreadySet,
        )?;
    }

    let signer = [
        Seed::from(b"vault".as_slice()),
        Seed::from(authority.address().as_ref()),
        Seed::from(mint.address().as_ref()),
        Seed::from(bump.as_slice()),
    ];
    pinocchio_system::create_account_with_minimum_balance_signed(
        vault,
        size_of::<State>(),
        program_id,
        authority,
        None,
        &[Signer::from(&signer)],
    )?;
    let signer = [
        Seed::from(b"tokens".as_slice()),
        Seed::from(vault.address().as_ref()),
        Seed::from(tokens_bump.as_slice()),
    ];
    pinocchio_system::create_account_with_minimum_balance_signed(
        tokens,
        TOKEN_ACCOUNT,
        &pinocchio_token::ID,
        authority,
        None,
        &[Signer::from(&signer)],
    )?;
    InitializeAccount3::new(tokens, mint, vault.address()).invoke()?;

    let mut data = vault.try_borrow_mut()?;
    let Some(discriminator) = data.first_chunk_mut::<8>() else {
        return Err(ProgramError::AccountDataTooSmall);
    };
    *discriminator = STATE.to_le_bytes();
    let state = State::load(&mut data)?;
    state.authority = *authority.address();
    state.mint = *mint.address();
    state.bump = bump[0];
    Ok(())
}

fn deposit(program_id: &Address, accounts: &mut [AccountView], amount: u64) -> ProgramResult {
    let [vault, tokens, source, mint, depositor, token_program, ..] = accounts else {
        return Err(fail(Error::AccountNotEnoughKeys));
    };
    need(
        vault.is_writable() && tokens.is_writable() && source.is_writable(),
        Error::ConstraintMut,
    )?;
    need(depositor.is_signer(), Error::AccountNotSigner)?;
    need(
        address_eq(token_program.address(), &pinocchio_token::ID),
        Error::InvalidProgramId,
    )?;
    same(vault, tokens)?;
    same(vault, source)?;
    same(tokens, source)?;
    owned(vault, program_id)?;
    let address = *vault.address();
    {
        let mut data = vault.try_borrow_mut()?;
        let state = State::load(&mut data)?;
        need(address_eq(&state.mint, mint.address()), Error::ConstraintHasOne)?;
        token_account(tokens, mint.address(), Some(&address))?;
        token_account(source, mint.address(), Some(depositor.address()))?;
        mint_account(mint)?;
        vault_derived(&address, state, program_id)?;
        tokens_derived(tokens, &address, program_id)?;
        need(amount > 0, Error::ZeroAmount)?;
        add(&mut state.deposited, amount)?;
    }
    Transfer::new(source, tokens, depositor, amount).invoke()?;
    let mut event = [0; 80];
    event[..8].copy_from_slice(&DEPOSITED);
    event[8..40].copy_from_slice(address.as_ref());
    event[40..72].copy_from_slice(depositor.address().as_ref());
    event[72..].copy_from_slice(&amount.to_le_bytes());
    log_data(&event);
    Ok(())
}

fn withdraw(program_id: &Address, accounts: &mut [AccountView], amount: u64) -> ProgramResult {
    let [vault, tokens, destination, mint, authority, token_program, ..] = accounts else {
        return Err(fail(Error::AccountNotEnoughKeys));
    };
    need(
        vault.is_writable() && tokens.is_writable() && destination.is_writable(),
        Error::ConstraintMut,
    )?;
    need(authority.is_signer(), Error::AccountNotSigner)?;
    need(
        address_eq(token_program.address(), &pinocchio_token::ID),
        Error::InvalidProgramId,
    )?;
    same(vault, tokens)?;
    same(vault, destination)?;
    same(tokens, destination)?;
    owned(vault, program_id)?;
    let address = *vault.address();
    let bump = {
        let mut data = vault.try_borrow_mut()?;
        let state = State::load(&mut data)?;
        need(address_eq(&state.authority, authority.address()), Error::WrongAuthority)?;
        need(address_eq(&state.mint, mint.address()), Error::ConstraintHasOne)?;
        let there = token_account(tokens, mint.address(), Some(&address))?;
        token_account(destination, mint.address(), None)?;
        mint_account(mint)?;
        vault_derived(&address, state, program_id)?;
        tokens_derived(tokens, &address, program_id)?;
        need(amount > 0, Error::ZeroAmount)?;
        need(amount <= there, Error::NotEnoughTokens)?;
        add(&mut state.withdrawn, amount)?;
        [state.bump]
    };
    let signer = [
        Seed::from(b"vault".as_slice()),
        Seed::from(authority.address().as_ref()),
        Seed::from(mint.address().as_ref()),
        Seed::from(bump.as_slice()),
    ];
    Transfer::new(tokens, destination, vault, amount).invoke_signed(&[Signer::from(&signer)])?;
    let mut event = [0; 48];
    event[..8].copy_from_slice(&WITHDRAWN);
    event[8..40].copy_from_slice(address.as_ref());
    event[40..].copy_from_slice(&amount.to_le_bytes());
    log_data(&event);
    let data = tokens.try_borrow()?;
    let Some(data) = data.first_chunk::<TOKEN_ACCOUNT>() else {
        return Err(ProgramError::InvalidAccountData);
    };
    return_amount(held(data));
    Ok(())
}

#[derive(Clone, Copy)]
enum Error {
    InstructionFallbackNotFound,
    InstructionDidNotDeserialize,
    ConstraintMut,
    ConstraintHasOne,
    ConstraintSeeds,
    ConstraintTokenMint,
    ConstraintTokenOwner,
    ConstraintDuplicateMutableAccount,
    AccountDiscriminatorAlreadySet,
    AccountDiscriminatorNotFound,
    AccountDiscriminatorMismatch,
    AccountDidNotDeserialize,
    AccountNotEnoughKeys,
    AccountOwnedByWrongProgram,
    InvalidProgramId,
    AccountNotSigner,
    AccountNotInitialized,
    ZeroAmount,
    NotEnoughTokens,
    WrongAuthority,
    Overflow,
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
            Self::ConstraintTokenMint => (2014, "ConstraintTokenMint (2014): Token account has another mint"),
            Self::ConstraintTokenOwner => (2015, "ConstraintTokenOwner (2015): Token account has another authority"),
            Self::ConstraintDuplicateMutableAccount => (
                2040,
                "ConstraintDuplicateMutableAccount (2040): Two writable accounts are the same account",
            ),
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
            Self::ZeroAmount => (6000, "ZeroAmount (6000): The amount must be more than zero"),
            Self::NotEnoughTokens => (6001, "NotEnoughTokens (6001): The vault holds fewer tokens than that"),
            Self::WrongAuthority => (6002, "WrongAuthority (6002): Only the vault's authority may do this"),
            Self::Overflow => (
                6003,
                "Overflow (6003): The vault has counted more than 18446744073709551615 base units",
            ),
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
