//! Token accounts and mints of both token programs: reading them, and exact transfers.
//!
//! ```text
//! token account                      mint
//! +0    mint                         +36  supply
//! +32   owner                        +44  decimals
//! +64   amount, u64                  +45  initialized
//! +72   delegate: u32 tag, address
//! +108  state: 1 usable, 2 frozen
//! +121  delegated amount, u64
//! +165  Token-2022: 1 mint, 2 account; extensions from +166
//! ```

use {
    super::extensions::{self, Found},
    crate::{
        checks::ensure,
        error::{Check, X402Error},
        ids,
    },
    pinocchio::{cpi::Signer, error::ProgramError, AccountView, Address, ProgramResult},
    pinocchio_token::instructions::TransferChecked,
};

const ACCOUNT_SIZE: usize = 165;
const MINT_SIZE: usize = 82;
const EXTENSIONS: usize = 166;
const USABLE: u8 = 1;

fn u64_at(data: &[u8], offset: usize) -> Option<u64> {
    let bytes = data.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

fn address_at(data: &[u8], offset: usize) -> Option<&[u8; 32]> {
    data.get(offset..)?.first_chunk()
}

/// Who may take tokens beside the owner, and how many.
pub struct Delegate {
    pub address: Address,
    pub amount: u64,
}

/// The delegate of a token account.
pub fn delegate(account: &AccountView) -> Result<Option<Delegate>, ProgramError> {
    let data = account.try_borrow()?;
    if data.get(72..76) != Some(&[1, 0, 0, 0]) {
        return Ok(None);
    }
    match (address_at(&data, 76), u64_at(&data, 121)) {
        (Some(address), Some(amount)) => Ok(Some(Delegate {
            address: Address::new_from_array(*address),
            amount,
        })),
        _ => Err(Check::AccountDidNotDeserialize.into()),
    }
}

/// The token account has this owner. An account can be given to another owner.
pub fn is_of(account: &AccountView, owner: &Address) -> Result<bool, ProgramError> {
    Ok(address_at(&account.try_borrow()?, 32) == Some(owner.as_array()))
}

/// The mint of the token program that was given, or a mint that was closed.
pub fn mint_or_gone(mint: &AccountView, token_program: &Address) -> ProgramResult {
    let is_gone = !mint.owned_by(&ids::TOKEN_PROGRAM) && !mint.owned_by(&ids::TOKEN_2022_PROGRAM);
    ensure(
        is_gone || mint.owned_by(token_program),
        X402Error::WrongTokenProgram,
    )
}

/// A transfer of this mint to this account would arrive whole now.
pub fn can_arrive(to: &AccountView, mint: &AccountView) -> Result<bool, ProgramError> {
    Ok(is_usable(to)?
        && has_only(to, extensions::account_takes)?
        && has_only(mint, extensions::mint_in_transfer_now)?)
}

fn has_only(account: &AccountView, allows: fn(u16, &[u8]) -> bool) -> Result<bool, ProgramError> {
    let data = account.try_borrow()?;
    let trailer = data.get(EXTENSIONS..).unwrap_or_default();
    Ok(extensions::scan(trailer, allows) == Found::Allowed)
}

/// The token account is neither frozen nor uninitialized.
pub fn is_usable(account: &AccountView) -> Result<bool, ProgramError> {
    Ok(account.try_borrow()?.get(108) == Some(&USABLE))
}

/// Token-2022's CPI guard is on: no program can change what is approved.
pub fn is_guarded(account: &AccountView) -> Result<bool, ProgramError> {
    const CPI_GUARD: u16 = 11;
    let data = account.try_borrow()?;
    let trailer = data.get(EXTENSIONS..).unwrap_or_default();
    let is_open = |kind: u16, value: &[u8]| kind != CPI_GUARD || value.first() == Some(&0);
    Ok(extensions::scan(trailer, is_open) != Found::Allowed)
}

/// A mint of tokens that pass from wallet to wallet; the account was checked to be a mint of a token
/// program. Returns its decimals.
pub fn mint_to_pass(mint: &AccountView) -> Result<u8, ProgramError> {
    let data = mint.try_borrow()?;
    if data.len() > MINT_SIZE {
        let trailer = data.get(EXTENSIONS..).unwrap_or_default();
        ensure(
            extensions::scan(trailer, extensions::mint_in_transfer) == Found::Allowed,
            X402Error::UnsupportedMintExtension,
        )?;
    }
    data.get(44)
        .copied()
        .ok_or_else(|| Check::AccountDidNotDeserialize.into())
}

/// A mint of tokens that the program holds. Returns its decimals.
pub fn mint_to_hold(mint: &AccountView, token_program: &Address) -> Result<u8, ProgramError> {
    ensure(mint.owned_by(token_program), X402Error::MintAccountMismatch)?;
    let data = mint.try_borrow()?;
    if data.len() != MINT_SIZE {
        let is_old = token_program == &pinocchio_token::ID;
        ensure(!is_old, X402Error::MintAccountMismatch)?;
        ensure(
            data.get(ACCOUNT_SIZE) == Some(&1),
            X402Error::MintAccountMismatch,
        )?;
        let padding = data.get(MINT_SIZE..ACCOUNT_SIZE).unwrap_or_default();
        ensure(
            padding.iter().all(|byte| *byte == 0),
            X402Error::MalformedMintTokenAccountData,
        )?;
        let trailer = data.get(EXTENSIONS..).unwrap_or_default();
        ensure(
            extensions::scan(trailer, extensions::mint_in_escrow) == Found::Allowed,
            X402Error::MalformedMintTokenExtensions,
        )?;
    }
    ensure(data.get(45) == Some(&1), X402Error::MintAccountMismatch)?;
    data.get(44)
        .copied()
        .ok_or_else(|| X402Error::MintAccountMismatch.into())
}

/// Why tokens cannot be held in an account or paid to it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flaw {
    NotATokenAccount,
    NotInitialized,
    OtherOwner,
    RefusedExtension,
    MalformedExtensions,
}

