// Rendered by idl2mcp from spec.py; edit the source. [b67f2e41f9536051]
//! Give a receipt's rent back, 7 days after its expiry. Anyone may.

use crate::codec::Output;
use crate::entrypoint::{exit_code, Call, Context};
use crate::error::{Check, X402Error};
use crate::state::Receipt;
use crate::{checks, processor};
use pinocchio::error::ProgramError;
use pinocchio::{AccountView, Address, ProgramResult};

/// This instruction expects no data.
pub struct Args {}

impl Args {
    /// The arguments in instruction data that has all of them and nothing else.
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        if !data.is_empty() {
            return Err(Check::InstructionDidNotDeserialize.into());
        }
        Ok(Self {})
    }

    /// The arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&[])
    }
}

/// Accounts expected by this instruction:
///
/// 0. `[writable]` receipt The receipt.
/// 1. `[writable]` rent_payer Who paid for it.
pub struct Accounts<'a> {
    /// This program.
    pub program_id: &'a Address,
    /// The receipt.
    pub receipt: &'a mut AccountView,
    /// Who paid for it.
    pub rent_payer: &'a mut AccountView,
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
        let [receipt, rent_payer, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        checks::writable(receipt)?;
        checks::writable(rent_payer)?;
        // receipt: its state, and what its fields must equal
        checks::state(receipt, program_id)?;
        {
            let data = checks::data(receipt)?;
            let state = Receipt::load(data)?;
            checks::equal(
                &state.rent_payer,
                rent_payer.address(),
                X402Error::NotReceiptRentPayer,
            )?;
        }

        Ok(Self {
            program_id,
            receipt,
            rent_payer,
        })
    }

    /// Closes what this instruction closes.
    #[inline(always)]
    fn finish(self) -> ProgramResult {
        checks::close(self.receipt, self.rent_payer)?;
        Ok(())
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
    processor::close_receipt::process(&mut accounts, &args)?;
    accounts.finish()
}
