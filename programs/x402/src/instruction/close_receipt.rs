// Rendered by idl2mcp from spec.py; edit the source. [5ce8d88b040dc35d]
//! Close a receipt and return its rent, 7 days after its expiry or later. Anyone may call it.

use {
    crate::{
        checks,
        codec::Output,
        entrypoint::{exit_code, Call},
        error::{Check, X402Error},
        processor,
        state::Receipt,
    },
    pinocchio::{error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args {}

impl Args {
    #[inline(always)]
    pub fn decode(data: &[u8]) -> Result<Self, ProgramError> {
        checks::ensure(data.is_empty(), Check::InstructionDidNotDeserialize)?;
        Ok(Self {})
    }

    /// Writes the arguments as instruction data, without the discriminator.
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&[])
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The receipt.
    pub receipt: &'a mut AccountView,
    /// The wallet that paid for it.
    pub rent_payer: &'a mut AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
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
    processor::close_receipt::process(&mut accounts, &args)?;
    checks::close(accounts.receipt, accounts.rent_payer)?;
    Ok(())
}
