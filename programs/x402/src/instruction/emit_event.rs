// Rendered by idl2mcp from spec.py; edit the source. [7f99ddfbae4ff8b1]
//! The program's own call to itself that carries an event. Nobody else can make it.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::{checks, processor};
use pinocchio::cpi::Seed;
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// Data expected by this instruction:
///
/// 0. event: \[u8\] The event's bytes.
pub struct Args<'a> {
    /// The event's bytes.
    pub event: &'a [u8],
}

impl<'a> Args<'a> {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &'a [u8]) -> Result<Self, ProgramError> {
        let r = &mut Reader::new(data);
        let event = r.rest();
        r.end()?;
        Ok(Self { event })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.event)?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[signer]` event_authority
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    pub event_authority: &'a AccountView,
    /// The bump of event_authority's address.
    pub event_authority_bump: u8,
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
    processor::emit_event::process(&mut accounts, &args)?;
    Ok(())
}