/// The account at an address that was checked already is a usable token account of this owner.
pub fn holds(
    account: &AccountView,
    owner: &Address,
    mint: &Address,
    token_program: &Address,
) -> Result<(), Flaw> {
    let or = |condition: bool, flaw: Flaw| if condition { Ok(()) } else { Err(flaw) };
    or(account.owned_by(token_program), Flaw::NotATokenAccount)?;
    let data = account.try_borrow().map_err(|_| Flaw::NotATokenAccount)?;
    let is_plain = data.len() == ACCOUNT_SIZE;
    let is_extended = token_program != &pinocchio_token::ID && data.get(ACCOUNT_SIZE) == Some(&2);
    or(is_plain || is_extended, Flaw::NotATokenAccount)?;
    or(data.get(108) == Some(&USABLE), Flaw::NotInitialized)?;
    or(
        address_at(&data, 0) == Some(mint.as_array())
            && address_at(&data, 32) == Some(owner.as_array()),
        Flaw::OtherOwner,
    )?;
    let trailer = data.get(EXTENSIONS..).unwrap_or_default();
    match extensions::scan(trailer, extensions::account_in_escrow) {
        Found::Allowed => Ok(()),
        Found::Refused => Err(Flaw::RefusedExtension),
        Found::Malformed => Err(Flaw::MalformedExtensions),
    }
}

/// The program's error for a flaw: `errors` are those for another or unusable account, for an
/// address without a token account, and for extensions.
pub fn error_of(flaw: Flaw, errors: [X402Error; 3]) -> X402Error {
    let [mismatch, none, extensions] = errors;
    match flaw {
        Flaw::NotInitialized | Flaw::OtherOwner => mismatch,
        Flaw::NotATokenAccount => none,
        Flaw::RefusedExtension | Flaw::MalformedExtensions => extensions,
    }
}

/// As `holds`, with the program's errors.
pub fn must_hold(
    account: &AccountView,
    owner: &Address,
    mint: &Address,
    token_program: &Address,
    errors: [X402Error; 3],
) -> ProgramResult {
    holds(account, owner, mint, token_program).map_err(|flaw| error_of(flaw, errors).into())
}

pub const PAYER: [X402Error; 3] = [
    X402Error::PayerAccountMismatch,
    X402Error::InvalidPayerTokenAccount,
    X402Error::InvalidPayerTokenExtensions,
];

/// Tokens on their way from one account to another.
pub struct Move<'a> {
    pub from: &'a AccountView,
    pub mint: &'a AccountView,
    pub to: &'a AccountView,
    pub authority: &'a AccountView,
    pub amount: u64,
    pub decimals: u8,
    pub token_program: &'a AccountView,
}

impl Move<'_> {
    #[inline(never)]
    pub fn make(&self, signers: &[Signer]) -> ProgramResult {
        if self.amount == 0 {
            return Ok(());
        }
        TransferChecked::new(
            self.from,
            self.mint,
            self.to,
            self.authority,
            self.amount,
            self.decimals,
        )
        .invoke_signed_with_program(signers, self.token_program.address())
    }

    /// Between two wallets: what would go wrong in the token program is named here first, and the
    /// receiver must get exactly the amount.
    pub fn make_exact(&self, owner: &Address, signers: &[Signer]) -> ProgramResult {
        ensure(
            is_usable(self.from)? && is_usable(self.to)?,
            X402Error::AccountFrozen,
        )?;
        if self.authority.address() != owner {
            match delegate(self.from)? {
                Some(found) if &found.address == self.authority.address() => {
                    ensure(found.amount >= self.amount, X402Error::AllowanceTooSmall)?;
                }
                _ => return Err(X402Error::NotOwnerNorDelegate.into()),
            }
        }
        ensure(
            balance(self.from)? >= self.amount,
            X402Error::BalanceTooSmall,
        )?;
        let before = balance(self.to)?;
        self.make(signers)?;
        ensure(
            balance(self.to)?.checked_sub(before) == Some(self.amount),
            X402Error::FeeTaken,
        )
    }
}

/// The number of tokens that an account holds.
pub use crate::checks::token_amount as balance;
