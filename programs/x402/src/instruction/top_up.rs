// Rendered by idl2mcp from spec.py; edit the source. [5457428b58e54c8d]
//! Put more tokens into an open channel.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::Channel,
    },
    pinocchio::{error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {
    /// Number of tokens.
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

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}

pub struct Accounts<'a> {
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
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
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
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
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
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            X402Error::PayerAccountMismatch,
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
    processor::top_up::process(&mut accounts, &args)
}
