// Rendered by idl2mcp from spec.py; edit the source. [d2a5c0abb84a3afc]
//! Take the rest out of a sealed channel as its payer, once: the tokens that no voucher proved.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::Channel,
    },
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.is_empty(), Check::InstructionDidNotDeserialize)?;
        Ok(Self {})
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&[])
    }
}

pub struct Accounts<'a> {
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
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
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
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
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
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            X402Error::ChannelAccountMismatch,
        )?;
        checks::found(
            payer_token_account,
            &[
                payer.address().as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &ids::ASSOCIATED_TOKEN_PROGRAM,
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

/// Runs the instruction. Returns the exit code.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<1>) -> u64 {
    exit_code(run(accounts, call))
}

/// Decodes and checks, then calls the handler.
#[inline]
fn run(accounts: &mut [AccountView], call: Call<1>) -> ProgramResult {
    let (program_id, arguments) = call.parts();
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts)?;
    processor::withdraw_payer::process(&mut accounts, &args)
}
