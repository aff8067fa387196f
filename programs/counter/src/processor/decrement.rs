// Rendered by idl2mcp from spec.py; edit the source. [22a28ec29c303f57]
//! Take an amount from the counter, and return what is left.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use {
    crate::{
        error::CounterError,
        events,
        instruction::decrement::{Accounts, Args},
        state::State,
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> Result<u64, ProgramError> {
    let mut counter_view = *accounts.counter;
    let mut counter_data = counter_view.try_borrow_mut()?;
    let counter_state = State::load_mut(&mut counter_data)?;
    counter_state.count.set(
        counter_state
            .count
            .get()
            .checked_sub(args.amount)
            .ok_or(CounterError::Underflow)?,
    );
    events::Changed {
        counter: *accounts.counter.address(),
        count: counter_state.count.get(),
    }
    .emit()?;
    Ok(counter_state.count.get())
}
