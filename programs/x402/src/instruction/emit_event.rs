// Rendered by idl2mcp from spec.py; edit the source. [ae88731e8049649d]
//! Carries an event, as a call of the program to itself. Only the program can call it.

use {
    crate::{
        checks,
        codec::{Output, Reader},
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        processor,
    },
    pinocchio::{cpi::Seed, error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args<'a> {
    /// The event's bytes.
    pub event: &'a [u8],
}

impl<'a> Args<'a> {
    #[inline(always)]
    pub fn decode(data: &'a [u8]) -> Result<Self, ProgramError> {
        let r = &mut Reader::new(data);
        let event = r.rest();
        r.end()?;
        Ok(Self { event })
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.event)?;
        Ok(())
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    pub event_authority: &'a AccountView,
    /// The bump of event_authority's address.
    pub event_authority_bump: u8,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [event_authority, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(event_authority, X402Error::MissingRequiredSignature)?;
        let event_authority_bump = checks::found(
            event_authority,
            &[b"event_authority".as_slice()],
            program_id,
            X402Error::InvalidEventAuthority,
        )?;

        Ok(Self {
            program_id,
            event_authority,
            event_authority_bump,
        })
    }

    /// The seeds of `event_authority`, to sign for it.
    #[inline(always)]
    pub fn event_authority_seeds(&self) -> [Seed<'_>; 2] {
        [
            Seed::from(b"event_authority".as_slice()),
            Seed::from(core::slice::from_ref(&self.event_authority_bump)),
        ]
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
    processor::emit_event::process(&mut accounts, &args)
}
