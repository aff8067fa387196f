// Rendered by idl2mcp from spec.py; edit the source. [9a1d638f2b59e732]
//! Put more tokens into an open channel.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Channel;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

// TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA
const TOKEN_PROGRAM_0: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb, 0x79, 0xac,
    0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9,
]);

// TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb
const TOKEN_PROGRAM_1: Address = Address::new_from_array([
    0x06, 0xdd, 0xf6, 0xe1, 0xee, 0x75, 0x8f, 0xde, 0x18, 0x42, 0x5d, 0xbc, 0xe4, 0x6c, 0xcd, 0xda,
    0xb6, 0x1a, 0xfc, 0x4d, 0x83, 0xb9, 0x0d, 0x27, 0xfe, 0xbd, 0xf9, 0x28, 0xd8, 0xa1, 0x8b, 0xfc,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const PAYER_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const CHANNEL_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
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
/// 0. `[writable, signer]` payer The channel's payer.
/// 1. `[writable]` channel The channel.
/// 2. `[writable]` payer_token_account
/// 3. `[writable]` channel_token_account
/// 4. `[]` mint
/// 5. `[]` token_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The channel's payer.
    pub payer: &'a mut AccountView,
    /// The channel.
    pub channel: &'a mut AccountView,
    pub payer_token_account: &'a mut AccountView,
    pub channel_token_account: &'a mut AccountView,
    pub mint: &'a AccountView,
    pub token_program: &'a AccountView,
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
        let [payer, channel, payer_token_account, channel_token_account, mint, token_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(payer, X402Error::MissingRequiredSignature)?;
        checks::writable(payer)?;
        checks::writable(channel)?;
        checks::writable(payer_token_account)?;
        checks::writable(channel_token_account)?;
        checks::one_of(
            token_program.address(),
            &[&TOKEN_PROGRAM_0, &TOKEN_PROGRAM_1],
            X402Error::InvalidMintTokenProgram,
        )?;
        // channel: its state, and what its fields must equal
        checks::state(channel, program_id)?;
        {
            let data = checks::data(channel)?;
            let state = Channel::load(data)?;
            checks::equal(
                &state.payer,
                payer.address(),
                X402Error::InvalidChannelPayer,
            )?;
            checks::equal(&state.mint, mint.address(), X402Error::InvalidChannelMint)?;
        }
        checks::found(
            payer_token_account,
            &[
                payer.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &PAYER_TOKEN_ACCOUNT_SEEDS_PROGRAM,
            X402Error::PayerAccountMismatch,
        )?;
        checks::found(
            channel_token_account,
            &[
                channel.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &CHANNEL_TOKEN_ACCOUNT_SEEDS_PROGRAM,
            X402Error::ChannelAccountMismatch,
        )?;

        Ok(Self {
            program_id,
            payer,
            channel,
            payer_token_account,
            channel_token_account,
            mint,
            token_program,
        })
    }
}

/// `run`, as the entry wants it: what goes in and comes out stands in registers.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<1>) -> u64 {
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
    processor::top_up::process(&mut accounts, &args)?;
    Ok(())
}
