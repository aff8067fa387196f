// Rendered by idl2mcp from spec.py; edit the source. [86425250531a6679]
//! Close a plan and return its rent. Its subscriptions keep their terms.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        processor,
        state::Plan,
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
    /// The plan.
    pub plan: &'a mut AccountView,
    /// The plan's merchant.
    pub merchant: &'a mut AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [plan, merchant, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(plan)?;
        checks::signer(merchant)?;
        checks::writable(merchant)?;
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
    processor::close_plan::process(&mut accounts, &args)?;
    checks::close(accounts.plan, accounts.merchant)?;
    Ok(())
}
