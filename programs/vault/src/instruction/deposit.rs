// Rendered by idl2mcp from spec.py; edit the source. [11579ba7be25e8b2]
//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.

use {
    crate::{
        checks,
        codec::Reader,
        entrypoint::{exit_code, Call},
        error::Check,
        ids, processor,
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
    /// The vault that gets the tokens.
    pub vault: &'a mut AccountView,
    pub tokens: &'a mut AccountView,
    /// The token account that gives them.
    pub source: &'a mut AccountView,
    pub mint: &'a AccountView,
    /// The wallet that owns the source.
    pub depositor: &'a AccountView,
    pub token_program: &'a AccountView,
    /// The bump of vault's address.
    pub vault_bump: u8,
    /// A seed of vault.
    pub vault_seed_1: Address,
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
        let [vault, tokens, source, mint, depositor, token_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(vault)?;
        checks::writable(tokens)?;
        checks::writable(source)?;
        checks::signer(depositor)?;
        checks::equal(
            token_program.address(),
            &ids::TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::different(vault, tokens)?;
        checks::different(vault, source)?;
        checks::different(tokens, source)?;
        // vault: its state, and what its fields must equal
        checks::state(vault, program_id)?;
        let (vault_bump, vault_authority) = {
            let data = checks::data(vault)?;
            let state = State::load(data)?;
            checks::equal(&state.mint, mint.address(), Check::ConstraintHasOne)?;
            (state.bump, state.authority)
        };
        checks::token_account(
            tokens,
            Some(mint.address()),
            Some(vault.address()),
            Some(token_program.address()),
        )?;
        checks::token_account(
            source,
            Some(mint.address()),
            Some(depositor.address()),
            Some(token_program.address()),
        )?;
        checks::mint_account(mint, None, None, Some(token_program.address()))?;
        let vault_seed_1 = vault_authority;
        checks::derived(
            vault,
            &[
                b"vault".as_slice(),
                vault_seed_1.as_ref(),
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
            source,
            mint,
            depositor,
            token_program,
            vault_bump,
            vault_seed_1,
            tokens_bump,
        })
    }

    /// The seeds of `vault`, to sign for it.
    #[inline(always)]
    pub fn vault_seeds(&self) -> [Seed<'_>; 4] {
        [
            Seed::from(b"vault".as_slice()),
            Seed::from(self.vault_seed_1.as_ref()),
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
    processor::deposit::process(&mut accounts, &args)
}
