//! Token accounts of both token programs, and transfers from the escrow.

use {
    crate::{checks, error::X402Error},
    pinocchio::{cpi::Signer, AccountView, Address, ProgramResult},
    pinocchio_token::instructions::TransferChecked,
};

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
    mint: &AccountView,
    token_program: &AccountView,
) -> Result<(), Flaw> {
    match crate::helpers::flaw_of(account, *owner, mint, token_program) {
        Ok(0) => Ok(()),
        Ok(1) | Err(_) => Err(Flaw::NotATokenAccount),
        Ok(2) => Err(Flaw::NotInitialized),
        Ok(3) => Err(Flaw::OtherOwner),
        Ok(4) => Err(Flaw::RefusedExtension),
        Ok(_) => Err(Flaw::MalformedExtensions),
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
    mint: &AccountView,
    token_program: &AccountView,
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
