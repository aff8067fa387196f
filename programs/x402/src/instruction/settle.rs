// Rendered by idl2mcp from spec.py; edit the source. [c3aedc1fe2c284c4]
//! Settle a voucher, which the Ed25519 instruction directly before this one proves. Anyone may
//! call it.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::Check,
        ids, processor,
        state::Channel,
    },
    pinocchio::{error::ProgramError, AccountView, Address, ProgramResult},
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
    /// The channel of the voucher.
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
        let [channel, instructions_sysvar, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(channel)?;
        checks::equal(
            instructions_sysvar.address(),
            &ids::INSTRUCTIONS_SYSVAR,
            Check::AccountSysvarMismatch,
        )?;
        // channel: its state
        checks::state(channel, program_id)?;
        {
            let data = checks::data(channel)?;
            Channel::load(data)?;
        }

        Ok(Self {
            program_id,
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
    processor::settle::process(&mut accounts, &args)
}
