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
        checks::{self, ensure},
        error::X402Error,
    },
    pinocchio::{cpi::Signer, error::ProgramError, AccountView, Address, ProgramResult},
    pinocchio_token::instructions::TransferChecked,
};

const ACCOUNT_SIZE: usize = 165;
const MINT_SIZE: usize = 82;
const EXTENSIONS: usize = 166;
const USABLE: u8 = 1;

fn address_at(data: &[u8], offset: usize) -> Option<&[u8; 32]> {
    data.get(offset..)?.first_chunk()
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
        checks::transfer_checked(
            &TransferChecked::new(
                self.from,
                self.mint,
                self.to,
                self.authority,
                self.amount,
                self.decimals,
            ),
            signers,
            self.token_program.address(),
        )
    }
}

/// The number of tokens that an account holds.
pub use crate::checks::token_amount as balance;
