//! Take an amount from the counter, and return what is left.

use {
    crate::{
        error::CounterError,
        events::Changed,
        instruction::decrement::{Accounts, Args},
        state::State,
    },
    solana_program::program_error::ProgramError,
};

pub fn process(accounts: &Accounts, args: &Args) -> Result<u64, ProgramError> {
    let count = {
        let mut data = accounts.counter.try_borrow_mut_data()?;
        let state = State::load_mut(&mut data)?;
        let count = state
            .count
            .get()
            .checked_sub(args.amount)
            .ok_or(CounterError::Underflow)?;
        state.count.set(count);
        count
    };
    Changed {
        counter: *accounts.counter.key,
        count,
    }
    .emit()?;
    Ok(count)
}
