// Rendered by idl2mcp from spec.py; edit the source. [fb6f6dba4e69b672]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.

use {
    crate::{checks, codec::Reader, error::Check, ids, processor, state::State},
    solana_program::{
        account_info::AccountInfo, entrypoint::ProgramResult, program_error::ProgramError,
        pubkey::Pubkey as Address,
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

pub struct Accounts<'a, 'info> {
    pub program_id: &'a Address,
    /// The new counter; its address is derived from the wallet's.
    pub counter: &'a AccountInfo<'info>,
    /// The wallet; it pays the rent and owns the counter.
    pub authority: &'a AccountInfo<'info>,
    pub system_program: &'a AccountInfo<'info>,
}

impl<'a, 'info> Accounts<'a, 'info> {
    /// Checks all accounts, the cheapest checks first, then creates or resizes accounts.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a [AccountInfo<'info>],
    ) -> Result<Self, ProgramError> {
        let [counter, authority, system_program, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(counter)?;
        checks::signer(authority)?;
        checks::writable(authority)?;
        checks::equal(
            system_program.key,
            &ids::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
        let counter_bump = checks::found(
            counter,
            &[b"counter".as_slice(), authority.key.as_ref()],
            program_id,
            Check::ConstraintSeeds,
        )?;

        // counter: created, paid by authority
        checks::Create {
            account: counter,
            payer: authority,
            space: State::LEN,
            owner: program_id,
            signers: &[&[
                b"counter".as_slice(),
                authority.key.as_ref(),
                core::slice::from_ref(&counter_bump),
            ]],
        }
        .invoke()?;
        State::create(&mut counter.try_borrow_mut_data()?)?.bump = counter_bump;

        Ok(Self {
            program_id,
            counter,
            authority,
            system_program,
        })
    }
}

/// Decodes and checks, then calls the handler.
#[inline(never)]
pub fn dispatch(program_id: &Address, accounts: &[AccountInfo], arguments: &[u8]) -> ProgramResult {
    let args = Args::decode(arguments)?;
    let accounts = Accounts::validate(program_id, accounts)?;
    processor::initialize::process(&accounts, &args)
}
