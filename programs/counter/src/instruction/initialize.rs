// Rendered by idl2mcp from spec.py; edit the source. [7b0239abb416a5de]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::Check;
use crate::state::State;
use crate::{checks, processor};
use pinocchio::cpi::{Seed, Signer};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// Data expected by this instruction:
///
/// 0. start: u64 The counter's first value.
pub struct Args {
    /// The counter's first value.
    pub start: u64,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 8 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let start = u64::from_le_bytes(*r.array()?);
        Ok(Self { start })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.start.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` counter The new counter; its address is derived from the wallet's.
/// 1. `[writable, signer]` authority The wallet; it pays the rent and owns the counter.
/// 2. `[]` system_program
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The new counter; its address is derived from the wallet's.
    pub counter: &'a mut AccountView,
    /// The wallet; it pays the rent and owns the counter.
    pub authority: &'a mut AccountView,
    pub system_program: &'a AccountView,
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
        let [counter, authority, system_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(counter)?;
        checks::signer(authority)?;
        checks::writable(authority)?;
        checks::equal(
            system_program.address(),
            &checks::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        let counter_bump = checks::found(
            counter,
            &[b"counter".as_slice(), authority.address().as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;

        // counter: created, paid by authority
        checks::Create {
            account: counter,
            payer: authority,
            space: State::LEN,
            owner: program_id,
            signers: &[Signer::from(&[
                Seed::from(b"counter".as_slice()),
                Seed::from(authority.address().as_ref()),
                Seed::from(core::slice::from_ref(&counter_bump)),
            ])],
        }
        .invoke()?;
        State::create(&mut counter.try_borrow_mut()?)?.bump = counter_bump;

        Ok(Self {
            program_id,
            counter,
            authority,
            system_program,
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
    processor::initialize::process(&mut accounts, &args)?;
    Ok(())
}
