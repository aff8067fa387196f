// Rendered by idl2mcp from spec.py; edit the source. [55e56d0b555373a7]
//! Take tokens out of a vault, and return how many are left in it.

use crate::codec::{Output, Reader, Writer};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, VaultError};
use crate::log::return_data;
use crate::state::State;
use crate::{checks, processor};
use pinocchio::cpi::Seed;
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

// TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA
const TOKEN_PROGRAM: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb, 0x79, 0xac,
    0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9,
]);

/// Data expected by this instruction:
///
/// 0. amount: u64 How many tokens.
pub struct Args {
    /// How many tokens.
    pub amount: u64,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 8 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let amount = u64::from_le_bytes(*r.array()?);
        Ok(Self { amount })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` vault The vault that gives the tokens.
/// 1. `[writable]` tokens
/// 2. `[writable]` destination The token account that gets them.
/// 3. `[]` mint
/// 4. `[signer]` authority The vault's authority.
/// 5. `[]` token_program
pub struct Accounts<'a> {
    /// This program.
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
    /// Checks all accounts, and creates those that are to be created. The cheapest checks come
    /// first, and nothing is changed before all of them hold.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        _args: &Args,
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
            &TOKEN_PROGRAM,
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

/// `run`, as the entry wants it: what goes in and comes out stands in registers.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<8>) -> u64 {
    let (program_id, arguments) = call.parts();
    exit_code(run(Context {
        program_id,
        accounts,
        arguments,
    }))
}

/// Decodes and checks, then lets the handler work.
#[inline(always)]
fn run(context: Context) -> ProgramResult {
    let Context {
        program_id,
        accounts,
        arguments,
    } = context;
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts, &args)?;
    let returned = processor::withdraw::process(&mut accounts, &args)?;
    let mut bytes = [0; 8];
    let w = &mut Writer::new(&mut bytes);
    w.put(&returned.to_le_bytes())?;
    return_data(&bytes);
    Ok(())
}
