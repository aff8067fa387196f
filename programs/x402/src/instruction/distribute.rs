// Rendered by idl2mcp from spec.py; edit the source. [6d3dca8b71819cce]
//! Pay out what vouchers proved. Of a sealed channel the payer gets the rest, and the escrow
//! is closed. Anyone
//! may.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Channel;
use crate::types::DistributionEntry;
use crate::{checks, processor};
use alloc::vec::Vec;
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

// 8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz
const SELF_PROGRAM: Address = Address::new_from_array([
    0x73, 0xa3, 0xbe, 0xdd, 0xbc, 0x78, 0x8f, 0x33, 0xbc, 0x04, 0xb8, 0xf3, 0x93, 0x1d, 0x76, 0xc8,
    0x01, 0xb2, 0x6c, 0xdc, 0x6f, 0x9a, 0xc2, 0xdf, 0x23, 0x33, 0xe0, 0x4c, 0xe3, 0xd2, 0x20, 0xc3,
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

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const PAYEE_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

// ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL
const TREASURY_TOKEN_ACCOUNT_SEEDS_PROGRAM: Address = Address::new_from_array([
    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14, 0x8e, 0x0d, 0x83,
    0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e, 0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
]);

/// Data expected by this instruction:
///
/// 0. recipients: Vec\<DistributionEntry\> The entries that the channel was opened with.
pub struct Args {
    /// The entries that the channel was opened with.
    pub recipients: Vec<DistributionEntry>,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        let r = &mut Reader::new(data);
        let recipients = {
            let count = r.length::<4>()?;
            r.list(count, 34, DistributionEntry::decode)?
        };
        r.end()?;
        Ok(Self { recipients })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.length::<4>(self.recipients.len())?;
        for item in self.recipients.iter() {
            item.encode(w)?;
        }
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` channel The channel.
/// 1. `[writable]` payer The channel's payer.
/// 2. `[writable]` rent_payer Who paid for the channel's accounts.
/// 3. `[writable]` channel_token_account
/// 4. `[writable]` payer_token_account
/// 5. `[writable]` payee_token_account
/// 6. `[writable]` treasury_token_account Gets rounding remainders, and what a beneficiary cannot get.
/// 7. `[]` mint
/// 8. `[]` token_program
/// 9. `[]` event_authority
/// 10. `[]` self_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The channel.
    pub channel: &'a mut AccountView,
    /// The channel's payer.
    pub payer: &'a mut AccountView,
    /// Who paid for the channel's accounts.
    pub rent_payer: &'a mut AccountView,
    pub channel_token_account: &'a mut AccountView,
    pub payer_token_account: &'a mut AccountView,
    pub payee_token_account: &'a mut AccountView,
    /// Gets rounding remainders, and what a beneficiary cannot get.
    pub treasury_token_account: &'a mut AccountView,
    pub mint: &'a AccountView,
    pub token_program: &'a AccountView,
    pub event_authority: &'a AccountView,
    pub self_program: &'a AccountView,
    /// The associated token account of each entry's recipient, in order, writable.
    pub remaining: &'a mut [AccountView],
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
    /// The bump of event_authority's address.
    pub event_authority_bump: u8,
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
        let [channel, payer, rent_payer, channel_token_account, payer_token_account, payee_token_account, treasury_token_account, mint, token_program, event_authority, self_program, rest @ ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(channel)?;
        checks::writable(payer)?;
        checks::writable(rent_payer)?;
        checks::writable(channel_token_account)?;
        checks::writable(payer_token_account)?;
        checks::writable(payee_token_account)?;
        checks::writable(treasury_token_account)?;
        checks::one_of(
            token_program.address(),
            &[&TOKEN_PROGRAM_0, &TOKEN_PROGRAM_1],
            X402Error::InvalidMintTokenProgram,
        )?;
        checks::equal(
            self_program.address(),
            &SELF_PROGRAM,
            Check::InvalidProgramId,
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
            checks::equal(
                &state.rent_payer,
                rent_payer.address(),
                X402Error::InvalidChannelRentPayer,
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
        let payee_token_account_seed_0 = channel_payee;
        checks::found(
            payee_token_account,
            &[
                payee_token_account_seed_0.as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &PAYEE_TOKEN_ACCOUNT_SEEDS_PROGRAM,
            X402Error::PayeeAccountMismatch,
        )?;
        checks::found(treasury_token_account, &[b"\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef".as_slice(), token_program.address().as_ref(), mint.address().as_ref()], &TREASURY_TOKEN_ACCOUNT_SEEDS_PROGRAM, X402Error::TreasuryAccountMismatch)?;
        let event_authority_bump = checks::found(
            event_authority,
            &[b"event_authority".as_slice()],
            program_id,
            X402Error::InvalidEventAuthority,
        )?;

        Ok(Self {
            program_id,
            channel,
            payer,
            rent_payer,
            channel_token_account,
            payer_token_account,
            payee_token_account,
            treasury_token_account,
            mint,
            token_program,
            event_authority,
            self_program,
            remaining: rest,
            channel_bump,
            channel_seed_1,
            channel_seed_2,
            channel_seed_3,
            channel_seed_4,
            channel_seed_5,
            channel_seed_6,
            event_authority_bump,
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

    /// The seeds of `event_authority`, to sign for it.
    #[inline(always)]
    pub fn event_authority_seeds(&self) -> [Seed<'_>; 2] {
        [
            Seed::from(b"event_authority".as_slice()),
            Seed::from(core::slice::from_ref(&self.event_authority_bump)),
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
    processor::distribute::process(&mut accounts, &args)?;
    Ok(())
}
