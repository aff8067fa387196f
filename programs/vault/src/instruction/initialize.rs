// Rendered by idl2mcp from spec.py; edit the source. [79627e0790b7eae1]
//! Create an empty vault for a wallet and a mint.
//!
//! When to use: Once for each wallet and mint, before the first deposit.

use crate::codec::Output;
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::Check;
use crate::state::State;
use crate::{checks, processor};
use pinocchio::cpi::{Seed, Signer};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

// TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA
const TOKEN_PROGRAM: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb, 0x79, 0xac,
    0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9,
]);

/// This instruction expects no data.
pub struct Args {}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if !data.is_empty() {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        Ok(Self {})
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&[])
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` vault The new vault.
/// 1. `[writable]` tokens The vault's own token account.
/// 2. `[]` mint The mint of the tokens to keep.
/// 3. `[writable, signer]` authority The wallet that may withdraw; it pays the rent.
/// 4. `[]` token_program
/// 5. `[]` system_program
pub struct Accounts<'a> {
    /// This program.
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
    /// Checks all accounts, and creates those that are to be created. The cheapest checks come
    /// first, and nothing is changed before all of them hold.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        _args: &Args,
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
            &TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(
            system_program.address(),
            &checks::SYSTEM_PROGRAM,
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
    processor::initialize::process(&mut accounts, &args)?;
    Ok(())
}
