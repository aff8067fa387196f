//! Add an amount to the counter.

use {
    crate::{
        error::CounterError,
        events::Changed,
        instruction::increment::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let count = {
        let mut data = accounts.counter.try_borrow_mut()?;
        let state = State::load_mut(&mut data)?;
        let count = state
            .count
            .get()
            .checked_add(args.amount)
            .ok_or(CounterError::Overflow)?;
        state.count.set(count);
        count
    };
    Changed {
        counter: *accounts.counter.address(),
        count,
    }
    .emit()
}
