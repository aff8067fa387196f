// Rendered by idl2mcp from spec.py; edit the source. [e9cd012a1c3f091b]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

use {
    crate::{checks, error::Check, ids, processor, state::State},
    solana_program::{
        account_info::AccountInfo, entrypoint::ProgramResult, program_error::ProgramError,
        pubkey::Pubkey as Address,
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

pub struct Accounts<'a, 'info> {
    pub program_id: &'a Address,
    /// The new vault.
    pub vault: &'a AccountInfo<'info>,
    /// The vault's own token account.
    pub tokens: &'a AccountInfo<'info>,
    /// The mint of the tokens to keep.
    pub mint: &'a AccountInfo<'info>,
    /// The wallet that may withdraw; it pays the rent.
    pub authority: &'a AccountInfo<'info>,
    pub token_program: &'a AccountInfo<'info>,
    pub system_program: &'a AccountInfo<'info>,
    /// The bump of vault's address.
    pub vault_bump: u8,
    /// The bump of tokens's address.
    pub tokens_bump: u8,
}

impl<'a, 'info> Accounts<'a, 'info> {
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a [AccountInfo<'info>],
    ) -> Result<Self, ProgramError> {
        let [vault, tokens, mint, authority, token_program, system_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(vault)?;
        checks::writable(tokens)?;
        checks::signer(authority)?;
        checks::writable(authority)?;
        checks::equal(
            token_program.key,
            &ids::TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(
            system_program.key,
            &ids::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::different(vault, tokens)?;
        checks::mint_account(mint, None, None, Some(token_program.key))?;
        let vault_bump = checks::found(
            vault,
            &[
                b"vault".as_slice(),
                authority.key.as_ref(),
                mint.key.as_ref(),
            ],
            program_id,
            Check::ConstraintSeeds,
        )?;
        let tokens_bump = checks::found(
            tokens,
            &[b"tokens".as_slice(), vault.key.as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;

        // vault: created, paid by authority
        checks::Create {
            account: vault,
            payer: authority,
            space: State::LEN,
            owner: program_id,
            signers: &[&[
                b"vault".as_slice(),
                authority.key.as_ref(),
                mint.key.as_ref(),
                core::slice::from_ref(&vault_bump),
            ]],
        }
        .invoke()?;
        State::create(&mut vault.try_borrow_mut_data()?)?.bump = vault_bump;
        // tokens: created, paid by authority
        checks::create_token_account(
            checks::Create {
                account: tokens,
                payer: authority,
                space: 0,
                owner: token_program.key,
                signers: &[&[
                    b"tokens".as_slice(),
                    vault.key.as_ref(),
                    core::slice::from_ref(&tokens_bump),
                ]],
            },
            mint,
            vault.key,
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
    processor::initialize::process(&accounts, &args)
}
