// Rendered by idl2mcp from spec.py; edit the source. [984a1db0354936cc]
//! Open a channel: put tokens into escrow, from which vouchers of the authorized signer pay
//! the payee.
//!
//! When to use: Before many small payments to one payee: each then needs a signed voucher
//! instead of a transaction.

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
    pinocchio::{
        cpi::{Seed, Signer},
        error::ProgramError,
        AccountView, Address, ProgramResult,
    },
};

pub struct Args {
    /// Any number. Another number gives another channel of the same parties.
    pub salt: u64,
    /// Number of tokens.
    pub deposit: u64,
    /// Time that the payee has for a last voucher after the payer asks to close.
    pub grace_period: u32,
    /// One of the last 1,500 slots.
    pub open_slot: u64,
    /// Recipients of shares of what the payee earns. Without any, the payee gets all.
    pub recipients: Vec<DistributionEntry>,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        let r = &mut Reader::new(data);
        let salt = u64::from_le_bytes(*r.array()?);
        let deposit = u64::from_le_bytes(*r.array()?);
        let grace_period = u32::from_le_bytes(*r.array()?);
        let open_slot = u64::from_le_bytes(*r.array()?);
        let recipients = {
            let count = r.length::<4>()?;
            r.list(count, 34, DistributionEntry::decode)?
        };
        r.end()?;
        Ok(Self {
            salt,
            deposit,
            grace_period,
            open_slot,
            recipients,
        })
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.salt.to_le_bytes())?;
        w.put(&self.deposit.to_le_bytes())?;
        w.put(&self.grace_period.to_le_bytes())?;
        w.put(&self.open_slot.to_le_bytes())?;
        w.length::<4>(self.recipients.len())?;
        for item in self.recipients.iter() {
            item.encode(w)?;
        }
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The wallet that puts the tokens in.
    pub payer: &'a mut AccountView,
    /// The wallet that pays for the accounts; may be the payer.
    pub rent_payer: &'a mut AccountView,
    /// The wallet that gets what the entries leave.
    pub payee: &'a AccountView,
    /// The mint of the tokens.
    pub mint: &'a AccountView,
    /// The Ed25519 key that signs vouchers.
    pub authorized_signer: &'a AccountView,
    /// The new channel.
    pub channel: &'a mut AccountView,
    /// The payer's associated token account.
    pub payer_token_account: &'a mut AccountView,
    /// The channel's associated token account; it is created.
    pub channel_token_account: &'a mut AccountView,
    pub token_program: &'a AccountView,
    pub system_program: &'a AccountView,
    pub rent: &'a AccountView,
    pub associated_token_program: &'a AccountView,
    pub event_authority: &'a AccountView,
    pub self_program: &'a AccountView,
    /// The bump of channel's address.
    pub channel_bump: u8,
    /// A seed of channel.
    pub channel_seed_5: [u8; 8],
    /// A seed of channel.
    pub channel_seed_6: [u8; 8],
    /// The bump of event_authority's address.
    pub event_authority_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
        args: &Args,
    ) -> Result<Self, ProgramError> {
        let [payer, rent_payer, payee, mint, authorized_signer, channel, payer_token_account, channel_token_account, token_program, system_program, rent, associated_token_program, event_authority, self_program, ..] =
            accounts
        else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(payer, X402Error::MissingRequiredSignature)?;
        checks::writable(payer)?;
        checks::signer_or(rent_payer, X402Error::MissingRequiredSignature)?;
        checks::writable(rent_payer)?;
        checks::writable(channel)?;
        checks::writable(payer_token_account)?;
        checks::writable(channel_token_account)?;
        checks::one_of(
            token_program.address(),
            &[&ids::TOKEN_PROGRAM, &ids::TOKEN_2022_PROGRAM],
            X402Error::InvalidMintTokenProgram,
        )?;
        checks::equal(
            system_program.address(),
            &ids::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(rent.address(), &ids::RENT, Check::AccountSysvarMismatch)?;
        checks::equal(
            associated_token_program.address(),
            &ids::ASSOCIATED_TOKEN_PROGRAM,
            Check::InvalidProgramId,
        )?;
        checks::equal(self_program.address(), program_id, Check::InvalidProgramId)?;
        let channel_seed_5 = args.salt.to_le_bytes();
        let channel_seed_6 = args.open_slot.to_le_bytes();
        let channel_bump = checks::found(
            channel,
            &[
                b"channel".as_slice(),
                payer.address().as_ref(),
                payee.address().as_ref(),
                mint.address().as_ref(),
                authorized_signer.address().as_ref(),
                channel_seed_5.as_slice(),
                channel_seed_6.as_slice(),
            ],
            program_id,
            X402Error::ChannelAddressMismatch,
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
        let event_authority_bump = checks::found(
            event_authority,
            &[b"event_authority".as_slice()],
            program_id,
            X402Error::InvalidEventAuthority,
        )?;

        // channel: created, paid by rent_payer
        checks::Create {
            account: channel,
            payer: rent_payer,
            space: Channel::LEN,
            owner: program_id,
            signers: &[Signer::from(&[
                Seed::from(b"channel".as_slice()),
                Seed::from(payer.address().as_ref()),
                Seed::from(payee.address().as_ref()),
                Seed::from(mint.address().as_ref()),
                Seed::from(authorized_signer.address().as_ref()),
                Seed::from(channel_seed_5.as_slice()),
                Seed::from(channel_seed_6.as_slice()),
                Seed::from(core::slice::from_ref(&channel_bump)),
            ])],
        }
        .invoke()?;
        Channel::create(&mut channel.try_borrow_mut()?)?.bump = channel_bump;

        Ok(Self {
            program_id,
            payer,
            rent_payer,
            payee,
            mint,
            authorized_signer,
            channel,
            payer_token_account,
            channel_token_account,
            token_program,
            system_program,
            rent,
            associated_token_program,
            event_authority,
            self_program,
            channel_bump,
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
            Seed::from(self.payer.address().as_ref()),
            Seed::from(self.payee.address().as_ref()),
            Seed::from(self.mint.address().as_ref()),
            Seed::from(self.authorized_signer.address().as_ref()),
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
    let mut accounts = Accounts::validate(program_id, accounts, &args)?;
    processor::open::process(&mut accounts, &args)
}
