// Rendered by idl2mcp from spec.py; edit the source. [939f719d0d1709af]
//! Take out of a sealed channel, as its payer, what no voucher proved. Once.

use crate::codec::Output;
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Channel;
use crate::{checks, processor};
use pinocchio::cpi::Seed;
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
const CHANNEL_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const PAYER_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
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
/// 0. `[signer]` payer The channel's payer.
/// 1. `[writable]` channel The channel.
/// 2. `[writable]` channel_token_account
/// 3. `[writable]` payer_token_account
/// 4. `[]` mint
/// 5. `[]` token_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The channel's payer.
    pub payer: &'a AccountView,
    /// The channel.
    pub channel: &'a mut AccountView,
    pub channel_token_account: &'a mut AccountView,
    pub payer_token_account: &'a mut AccountView,
    pub mint: &'a AccountView,
    pub token_program: &'a AccountView,
    /// The bump of channel's address.
    pub channel_bump: u8,
    /// A seed of channel.
    pub channel_seed_1: Address,
    /// A seed of channel.
    pub channel_seed_2: Address,
    /// A seed of channel.
    pub channel_seed_3: Address,
    /// A seed of channel.
    pub channel_seed_4: Address,
    /// A seed of channel.
    pub channel_seed_5: [u8; 8],
    /// A seed of channel.
    pub channel_seed_6: [u8; 8],
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
        let [payer, channel, channel_token_account, payer_token_account, mint, token_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(payer, X402Error::MissingRequiredSignature)?;
        checks::writable(channel)?;
        checks::writable(channel_token_account)?;
        checks::writable(payer_token_account)?;
        checks::one_of(
            token_program.address(),
            &[&TOKEN_PROGRAM_0, &TOKEN_PROGRAM_1],
            X402Error::InvalidMintTokenProgram,
        )?;
        // channel: its state, and what its fields must equal
        checks::state(channel, program_id)?;
        let (
            channel_bump,
            channel_payer,
            channel_payee,
            channel_mint,
            channel_authorized_signer,
            channel_salt,
            channel_open_slot,
        ) = {
            let data = checks::data(channel)?;
            let state = Channel::load(data)?;
            checks::equal(
                &state.payer,
                payer.address(),
                X402Error::InvalidChannelPayer,
            )?;
            checks::equal(&state.mint, mint.address(), X402Error::InvalidChannelMint)?;
            (
                state.bump,
                state.payer,
                state.payee,
                state.mint,
                state.authorized_signer,
                state.salt.get(),
                state.open_slot.get(),
            )
        };
        let channel_seed_1 = channel_payer;
        let channel_seed_2 = channel_payee;
        let channel_seed_3 = channel_mint;
        let channel_seed_4 = channel_authorized_signer;
        let channel_seed_5 = channel_salt.to_le_bytes();
        let channel_seed_6 = channel_open_slot.to_le_bytes();
        checks::derived(
            channel,
            &[
                b"channel".as_slice(),
                channel_seed_1.as_ref(),
                channel_seed_2.as_ref(),
                channel_seed_3.as_ref(),
                channel_seed_4.as_ref(),
                channel_seed_5.as_slice(),
                channel_seed_6.as_slice(),
            ],
            channel_bump,
            program_id,
            X402Error::ChannelAddressMismatch,
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

        Ok(Self {
            program_id,
            payer,
            channel,
            channel_token_account,
            payer_token_account,
            mint,
            token_program,
            channel_bump,
            channel_seed_1,
            channel_seed_2,
            channel_seed_3,
            channel_seed_4,
            channel_seed_5,
            channel_seed_6,
        })
    }

    /// The seeds of `channel`, to sign for it.
    #[inline(always)]
    pub fn channel_seeds(&self) -> [Seed<'_>; 8] {
        [
            Seed::from(b"channel".as_slice()),
            Seed::from(self.channel_seed_1.as_ref()),
            Seed::from(self.channel_seed_2.as_ref()),
            Seed::from(self.channel_seed_3.as_ref()),
            Seed::from(self.channel_seed_4.as_ref()),
            Seed::from(self.channel_seed_5.as_slice()),
            Seed::from(self.channel_seed_6.as_slice()),
            Seed::from(core::slice::from_ref(&self.channel_bump)),
        ]
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
    processor::withdraw_payer::process(&mut accounts, &args)?;
    Ok(())
}
