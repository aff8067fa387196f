// Rendered by idl2mcp from spec.py; edit the source. [81c4dfb1af61f2a3]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

use {
    crate::{
        checks,
        entrypoint::{exit_code, Call},
        error::Check,
        ids, processor,
        state::State,
    },
    pinocchio::{
        cpi::{Seed, Signer},
        error::ProgramError,
        AccountView, Address, ProgramResult,
    },
};

pub struct Args {}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.is_empty(), Check::InstructionDidNotDeserialize)?;
        Ok(Self {})
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The new vault.
    pub vault: &'a mut AccountView,
    /// The vault's own token account.
    pub tokens: &'a mut AccountView,
    /// The mint of the tokens to keep.
    pub mint: &'a AccountView,
    /// The wallet that may withdraw; it pays the rent.
    pub authority: &'a mut AccountView,
    pub token_program: &'a AccountView,
    pub system_program: &'a AccountView,
    /// The bump of vault's address.
    pub vault_bump: u8,
    /// The bump of tokens's address.
    pub tokens_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [vault, tokens, mint, authority, token_program, system_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(vault)?;
        checks::writable(tokens)?;
        checks::signer(authority)?;
        checks::writable(authority)?;
        checks::equal(
            token_program.address(),
            &ids::TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(
            system_program.address(),
            &ids::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::different(vault, tokens)?;
        checks::mint_account(mint, None, None, Some(token_program.address()))?;
        let vault_bump = checks::found(
            vault,
            &[
                b"vault".as_slice(),
                authority.address().as_ref(),
                mint.address().as_ref(),
            ],
            program_id,
            Check::ConstraintSeeds,
        )?;
        let tokens_bump = checks::found(
            tokens,
            &[b"tokens".as_slice(), vault.address().as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;

        // vault: created, paid by authority
        checks::Create {
            account: vault,
            payer: authority,
            space: State::LEN,
            owner: program_id,
            signers: &[Signer::from(&[
                Seed::from(b"vault".as_slice()),
                Seed::from(authority.address().as_ref()),
                Seed::from(mint.address().as_ref()),
                Seed::from(core::slice::from_ref(&vault_bump)),
            ])],
        }
        .invoke()?;
        State::create(&mut vault.try_borrow_mut()?)?.bump = vault_bump;
        // tokens: created, paid by authority
        checks::create_token_account(
            checks::Create {
                account: tokens,
                payer: authority,
                space: 0,
                owner: token_program.address(),
                signers: &[Signer::from(&[
                    Seed::from(b"tokens".as_slice()),
                    Seed::from(vault.address().as_ref()),
                    Seed::from(core::slice::from_ref(&tokens_bump)),
                ])],
            },
            mint,
            vault.address(),
        )?;

        Ok(Self {
            program_id,
            vault,
            tokens,
            mint,
            authority,
            token_program,
            system_program,
            vault_bump,
            tokens_bump,
        })
    }

    /// The seeds of `vault`, to sign for it.
    #[inline(always)]
    pub fn vault_seeds(&self) -> [Seed<'_>; 4] {
        [
            Seed::from(b"vault".as_slice()),
            Seed::from(self.authority.address().as_ref()),
            Seed::from(self.mint.address().as_ref()),
            Seed::from(core::slice::from_ref(&self.vault_bump)),
        ]
    }

    /// The seeds of `tokens`, to sign for it.
    #[inline(always)]
    pub fn tokens_seeds(&self) -> [Seed<'_>; 3] {
        [
            Seed::from(b"tokens".as_slice()),
            Seed::from(self.vault.address().as_ref()),
            Seed::from(core::slice::from_ref(&self.tokens_bump)),
        ]
    }
}

/// Runs the instruction. Returns the exit code.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<8>) -> u64 {
    exit_code(run(accounts, call))
}

/// Decodes and checks, then calls the handler.
#[inline]
fn run(accounts: &mut [AccountView], call: Call<8>) -> ProgramResult {
    let (program_id, arguments) = call.parts();
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts)?;
    processor::initialize::process(&mut accounts, &args)
}
