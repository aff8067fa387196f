// Rendered by idl2mcp from spec.py; edit the source. [de3152e7338ce9d2]
//! Put tokens into a vault. Anyone may; only the vault's authority can take them out.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::Check;
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
/// 0. `[writable]` vault The vault that gets the tokens.
/// 1. `[writable]` tokens
/// 2. `[writable]` source The token account that gives them.
/// 3. `[]` mint
/// 4. `[signer]` depositor The wallet that owns the source.
/// 5. `[]` token_program
pub struct Accounts<'a> {
    /// This program.
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
    /// Checks all accounts, and creates those that are to be created. The cheapest checks come
    /// first, and nothing is changed before all of them hold.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        _args: &Args,
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
            &TOKEN_PROGRAM,
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
    processor::deposit::process(&mut accounts, &args)?;
    Ok(())
}
