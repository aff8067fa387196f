// Rendered by idl2mcp from spec.py; edit the source. [4a29ce393e30f8b7]
//! Seal a closing channel after its grace period. Anyone may call it.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::Check,
        processor,
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
    /// The channel.
    pub channel: &'a mut AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [channel, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(channel)?;
        // channel: its state
        checks::state(channel, program_id)?;
        {
            let data = checks::data(channel)?;
            Channel::load(data)?;
        }

        Ok(Self {
            program_id,
            channel,
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
    processor::seal::process(&mut accounts, &args)
}
