// Rendered by idl2mcp from spec.py; edit the source. [f9032d16d1e3989a]
//! Return the price of subscribing to a plan for some periods. Changes nothing.

use {
    crate::{
        checks,
        codec::{Output, Reader, Writer},
        entrypoint::{exit_code, Call},
        error::Check,
        log::return_data,
        processor,
        state::Plan,
    },
    pinocchio::{error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {
    /// Number of charges.
    pub periods: u32,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 4, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let periods = u32::from_le_bytes(*r.array()?);
        Ok(Self { periods })
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.periods.to_le_bytes())?;
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The plan.
    pub plan: &'a AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
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
    let returned = processor::quote::process(&mut accounts, &args)?;
    let mut bytes = [0; 69];
    let w = &mut Writer::new(&mut bytes);
    returned.encode(w)?;
    return_data(&bytes);
    Ok(())
}
