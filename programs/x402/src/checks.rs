// Rendered by idl2mcp from spec.py; edit the source. [722e21df2b80ce46]
//! What accounts are checked for. Each check says by its error what was wrong; the error is
//! logged where it is made.

use {
    crate::error::Check,
    pinocchio::{
        account::MAX_PERMITTED_DATA_INCREASE,
        address::address_eq,
        cpi::Signer,
        error::ProgramError,
        sysvars::{rent::Rent, Sysvar},
        AccountView, Address, ProgramResult,
    },
    pinocchio_token::instructions::{InitializeAccount3, InitializeMint2},
};

/// The system program.
pub const SYSTEM_PROGRAM: Address = Address::new_from_array([0; 32]);

/// SPL Token-2022.
// TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb
const TOKEN_2022_PROGRAM: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xee, 0x75, 0x8f, 0xde, 0x18, 0x42, 0x5d, 0xbc, 0xe4, 0x6c, 0xcd, 0xda,
    0xb6, 0x1a, 0xfc, 0x4d, 0x83, 0xb9, 0x0d, 0x27, 0xfe, 0xbd, 0xf9, 0x28, 0xd8, 0xa1, 0x8b, 0xfc,
]);

const TOKEN_ACCOUNT_SIZE: usize = 165;
const MINT_SIZE: usize = 82;
const MULTISIG_SIZE: usize = 355;

/// `condition`, or the error.
#[inline(always)]
pub fn ensure<E: Into<ProgramError>>(condition: bool, otherwise: E) -> ProgramResult {
    if condition {
        Ok(())
    } else {
        Err(otherwise.into())
    }
}

/// The first of the accounts that are left, if there is one.
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

/// As `signer`, with the program's own error.
#[inline(always)]
pub fn signer_or<E: Into<ProgramError>>(account: &AccountView, otherwise: E) -> ProgramResult {
    ensure(account.is_signer(), otherwise)
}

#[inline(always)]
pub fn writable(account: &AccountView) -> ProgramResult {
    ensure(account.is_writable(), Check::ConstraintMut)
}

#[inline(always)]
pub fn executable(account: &AccountView) -> ProgramResult {
    ensure(account.executable(), Check::InvalidProgramExecutable)
}

/// Two addresses are the same.
#[inline(always)]
pub fn equal<E: Into<ProgramError>>(
    found: &Address,
    wanted: &Address,
    otherwise: E,
) -> ProgramResult {
    ensure(address_eq(found, wanted), otherwise)
}

/// An address is one of these.
#[inline(always)]
pub fn one_of<E: Into<ProgramError>>(
    found: &Address,
    wanted: &[&Address],
    otherwise: E,
) -> ProgramResult {
    ensure(wanted.iter().any(|one| address_eq(found, one)), otherwise)
}

/// Two accounts that are both written are not the same one.
#[inline(always)]
pub fn different(one: &AccountView, other: &AccountView) -> ProgramResult {
    ensure(
        !address_eq(one.address(), other.address()),
        Check::ConstraintDuplicateMutableAccount,
    )
}

/// The account's data, to be read while accounts are checked: nothing writes to it then, so it
/// needs no guard.
#[inline(always)]
pub(crate) fn data(account: &AccountView) -> Result<&[u8], ProgramError> {
    account.check_borrow()?;
    // SAFETY: nobody writes to it now (checked above), and those who call this hold it for a
    // few comparisons.
    Ok(unsafe { account.borrow_unchecked() })
}

