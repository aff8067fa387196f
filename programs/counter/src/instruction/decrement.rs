// Rendered by idl2mcp from spec.py; edit the source. [6069dbab55628f48]
//! Take an amount from the counter, and return what is left.

use {
    crate::{
        checks,
        codec::{Output, Reader, Writer},
        entrypoint::{exit_code, Call},
        error::Check,
        log::return_data,
        processor,
        state::State,
    },
    pinocchio::{error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {
    /// How much to take away.
    pub amount: u64,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 8, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let amount = u64::from_le_bytes(*r.array()?);
        Ok(Self { amount })
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The wallet's counter.
    pub counter: &'a mut AccountView,
    /// The wallet that owns the counter.
    pub authority: &'a AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [counter, authority, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(counter)?;
        checks::signer(authority)?;
        // counter: its state, and what its fields must equal
        checks::state(counter, program_id)?;
        let counter_bump = {
            let data = checks::data(counter)?;
            let state = State::load(data)?;
            checks::equal(
                &state.authority,
                authority.address(),
                Check::ConstraintHasOne,
            )?;
            state.bump
        };
        checks::derived(
            counter,
            &[b"counter".as_slice(), authority.address().as_ref()],
            counter_bump,
            program_id,
            Check::ConstraintSeeds,
        )?;

        Ok(Self {
            program_id,
            counter,
            authority,
        })
    }
}

/// Runs the instruction. Returns the exit code.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<8>) -> u64 {
    exit_code(run(accounts, call))
}

/// Decodes and checks, then calls the handler.
#[inline]
fn run(accounts: &mut [AccountView], call: Call<8>) -> ProgramResult {
    let (program_id, arguments) = call.parts();
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts)?;
    let returned = processor::decrement::process(&mut accounts, &args)?;
    let mut bytes = [0; 8];
    let w = &mut Writer::new(&mut bytes);
    w.put(&returned.to_le_bytes())?;
    return_data(&bytes);
    Ok(())
}
