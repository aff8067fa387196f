// Rendered by idl2mcp from spec.py; edit the source. [fbb48d701ce80e6a]
//! Add an amount to the counter.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::Check;
use crate::state::State;
use crate::{checks, processor};
use pinocchio::cpi::Seed;
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// Data expected by this instruction:
///
/// 0. amount: u64 How much to add.
pub struct Args {
    /// How much to add.
    pub amount: u64,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 8 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let amount = u64::from_le_bytes(*r.array()?);
        Ok(Self { amount })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` counter The wallet's counter.
/// 1. `[signer]` authority The wallet that owns the counter.
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The wallet's counter.
    pub counter: &'a mut AccountView,
    /// The wallet that owns the counter.
    pub authority: &'a AccountView,
    /// The bump of counter's address.
    pub counter_bump: u8,
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
            counter_bump,
        })
    }

    /// The seeds of `counter`, to sign for it.
    #[inline(always)]
    pub fn counter_seeds(&self) -> [Seed<'_>; 3] {
        [
            Seed::from(b"counter".as_slice()),
            Seed::from(self.authority.address().as_ref()),
            Seed::from(core::slice::from_ref(&self.counter_bump)),
        ]
    }
}

/// `run`, as the entry wants it: what goes in and comes out stands in registers.
#[inline(never)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<8>) -> u64 {
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
    processor::increment::process(&mut accounts, &args)?;
    Ok(())
}
