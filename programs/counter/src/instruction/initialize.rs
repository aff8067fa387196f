// Rendered by idl2mcp from spec.py; edit the source. [65122dd4fe95e514]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.

use {
    crate::{
        checks,
        codec::Reader,
        entrypoint::{exit_code, Call},
        error::Check,
        ids, processor,
        state::State,
    },
    pinocchio::{
        cpi::{Seed, Signer},
        error::ProgramError,
        AccountView, Address, ProgramResult,
    },
};

pub struct Args {
    /// The counter's first value.
    pub start: u64,
}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.len() == 8, Check::InstructionDidNotDeserialize)?;
        let r = &mut Reader::new(data);
        let start = u64::from_le_bytes(*r.array()?);
        Ok(Self { start })
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The new counter; its address is derived from the wallet's.
    pub counter: &'a mut AccountView,
    /// The wallet; it pays the rent and owns the counter.
    pub authority: &'a mut AccountView,
    pub system_program: &'a AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [counter, authority, system_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(counter)?;
        checks::signer(authority)?;
        checks::writable(authority)?;
        checks::equal(
            system_program.address(),
            &ids::SYSTEM_PROGRAM,
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
    processor::initialize::process(&mut accounts, &args)
}