/// Word by word, where AccountView's own comparison also finds out the first byte that differs.
#[inline(always)]
fn owned_by(account: &AccountView, program: &Address) -> bool {
    // SAFETY: the account is valid, and its owner does not change while it is compared.
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

/// The account is state of this program.
#[inline(always)]
pub fn state(account: &AccountView, program_id: &Address) -> ProgramResult {
    if owned_by(account, program_id) {
        return Ok(());
    }
    Err(
        if owned_by(account, &SYSTEM_PROGRAM) && account.is_data_empty() {
            Check::AccountNotInitialized.into()
        } else {
            Check::AccountOwnedByWrongProgram.into()
        },
    )
}

/// Nothing was made at this address yet; lamports may stand there already.
#[inline(always)]
pub fn is_new(account: &AccountView) -> bool {
    account.is_data_empty() && owned_by(account, &SYSTEM_PROGRAM)
}

/// The address is derived from these seeds, with a bump that this program found and kept.
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

/// The address is derived from these seeds; the bump is the first that gives an address off the
/// curve.
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

/// The account belongs to `program`, or to one of the two token programs.
#[inline(always)]
fn token_program(account: &AccountView, program: Option<&Address>) -> ProgramResult {
    let right = match program {
        Some(program) => owned_by(account, program),
        None => owned_by(account, &pinocchio_token::ID) || owned_by(account, &TOKEN_2022_PROGRAM),
    };
    if right {
        return Ok(());
    }
    Err(if is_new(account) {
        Check::AccountNotInitialized.into()
    } else {
        Check::AccountOwnedByWrongProgram.into()
    })
}

/// Token-2022 says behind an account of 165 bytes what it is: 1 a mint, 2 an account. A multisig has
/// a key of its maker's choice there, and is neither.
#[inline(always)]
fn is_kind(data: &[u8], size: usize, kind: u8) -> bool {
    data.len() == size
        || (data.len() != MULTISIG_SIZE && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))
}

/// An initialized token account, of this mint and this authority.
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

/// An initialized mint, with this mint authority and these decimals.
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

/// The number of tokens that an account holds.
#[inline(always)]
pub fn token_amount(account: &AccountView) -> Result<u64, ProgramError> {
    let data = data(account)?;
    match at(data, 64) {
        Some(amount) => Ok(u64::from_le_bytes(*amount)),
        None => Err(Check::AccountDidNotDeserialize.into()),
    }
}

/// A new account, with its rent; whoever sent lamports to its address before cannot hinder it.
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

/// A new associated token account.
pub struct CreateAssociated<'a> {
    pub account: &'a AccountView,
    pub payer: &'a AccountView,
    pub wallet: &'a AccountView,
    pub mint: &'a AccountView,
    pub system_program: &'a AccountView,
    pub token_program: &'a AccountView,
}

impl CreateAssociated<'_> {
    #[inline(never)]
    pub fn invoke(self) -> ProgramResult {
        ensure(is_new(self.account), Check::AccountDiscriminatorAlreadySet)?;
        pinocchio_associated_token_account::instructions::Create {
            funding_account: self.payer,
            account: self.account,
            wallet: self.wallet,
            mint: self.mint,
            system_program: self.system_program,
            token_program: self.token_program,
        }
        .invoke()
    }
}

/// A new token account.
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

/// A new mint without a freeze authority.
#[inline(never)]
pub fn create_mint(mut create: Create, authority: &Address, decimals: u8) -> ProgramResult {
    let (account, program) = (*create.account, create.owner);
    create.space = MINT_SIZE;
    create.invoke()?;
    InitializeMint2::new(&account, decimals, authority, None).invoke_with_program(program)
}

/// Takes all lamports out of an account of this program and gives it back to the system program,
/// without data: it cannot be used again in the same transaction either.
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

/// Gives an account of this program `space` bytes; `payer` pays for growth, and gets what
/// shrinking frees.
///
/// Only before any other program is called, since the account may grow by 10,240 bytes from the
/// size that it came with.
pub fn resize(account: &mut AccountView, payer: &mut AccountView, space: usize) -> ProgramResult {
    let before = account.data_len();
    if space == before {
        return Ok(());
    }
    let rent = Rent::get()?.try_minimum_balance(space)?;
    ensure(
        space.saturating_sub(before) <= MAX_PERMITTED_DATA_INCREASE,
        Check::AccountReallocExceedsLimit,
    )?;
    account.check_borrow_mut()?;
    // SAFETY: nothing borrows the data (checked above). The loader left room for the growth that
    // was allowed above behind the data, and the length stands where RuntimeAccount says.
    unsafe {
        if space > before {
            core::ptr::write_bytes(
                account.data_mut_ptr().add(before),
                0,
                space.saturating_sub(before),
            );
        }
        (*account.account_mut_ptr()).data_len = space as u64;
    }
    let has = account.lamports();
    if rent > has {
        let lamports = rent.saturating_sub(has);
        return pinocchio_system::instructions::Transfer {
            from: payer,
            to: account,
            lamports,
        }
        .invoke();
    }
    if space < before {
        let freed = has.saturating_sub(rent);
        let total = payer
            .lamports()
            .checked_add(freed)
            .ok_or(ProgramError::ArithmeticOverflow)?;
        payer.set_lamports(total);
        account.set_lamports(rent);
    }
    Ok(())
}
