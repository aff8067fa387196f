// Rendered by idl2mcp from spec.py; edit the source. [b2e9acaf2537f6f7]
//! Reading bytes: the data of accounts, and of the transaction's instructions. What lies behind their end fails with
//! `AccountDidNotDeserialize`.

use {
    crate::{checks, error::Check},
    pinocchio::{error::ProgramError, AccountView, Address},
};

/// The data of an account. Handlers use it only until they call another program, and write no account of which they read it.
#[inline(always)]
pub fn of(account: &AccountView) -> Result<&[u8], ProgramError> {
    checks::data(account)
}

/// The address of the program that owns an account.
#[inline(always)]
pub fn program(account: &AccountView) -> &Address {
    // SAFETY: the account is valid, and the address is used before its owner can change.
    unsafe { &(*account.account_ptr()).owner }
}

#[cold]
fn too_short() -> ProgramError {
    Check::AccountDidNotDeserialize.into()
}

/// A reference to the `N` bytes from `at` on.
#[inline(always)]
fn chunk<const N: usize>(data: &[u8], at: u64) -> Option<&[u8; N]> {
    data.get(usize::try_from(at).ok()?..)?.first_chunk()
}

/// The `N` bytes from `at` on.
#[inline(always)]
pub fn read<const N: usize>(data: &[u8], at: u64) -> Result<[u8; N], ProgramError> {
    chunk(data, at).copied().ok_or_else(too_short)
}

/// The address at `at`.
#[inline(always)]
pub fn address(data: &[u8], at: u64) -> Result<&Address, ProgramError> {
    chunk(data, at).map(address_of).ok_or_else(too_short)
}

#[inline(always)]
fn address_of(bytes: &[u8; 32]) -> &Address {
    // SAFETY: an address is 32 bytes, and `repr(transparent)`.
    unsafe { &*bytes.as_ptr().cast() }
}

/// The bytes from `start` on.
#[inline(always)]
pub fn from(data: &[u8], start: u64) -> Result<&[u8], ProgramError> {
    let start = usize::try_from(start).map_err(|_| too_short())?;
    data.get(start..).ok_or_else(too_short)
}

/// The bytes from `start` to before `stop`.
#[inline(always)]
pub fn part(data: &[u8], start: u64, stop: u64) -> Result<&[u8], ProgramError> {
    let start = usize::try_from(start).map_err(|_| too_short())?;
    let stop = usize::try_from(stop).map_err(|_| too_short())?;
    data.get(start..stop).ok_or_else(too_short)
}

/// The number of bytes.
#[inline(always)]
pub fn length(data: &[u8]) -> u64 {
    data.len() as u64
}

// The instructions sysvar: their count, the offset of each, the instructions, and the index of the one that runs. An
// instruction is the count of its accounts, 33 bytes for each, the program, and its data behind the length of that.

#[inline(always)]
fn word(data: &[u8], at: usize) -> Option<usize> {
    let bytes = data.get(at..)?.first_chunk()?;
    Some(usize::from(u16::from_le_bytes(*bytes)))
}

/// What follows the accounts of an instruction.
#[inline(always)]
fn behind_accounts(sysvar: &[u8], index: u16) -> Option<&[u8]> {
    let index = usize::from(index);
    if index >= word(sysvar, 0)? {
        return None;
    }
    let at = word(sysvar, index.checked_mul(2)?.checked_add(2)?)?;
    let accounts = word(sysvar, at)?.checked_mul(33)?.checked_add(2)?;
    sysvar.get(at.checked_add(accounts)?..)
}

/// The index of the instruction that runs.
#[inline(always)]
pub fn current_index(sysvar: &AccountView) -> Result<u16, ProgramError> {
    let last = of(sysvar)?.last_chunk().ok_or_else(too_short)?;
    Ok(u16::from_le_bytes(*last))
}

/// The program of an instruction.
#[inline(always)]
pub fn program_at(sysvar: &AccountView, index: u16) -> Result<&Address, ProgramError> {
    let found = behind_accounts(of(sysvar)?, index).and_then(|rest| rest.first_chunk());
    found.map(address_of).ok_or_else(too_short)
}

/// The data of an instruction.
#[inline(always)]
pub fn data_at(sysvar: &AccountView, index: u16) -> Result<&[u8], ProgramError> {
    let rest = behind_accounts(of(sysvar)?, index).ok_or_else(too_short)?;
    let length = word(rest, 32).ok_or_else(too_short)?;
    let data = rest.get(34..).and_then(|data| data.get(..length));
    data.ok_or_else(too_short)
}
