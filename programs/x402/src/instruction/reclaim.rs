// Rendered by idl2mcp from spec.py; edit the source. [a20982db5be7337d]
//! Close the account of a drained channel after its window of 1,500 slots. Anyone may call it.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
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
    /// The wallet that paid for it, and gets its lamports.
    pub rent_payer: &'a mut AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [channel, rent_payer, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(channel)?;
        checks::writable(rent_payer)?;
        // channel: its state, and what its fields must equal
        checks::state(channel, program_id)?;
        {
            let data = checks::data(channel)?;
            let state = Channel::load(data)?;
            checks::equal(
                &state.rent_payer,
                rent_payer.address(),
                X402Error::InvalidChannelRentPayer,
            )?;
        }

        Ok(Self {
            program_id,
            channel,
            rent_payer,
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
    processor::reclaim::process(&mut accounts, &args)
}
