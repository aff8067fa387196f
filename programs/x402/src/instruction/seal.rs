// Rendered by idl2mcp from spec.py; edit the source. [321cbef9e3b60484]
//! Seal a closing channel after its grace period. Anyone may.

use crate::codec::Output;
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::Check;
use crate::state::Channel;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

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
/// 0. `[writable]` channel The channel.
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The channel.
    pub channel: &'a mut AccountView,
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
    processor::seal::process(&mut accounts, &args)?;
    Ok(())
}
