// Rendered by idl2mcp from spec.py; edit the source. [c5cce090cee83f86]
//! Seal a channel as its payee, after a last voucher or without one: no voucher counts any
//! more.

use crate::codec::{Output, Reader};
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Channel;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

// Sysvar1nstructions1111111111111111111111111
const INSTRUCTIONS_SYSVAR: Address = Address::new_from_array([
    0x06, 0xa7, 0xd5, 0x17, 0x18, 0x7b, 0xd1, 0x66, 0x35, 0xda, 0xd4, 0x04, 0x55, 0xfd, 0xc2, 0xc0,
    0xc1, 0x24, 0xc6, 0x8f, 0x21, 0x56, 0x75, 0xa5, 0xdb, 0xba, 0xcb, 0x5f, 0x08, 0x00, 0x00, 0x00,
]);

/// Data expected by this instruction:
///
/// 0. has_voucher: u8 0 without a voucher; else the Ed25519 instruction right before this one
///    proves it.
pub struct Args {
    /// 0 without a voucher; else the Ed25519 instruction right before this one proves it.
    pub has_voucher: u8,
}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if data.len() != 1 {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        let r = &mut Reader::new(data);
        let has_voucher = r.byte()?;
        Ok(Self { has_voucher })
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.has_voucher.to_le_bytes())?;
        Ok(())
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[signer]` payee The channel's payee.
/// 1. `[writable]` channel The channel.
/// 2. `[]` instructions_sysvar
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The channel's payee.
    pub payee: &'a AccountView,
    /// The channel.
    pub channel: &'a mut AccountView,
    pub instructions_sysvar: &'a AccountView,
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
        let [payee, channel, instructions_sysvar, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::signer_or(payee, X402Error::MissingRequiredSignature)?;
        checks::writable(channel)?;
        checks::equal(
            instructions_sysvar.address(),
            &INSTRUCTIONS_SYSVAR,
            Check::AccountSysvarMismatch,
        )?;
        // channel: its state, and what its fields must equal
        checks::state(channel, program_id)?;
        {
            let data = checks::data(channel)?;
            let state = Channel::load(data)?;
            checks::equal(
                &state.payee,
                payee.address(),
                X402Error::InvalidChannelPayee,
            )?;
        }

        Ok(Self {
            program_id,
            payee,
            channel,
            instructions_sysvar,
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
    processor::settle_and_seal::process(&mut accounts, &args)?;
    Ok(())
}
