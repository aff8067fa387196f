// Rendered by idl2mcp from spec.py; edit the source. [010469195d386a86]
//! Assert numbers and addresses in the data of an account.

use {
    crate::{
        codec::Reader,
        entrypoint::{exit_code, Call},
        error::Check,
        processor,
    },
    pinocchio::{error::ProgramError, AccountView, Address, ProgramResult},
};

pub struct Args<'a> {
    /// Not used.
    pub log_level: u8,
    /// Their number, and each: an offset (LEB128), then 5 and a u32, 7 and a u64, or 12 and an
    /// address, then 0 (equal), 4 (at least) or 5 (at most); an address is equal.
    pub assertions: &'a [u8],
}

impl<'a> Args<'a> {
    #[inline(always)]
    pub fn decode(data: &'a [u8]) -> Result<Self, ProgramError> {
        let r = &mut Reader::new(data);
        let log_level = r.byte()?;
        let assertions = r.rest();
        r.end()?;
        Ok(Self {
            log_level,
            assertions,
        })
    }
}

pub struct Accounts<'a> {
    pub program_id: &'a Address,
    /// The account.
    pub target_account: &'a AccountView,
}

impl<'a> Accounts<'a> {
    /// Checks all accounts, the cheapest checks first.
    #[inline(always)]
    pub fn validate(
        program_id: &'a Address,
        accounts: &'a mut [AccountView],
    ) -> Result<Self, ProgramError> {
        let [target_account, ..] = accounts else {
            return Err(Check::AccountNotEnoughKeys.into());
        };

        Ok(Self {
            program_id,
            target_account,
        })
    }
}

/// Runs the instruction. Returns the exit code.
#[inline(always)]
pub fn dispatch(accounts: &mut [AccountView], call: Call<1>) -> u64 {
    exit_code(run(accounts, call))
}

/// Decodes and checks, then calls the handler.
#[inline]
fn run(accounts: &mut [AccountView], call: Call<1>) -> ProgramResult {
    let (program_id, arguments) = call.parts();
    let args = Args::decode(arguments)?;
    let mut accounts = Accounts::validate(program_id, accounts)?;
    processor::assert_account_data_multi::process(&mut accounts, &args)
}
