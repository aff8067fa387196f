// Rendered by idl2mcp from spec.py; edit the source. [e43cebb3472fd9e7]
//! Seal a channel as its payee, with a last voucher or without one. It accepts no more
//! vouchers.

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
    /// 0 without a voucher. Otherwise the Ed25519 instruction directly before this one proves one.
    pub has_voucher: u8,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 1, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let has_voucher = r.byte()?;
        Ok(Self { has_voucher })
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.has_voucher.to_le_bytes())?;
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The channel's payee.
    pub payee: &'a AccountView,
    /// The channel.
    pub channel: &'a mut AccountView,
    pub instructions_sysvar: &'a AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [payee, channel, instructions_sysvar, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(payee, X402Error::MissingRequiredSignature)?;
        checks::writable(channel)?;
        checks::equal(
            instructions_sysvar.address(),
            &ids::INSTRUCTIONS_SYSVAR,
            Check::AccountSysvarMismatch,
        )?;
        // channel: its state, and what its fields must equal
        checks::state(channel, program_id)?;
        {
            let data = checks::data(channel)?;
            let state = Channel::load(data)?;
            checks::equal(
                &state.payee,
                payee.address(),
                X402Error::InvalidChannelPayee,
            )?;
        }

        Ok(Self {
            program_id,
            payee,
            channel,
            instructions_sysvar,
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
    processor::settle_and_seal::process(&mut accounts, &args)
}
