//! Add an amount to the counter.

use {
    crate::{
        error::CounterError,
        events::Changed,
        instruction::increment::{Accounts, Args},
        state::State,
    },
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, args: &Args) -> ProgramResult {
    let count = {
        let mut data = accounts.counter.try_borrow_mut_data()?;
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
        counter: *accounts.counter.key,
        count,
    }
    .emit()
}
