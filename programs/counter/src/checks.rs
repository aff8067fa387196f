// Rendered by idl2mcp from spec.py; edit the source. [81eb7c7a978ff00c]
//! Checks of accounts. Each fails with the error that names the fault, and logs it.

use {
    crate::{error::Check, ids},
    pinocchio::{
        address::address_eq, cpi::Signer, error::ProgramError, AccountView, Address, ProgramResult,
    },
};

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

/// Creates an account with its rent, even if somebody sent lamports to its address before.
pub struct Create<'a, 'b> {
    pub account: &'a mut AccountView,
    pub payer: &'a AccountView,
    pub space: usize,
    pub owner: &'a Address,
    pub signers: &'a [Signer<'a, 'b>],
}

impl Create<'_, '_> {
    #[inline(always)]
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

/// Closes an account of this program: moves its lamports to `destination`, empties it and gives
/// it back to the system program, so that it cannot be revived in the same transaction.
pub fn close(account: &mut AccountView, destination: &mut AccountView) -> ProgramResult {
    ensure(
        !address_eq(account.address(), destination.address()),
        Check::ConstraintClose,
    )?;
    let total = destination
        .lamports()
        .checked_add(account.lamports())
        .ok_or(ProgramError::ArithmeticOverflow)?;
    account.try_borrow_mut()?.fill(0);
    destination.set_lamports(total);
    account.set_lamports(0);
    account.close()
}
