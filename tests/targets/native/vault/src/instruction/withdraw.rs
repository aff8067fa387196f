// Rendered by idl2mcp from spec.py; edit the source. [fbb57c257f09ac41]
//! Take tokens out of a vault, and return how many are left in it.

use {
    crate::{
        checks,
        codec::{Output, Reader, Writer},
        error::{Check, VaultError},
        ids,
        log::return_data,
        processor,
        state::State,
    },
    solana_program::{
        account_info::AccountInfo, entrypoint::ProgramResult, program_error::ProgramError,
        pubkey::Pubkey as Address,
    },
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

pub struct Accounts<'a, 'info> {
    pub program_id: &'a Address,
    /// The vault that gives the tokens.
    pub vault: &'a AccountInfo<'info>,
    pub tokens: &'a AccountInfo<'info>,
    /// The token account that gets them.
    pub destination: &'a AccountInfo<'info>,
    pub mint: &'a AccountInfo<'info>,
    /// The vault's authority.
    pub authority: &'a AccountInfo<'info>,
    pub token_program: &'a AccountInfo<'info>,
    /// The bump of vault's address.
    pub vault_bump: u8,
    /// The bump of tokens's address.
    pub tokens_bump: u8,
}

impl<'a, 'info> Accounts<'a, 'info> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a [AccountInfo<'info>],
    ) -> Result<Self, ProgramError> {
        let [vault, tokens, destination, mint, authority, token_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(vault)?;
        checks::writable(tokens)?;
        checks::writable(destination)?;
        checks::signer(authority)?;
        checks::equal(
            token_program.key,
            &ids::TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::different(vault, tokens)?;
        checks::different(vault, destination)?;
        checks::different(tokens, destination)?;
        // vault: its state, and what its fields must equal
        checks::state(vault, program_id)?;
        let vault_bump = {
            let data = vault.try_borrow_data()?;
            let state = State::load(&data)?;
            checks::equal(&state.authority, authority.key, VaultError::WrongAuthority)?;
            checks::equal(&state.mint, mint.key, Check::ConstraintHasOne)?;
            state.bump
        };
        checks::token_account(
            tokens,
            Some(mint.key),
            Some(vault.key),
            Some(token_program.key),
        )?;
        checks::token_account(destination, Some(mint.key), None, Some(token_program.key))?;
        checks::mint_account(mint, None, None, Some(token_program.key))?;
        checks::derived(
            vault,
            &[
                b"vault".as_slice(),
                authority.key.as_ref(),
                mint.key.as_ref(),
            ],
            vault_bump,
            program_id,
            Check::ConstraintSeeds,
        )?;
        let tokens_bump = checks::found(
            tokens,
            &[b"tokens".as_slice(), vault.key.as_ref()],
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
    pub fn vault_seeds(&self) -> [&[u8]; 4] {
        [
            b"vault".as_slice(),
            self.authority.key.as_ref(),
            self.mint.key.as_ref(),
            core::slice::from_ref(&self.vault_bump),
        ]
    }

    /// The seeds of `tokens`, to sign for it.
    #[inline(always)]
    pub fn tokens_seeds(&self) -> [&[u8]; 3] {
        [
            b"tokens".as_slice(),
            self.vault.key.as_ref(),
            core::slice::from_ref(&self.tokens_bump),
        ]
    }
}

/// Decodes and checks, then calls the handler.
#[inline(never)]
pub fn dispatch(program_id: &Address, accounts: &[AccountInfo], arguments: &[u8]) -> ProgramResult {
    let args = Args::decode(arguments)?;
    let accounts = Accounts::validate(program_id, accounts)?;
    let returned = processor::withdraw::process(&accounts, &args)?;
    let mut bytes = [0; 8];
    let w = &mut Writer::new(&mut bytes);
    w.put(&returned.to_le_bytes())?;
    return_data(&bytes);
    Ok(())
}
