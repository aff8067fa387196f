// Rendered by idl2mcp from spec.py; edit the source. [0091adfb69cdb3ac]
//! Checks of accounts. Each fails with the error that names the fault, and logs it.

use {
    crate::{error::Check, ids},
    pinocchio::{
        address::address_eq, cpi::Signer, error::ProgramError, AccountView, Address, ProgramResult,
    },
};

pub const TOKEN_ACCOUNT_SIZE: usize = 165;

pub const MINT_SIZE: usize = 82;

const MULTISIG_SIZE: usize = 355;

const EXTENSIONS_AT: usize = 166;

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
pub fn signer(account: &AccountView) -> ProgramResult {
    ensure(account.is_signer(), Check::AccountNotSigner)
}

/// Like `signer`, with the program's own error.
#[inline(always)]
pub fn signer_or<E: Into<ProgramError>>(account: &AccountView, otherwise: E) -> ProgramResult {
    ensure(account.is_signer(), otherwise)
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

#[inline(always)]
pub fn one_of<E: Into<ProgramError>>(
    found: &Address,
    wanted: &[&Address],
    otherwise: E,
) -> ProgramResult {
    ensure(wanted.iter().any(|one| address_eq(found, one)), otherwise)
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

/// The program at this address owns the account.
#[inline(always)]
pub fn is_owned(account: &AccountView, program: &Address) -> bool {
    owned_by(account, program)
}

/// The bytes at `offset` of a token account or a mint.
#[inline(always)]
fn token_bytes<const N: usize>(
    account: &AccountView,
    offset: usize,
) -> Result<[u8; N], ProgramError> {
    at(data(account)?, offset)
        .copied()
        .ok_or_else(|| Check::AccountDidNotDeserialize.into())
}

/// The wallet whose tokens a token account holds.
#[inline(always)]
pub fn token_owner(account: &AccountView) -> Result<Address, ProgramError> {
    Ok(Address::new_from_array(token_bytes(account, 32)?))
}

/// Who else may move the tokens in a token account.
#[inline(always)]
pub fn token_delegate(account: &AccountView) -> Result<Option<Address>, ProgramError> {
    if token_bytes(account, 72)? != [1, 0, 0, 0] {
        return Ok(None);
    }
    Ok(Some(Address::new_from_array(token_bytes(account, 76)?)))
}

/// The number of tokens that the delegate of a token account may move.
#[inline(always)]
pub fn token_delegated_amount(account: &AccountView) -> Result<u64, ProgramError> {
    Ok(u64::from_le_bytes(token_bytes(account, 121)?))
}

/// The tokens in a token account cannot be moved.
#[inline(always)]
pub fn token_is_frozen(account: &AccountView) -> Result<bool, ProgramError> {
    Ok(token_bytes(account, 108)? == [2])
}

/// The decimals of a mint.
#[inline(always)]
pub fn mint_decimals(account: &AccountView) -> Result<u8, ProgramError> {
    let [decimals] = token_bytes(account, 44)?;
    Ok(decimals)
}

/// The account is an initialized token account of this token program.
#[inline(always)]
pub fn is_token(account: &AccountView, program: &Address) -> Result<bool, ProgramError> {
    let data = data(account)?;
    let is_usable = data.get(108).is_some_and(|state| *state != 0);
    Ok(is_owned(account, program) && is_kind(data, TOKEN_ACCOUNT_SIZE, 2) && is_usable)
}

/// The account is an initialized mint of this token program.
#[inline(always)]
pub fn is_mint(account: &AccountView, program: &Address) -> Result<bool, ProgramError> {
    let data = data(account)?;
    let is_usable = data.get(45) == Some(&1);
    Ok(is_owned(account, program) && is_kind(data, MINT_SIZE, 1) && is_usable)
}

/// Calls an instruction of a token program. Handlers share it, because it is long.
#[inline(never)]
pub fn approve(
    call: &pinocchio_token::instructions::Approve<'_, '_, &AccountView>,
    signers: &[Signer],
    program: &Address,
) -> ProgramResult {
    call.invoke_signed_with_program(signers, program)
}

/// Calls an instruction of a token program. Handlers share it, because it is long.
#[inline(never)]
pub fn revoke(
    call: &pinocchio_token::instructions::Revoke<'_, '_, &AccountView>,
    signers: &[Signer],
    program: &Address,
) -> ProgramResult {
    call.invoke_signed_with_program(signers, program)
}

/// Calls an instruction of a token program. Handlers share it, because it is long.
#[inline(never)]
pub fn close_account(
    call: &pinocchio_token::instructions::CloseAccount<'_, '_, &AccountView>,
    signers: &[Signer],
    program: &Address,
) -> ProgramResult {
    call.invoke_signed_with_program(signers, program)
}

/// Calls an instruction of a token program. Handlers share it, because it is long.
#[inline(never)]
pub fn transfer_checked(
    call: &pinocchio_token::instructions::TransferChecked<'_, '_, &AccountView>,
    signers: &[Signer],
    program: &Address,
) -> ProgramResult {
    call.invoke_signed_with_program(signers, program)
}

/// One extension of Token-2022: the number that says what it is, and its bytes.
pub struct Extension<'a> {
    pub kind: u16,
    data: &'a [u8],
}

impl Extension<'_> {
    /// It has the bytes from `start` to `stop`, and all are zero.
    #[inline(always)]
    pub fn is_zero(&self, start: usize, stop: usize) -> bool {
        self.data
            .get(start..stop)
            .is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
    }
}

/// The extensions of a mint or token account. What cannot be read comes last, with the kind 65,535.
pub struct Extensions<'a> {
    rest: &'a [u8],
}

impl<'a> Extensions<'a> {
    /// Those in the data of a mint or token account. They are behind the byte that tells its kind.
    #[inline(always)]
    pub fn of(data: &'a [u8]) -> Self {
        Extensions {
            rest: data.get(EXTENSIONS_AT..).unwrap_or_default(),
        }
    }

    #[inline(never)]
    fn read(&mut self) -> Option<Extension<'a>> {
        let rest = core::mem::take(&mut self.rest);
        let Some((kind, after)) = rest.split_first_chunk() else {
            let is_padding = rest.iter().all(|byte| *byte == 0);
            return (!is_padding).then_some(Extension {
                kind: u16::MAX,
                data: &[],
            });
        };
        let kind = u16::from_le_bytes(*kind);
        if kind == 0 {
            return None;
        }
        let Some((length, after)) = after.split_first_chunk() else {
            return Some(Extension {
                kind: u16::MAX,
                data: &[],
            });
        };
        let length = usize::from(u16::from_le_bytes(*length));
        let Some((data, rest)) = after.split_at_checked(length) else {
            self.rest = &[1]; // the next one is what cannot be read
            return Some(Extension { kind, data: &[] });
        };
        self.rest = rest;
        Some(Extension { kind, data })
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Extension<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        self.read()
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

/// Creates an associated token account where there is none: of the payer, the account, its owner, the mint, the system
/// program and the token program.
#[inline(never)]
pub fn create_idempotent(accounts: [&AccountView; 6], signers: &[Signer]) -> ProgramResult {
    let [funding_account, account, wallet, mint, system_program, token_program] = accounts;
    pinocchio_associated_token_account::instructions::CreateIdempotent {
        funding_account,
        account,
        wallet,
        mint,
        system_program,
        token_program,
    }
    .invoke_signed(signers)
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
