//! Close the counter and give its rent back to the wallet.

use {
    crate::{
        checks::ensure,
        error::CounterError,
        instruction::close::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

/// The account itself is closed behind this, as the spec says.
pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let data = accounts.counter.try_borrow()?;
    ensure(State::load(&data)?.count.get() == 0, CounterError::NotZero)
}
