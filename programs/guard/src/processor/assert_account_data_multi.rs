//! Assert numbers and addresses in the data of an account.

use {
    super::shared::Assertions,
    crate::{
        checks::{data, ensure},
        error::GuardError,
        instruction::assert_account_data_multi::{Accounts, Args},
    },
    pinocchio::{error::ProgramError, ProgramResult},
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let data = data(accounts.target_account)?;
    Assertions::check_each(args.assertions, |next| {
        let offset = next.offset()?;
        match next.byte()? {
            5 => {
                let found = u32::from_le_bytes(*field(data, offset)?);
                let wanted = u32::from_le_bytes(*next.take()?);
                next.compare(found.into(), wanted.into())
            }
            7 => {
                let found = u64::from_le_bytes(*field(data, offset)?);
                let wanted = u64::from_le_bytes(*next.take()?);
                next.compare(found, wanted)
            }
            12 => {
                let wanted = next.take::<32>()?;
                next.equal()?;
                ensure(field(data, offset)? == wanted, GuardError::AssertionFailed)
            }
            _ => Err(GuardError::InvalidAssertion.into()),
        }
    })
}

/// The bytes at an offset. An account that lacks them, or is gone, is not as it should be.
#[inline(always)]
fn field<const N: usize>(data: &[u8], offset: usize) -> Result<&[u8; N], ProgramError> {
    let found = data.get(offset..).and_then(|rest| rest.first_chunk());
    found.ok_or_else(|| GuardError::AssertionFailed.into())
}
