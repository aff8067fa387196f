// Rendered by idl2mcp from spec.py; edit the source. [b3c592ac76d4c5c0]
//! Checks of accounts. Each fails with the error that names the fault, and logs it.

use {
    crate::{error::Check, ids},
    pinocchio::{
        address::address_eq, cpi::Signer, error::ProgramError, AccountView, Address, ProgramResult,
    },
    pinocchio_token::instructions::InitializeAccount3,
};

pub const TOKEN_ACCOUNT_SIZE: usize = 165;

pub const MINT_SIZE: usize = 82;

const MULTISIG_SIZE: usize = 355;

/// Returns the error unless `condition` holds.
#[inline(always)]
pub fn ensure<E: Into<ProgramError>>(condition: bool, otherwise: E) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(otherwise.into())
    }
}

#[inline(always)]
pub fn signer(account: &AccountView) -> ProgramResult {
    ensure(account.is_signer(), Check::AccountNotSigner)
}

#[inline(always)]
pub fn writable(account: &AccountView) -> ProgramResult {
    ensure(account.is_writable(), Check::ConstraintMut)
}

#[inline(always)]
pub fn equal<E: Into<ProgramError>>(
    found: &Address,
    wanted: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(address_eq(found, wanted), otherwise)
}

/// Two writable accounts must not be the same account.
#[inline(always)]
pub fn different(one: &AccountView, other: &AccountView) -> ProgramResult {
    ensure(
        !address_eq(one.address(), other.address()),
        Check::ConstraintDuplicateMutableAccount,
    )
}

/// The account's data, for checks only: it is not guarded against later writes.
#[inline(always)]
pub(crate) fn data(account: &AccountView) -> Result<&[u8], ProgramError> {
    account.check_borrow()?;
    // SAFETY: nothing borrows it mutably (checked above), and callers drop it before anything can.
    Ok(unsafe { account.borrow_unchecked() })
}

/// Compares whole words, which costs less than `AccountView::owned_by`.
#[inline(always)]
fn owned_by(account: &AccountView, program: &Address) -> bool {
    // SAFETY: the account is valid, and its owner does not change during the comparison.
    address_eq(unsafe { &(*account.account_ptr()).owner }, program)
}

/// This program owns the account.
#[inline(always)]
pub fn state(account: &AccountView, program_id: &Address) -> ProgramResult {
    if owned_by(account, program_id) {
        return Ok(());
    }
    Err(wrong_owner(account))
}

/// The account does not exist yet. It may have lamports already.
#[inline(always)]
pub fn is_new(account: &AccountView) -> bool {
    account.is_data_empty() && owned_by(account, &ids::SYSTEM_PROGRAM)
}

#[inline(always)]
fn wrong_owner(account: &AccountView) -> ProgramError {
    if is_new(account) {
        Check::AccountNotInitialized.into()
    } else {
        Check::AccountOwnedByWrongProgram.into()
    }
}

/// The account's address is derived from these seeds and this bump, which the program stored.
#[inline(always)]
pub fn derived<const N: usize, E: Into<ProgramError>>(
    account: &AccountView,
    seeds: &[&[u8]; N],
    bump: u8,
    program_id: &Address,
    otherwise: E,
) -> ProgramResult {
    match Address::try_derive_address(seeds, Some(bump), program_id) {
        Ok(address) => equal(account.address(), &address, otherwise),
        Err(_) => Err(otherwise.into()),
    }
}

/// The account's address is derived from these seeds. Returns the canonical bump.
#[inline(always)]
pub fn found<const N: usize, E: Into<ProgramError>>(
    account: &AccountView,
    seeds: &[&[u8]; N],
    program: &Address,
    otherwise: E,
) -> Result<u8, ProgramError> {
    match Address::derive_program_address(seeds, program) {
        Some((address, bump)) if address_eq(account.address(), &address) => Ok(bump),
        _ => Err(otherwise.into()),
    }
}

/// The bytes at `offset`.
#[inline(always)]
fn at<const N: usize>(data: &[u8], offset: usize) -> Option<&[u8; N]> {
    data.get(offset..)?.first_chunk()
}

