// Rendered by idl2mcp from spec.py; edit the source. [8eb39ec1d402b98e]
//! Checks of accounts. Each fails with the error that names the fault, and logs it.

use pinocchio::{address::address_eq, error::ProgramError, AccountView, Address, ProgramResult};

/// Returns the error unless `condition` holds.
#[inline(always)]
pub fn ensure<E: Into<ProgramError>>(condition: bool, otherwise: E) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(otherwise.into())
    }
}

/// Takes the first of the accounts that are left, if any.
#[inline(always)]
pub fn next<'a>(rest: &mut &'a mut [AccountView]) -> Option<&'a mut AccountView> {
    let (first, others) = core::mem::take(rest).split_first_mut()?;
    *rest = others;
    Some(first)
}

#[inline(always)]
pub fn equal<E: Into<ProgramError>>(
    found: &Address,
    wanted: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(address_eq(found, wanted), otherwise)
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

#[inline(always)]
pub fn owner<E: Into<ProgramError>>(
    account: &AccountView,
    program: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(owned_by(account, program), otherwise)
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
