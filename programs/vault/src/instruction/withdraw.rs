// Rendered by idl2mcp from spec.py; edit the source. [cc4b6f9d383856d2]
//! Take tokens out of a vault, and return how many are left in it.

use {
    crate::{
        checks,
        codec::{Output, Reader, Writer},
        entrypoint::{exit_code, Call},
        error::{Check, VaultError},
        ids,
        log::return_data,
        processor,
        state::State,
    },
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {
    /// How many tokens.
    pub amount: u64,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 8, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let amount = u64::from_le_bytes(*r.array()?);
        Ok(Self { amount })
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The vault that gives the tokens.
    pub vault: &'a mut AccountView,
    pub tokens: &'a mut AccountView,
    /// The token account that gets them.
    pub destination: &'a mut AccountView,
    pub mint: &'a AccountView,
    /// The vault's authority.
    pub authority: &'a AccountView,
    pub token_program: &'a AccountView,
    /// The bump of vault's address.
    pub vault_bump: u8,
    /// The bump of tokens's address.
    pub tokens_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [vault, tokens, destination, mint, authority, token_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(vault)?;
        checks::writable(tokens)?;
        checks::writable(destination)?;
        checks::signer(authority)?;
        checks::equal(
            token_program.address(),
            &ids::TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::different(vault, tokens)?;
        checks::different(vault, destination)?;
        checks::different(tokens, destination)?;
        // vault: its state, and what its fields must equal
        checks::state(vault, program_id)?;
        let vault_bump = {
            let data = checks::data(vault)?;
            let state = State::load(data)?;
            checks::equal(
                &state.authority,
                authority.address(),
                VaultError::WrongAuthority,
            )?;
            checks::equal(&state.mint, mint.address(), Check::ConstraintHasOne)?;
            state.bump
        };
        checks::token_account(
            tokens,
            Some(mint.address()),
            Some(vault.address()),
            Some(token_program.address()),
        )?;
        checks::token_account(
            destination,
            Some(mint.address()),
            None,
            Some(token_program.address()),
        )?;
        checks::mint_account(mint, None, None, Some(token_program.address()))?;
        checks::derived(
            vault,
            &[
                b"vault".as_slice(),
                authority.address().as_ref(),
                mint.address().as_ref(),
            ],
            vault_bump,
            program_id,
            Check::ConstraintSeeds,
        )?;
        let tokens_bump = checks::found(
            tokens,
            &[b"tokens".as_slice(), vault.address().as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;

        Ok(Self {
            program_id,
            vault,
            tokens,
            destination,
            mint,
            authority,
            token_program,
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
    let returned = processor::withdraw::process(&mut accounts, &args)?;
    let mut bytes = [0; 8];
    let w = &mut Writer::new(&mut bytes);
    w.put(&returned.to_le_bytes())?;
    return_data(&bytes);
    Ok(())
}