/// `program` owns the account, or if it is None, one of the two token programs.
#[inline(always)]
fn token_program(account: &AccountView, program: Option<&Address>) -> ProgramResult {
    let right = match program {
        Some(program) => owned_by(account, program),
        None => {
            owned_by(account, &ids::TOKEN_PROGRAM) || owned_by(account, &ids::TOKEN_2022_PROGRAM)
        }
    };
    if right {
        return Ok(());
    }
    Err(wrong_owner(account))
}

/// Token-2022 stores the kind of an account with extensions behind byte 165: 1 for a mint, 2 for
/// a token account. A multisig has no kind: there it holds a key that anyone may choose.
#[inline(always)]
fn is_kind(data: &[u8], size: usize, kind: u8) -> bool {
    data.len() == size
        || (data.len() != MULTISIG_SIZE && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))
}

/// The account is an initialized token account of this mint and this authority.
#[inline(always)]
pub fn token_account(
    account: &AccountView,
    mint: Option<&Address>,
    authority: Option<&Address>,
    program: Option<&Address>,
) -> ProgramResult {
    token_program(account, program)?;
    let data = data(account)?;
    ensure(
        is_kind(data, TOKEN_ACCOUNT_SIZE, 2) && data.get(108).is_some_and(|state| *state != 0),
        Check::AccountDidNotDeserialize,
    )?;
    if let Some(mint) = mint {
        ensure(
            at(data, 0) == Some(mint.as_array()),
            Check::ConstraintTokenMint,
        )?;
    }
    if let Some(authority) = authority {
        ensure(
            at(data, 32) == Some(authority.as_array()),
            Check::ConstraintTokenOwner,
        )?;
    }
    Ok(())
}

/// The account is an initialized mint with this mint authority and these decimals.
#[inline(always)]
pub fn mint_account(
    account: &AccountView,
    authority: Option<&Address>,
    decimals: Option<u8>,
    program: Option<&Address>,
) -> ProgramResult {
    token_program(account, program)?;
    let data = data(account)?;
    ensure(
        is_kind(data, MINT_SIZE, 1) && data.get(45).is_some_and(|state| *state == 1),
        Check::AccountDidNotDeserialize,
    )?;
    if let Some(authority) = authority {
        let is_set = at(data, 0) == Some(&[1, 0, 0, 0]);
        ensure(
            is_set && at(data, 4) == Some(authority.as_array()),
            Check::ConstraintMintMintAuthority,
        )?;
    }
    if let Some(decimals) = decimals {
        ensure(
            data.get(44) == Some(&decimals),
            Check::ConstraintMintDecimals,
        )?;
    }
    Ok(())
}

/// The number of tokens in a token account.
#[inline(always)]
pub fn token_amount(account: &AccountView) -> Result<u64, ProgramError> {
    let data = data(account)?;
    match at(data, 64) {
        Some(amount) => Ok(u64::from_le_bytes(*amount)),
        None => Err(Check::AccountDidNotDeserialize.into()),
    }
}

/// Creates an account with its rent, even if somebody sent lamports to its address before.
pub struct Create<'a, 'b> {
    pub account: &'a mut AccountView,
    pub payer: &'a AccountView,
    pub space: usize,
    pub owner: &'a Address,
    pub signers: &'a [Signer<'a, 'b>],
}

impl Create<'_, '_> {
    #[inline(never)]
    pub fn invoke(self) -> ProgramResult {
        ensure(is_new(self.account), Check::AccountDiscriminatorAlreadySet)?;
        pinocchio_system::create_account_with_minimum_balance_signed(
            self.account,
            self.space,
            self.owner,
            self.payer,
            None,
            self.signers,
        )
    }
}

/// Creates a token account.
#[inline(never)]
pub fn create_token_account(
    mut create: Create,
    mint: &AccountView,
    authority: &Address,
) -> ProgramResult {
    let (account, program) = (*create.account, create.owner);
    create.space = TOKEN_ACCOUNT_SIZE;
    create.invoke()?;
    InitializeAccount3::new(&account, mint, authority).invoke_with_program(program)
}
