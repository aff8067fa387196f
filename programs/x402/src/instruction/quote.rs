// Rendered by idl2mcp from spec.py; edit the source. [9f0e83d25ddbad1c]
//! What subscribing to a plan for some periods would cost now. Changes nothing.

use crate::codec::{Output, Reader, Writer};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::Check;
use crate::log::return_data;
use crate::state::Plan;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// Data expected by this instruction:
///
/// 0. periods: u32 How many charges.
pub struct Args {
    /// How many charges.
    pub periods: u32,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 4 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let periods = u32::from_le_bytes(*r.array()?);
        Ok(Self { periods })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.periods.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[]` plan The plan.
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The plan.
    pub plan: &'a AccountView,
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
        let [plan, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        // plan: its state
        checks::state(plan, program_id)?;
        {
            let data = checks::data(plan)?;
            Plan::load(data)?;
        }

        Ok(Self { program_id, plan })
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
    let returned = processor::quote::process(&mut accounts, &args)?;
    let mut bytes = [0; 69];
    let w = &mut Writer::new(&mut bytes);
    returned.encode(w)?;
    return_data(&bytes);
    Ok(())
}
