//! Assert the least lamports of an account, the length of its data, and its owner.

use {
    super::shared::Assertions,
    crate::{
        checks,
        constants::{SYSTEM, TOKEN, TOKEN_2022},
        error::GuardError,
        instruction::assert_account_info_multi::{Accounts, Args},
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let account = accounts.target_account;
    Assertions::check_each(args.assertions, |next| match next.byte()? {
        0 => {
            let least = u64::from_le_bytes(*next.take()?);
            next.compare(account.lamports(), least)
        }
        1 => {
            let length = u64::from_le_bytes(*next.take()?);
            next.compare(account.data_len() as u64, length)
        }
        3 => {
            let owner = match next.byte()? {
                0 => &SYSTEM,
                1 => &TOKEN,
                2 => &TOKEN_2022,
                _ => return Err(GuardError::InvalidAssertion.into()),
            };
            next.equal()?;
            checks::owner(account, owner, GuardError::AssertionFailed)
        }
        _ => Err(GuardError::InvalidAssertion.into()),
    })
}
