// Rendered by idl2mcp from spec.py; edit the source. [cec45078f75619b3]
//! Pay out what vouchers proved. If the channel is sealed, also refund the payer and close the
//! escrow. Anyone
//! may call it. What a missing or frozen token account cannot take stays in the channel.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        ids, processor,
        state::Channel,
        types::DistributionEntry,
    },
    alloc::vec::Vec,
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {
    /// The entries that the channel was opened with.
    pub recipients: Vec<DistributionEntry>,
}

impl Args {
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

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.length::<4>(self.recipients.len())?;
        for item in self.recipients.iter() {
            item.encode(w)?;
        }
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The channel.
    pub channel: &'a mut AccountView,
    /// The channel's payer.
    pub payer: &'a mut AccountView,
    /// The wallet that paid for the channel's accounts.
    pub rent_payer: &'a mut AccountView,
    pub channel_token_account: &'a mut AccountView,
    pub payer_token_account: &'a mut AccountView,
    pub payee_token_account: &'a mut AccountView,
    /// Gets rounding remainders, and the share of a recipient whose account is frozen.
    pub treasury_token_account: &'a mut AccountView,
    pub mint: &'a AccountView,
    pub token_program: &'a AccountView,
    pub event_authority: &'a AccountView,
    pub self_program: &'a AccountView,
    /// The recipients' associated token accounts, in the order of the entries, writable.
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
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
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
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::InvalidMintTokenProgram,
        )?;
        checks::equal(self_program.address(), program_id, Check::InvalidProgramId)?;
        for account in rest.iter() {
            checks::writable(account)?;
        }
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
        let payee_token_account_seed_0 = channel_payee;
        checks::found(
            payee_token_account,
            &[
                payee_token_account_seed_0.as_ref(),
                token_program.address().as_ref(),
                mint.address().as_ref(),
            ],
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            X402Error::PayeeAccountMismatch,
        )?;
        checks::found(treasury_token_account, &[b"\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef\xbe\xef".as_slice(), token_program.address().as_ref(), mint.address().as_ref()], &ids::ASSOCIATED_TOKEN_PROGRAM, X402Error::TreasuryAccountMismatch)?;
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
    processor::distribute::process(&mut accounts, &args)
}
