// Rendered by idl2mcp from spec.py; edit the source. [6d795817b0a1e989]
//! Open a plan to new subscribers, or close it to them.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Plan;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// Data expected by this instruction:
///
/// 0. open: bool Takes new subscribers.
pub struct Args {
    /// Takes new subscribers.
    pub open: bool,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 1 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let open = r.flag::<1>()?;
        Ok(Self { open })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.length::<1>(usize::from(self.open))?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` plan The plan.
/// 1. `[signer]` merchant The plan's merchant.
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The plan.
    pub plan: &'a mut AccountView,
    /// The plan's merchant.
    pub merchant: &'a AccountView,
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
        let [plan, merchant, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(plan)?;
        checks::signer(merchant)?;
        // plan: its state, and what its fields must equal
        checks::state(plan, program_id)?;
        {
            let data = checks::data(plan)?;
            let state = Plan::load(data)?;
            checks::equal(&state.merchant, merchant.address(), X402Error::PlanMismatch)?;
        }

        Ok(Self {
            program_id,
            plan,
            merchant,
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
    processor::set_plan_open::process(&mut accounts, &args)?;
    Ok(())
}
