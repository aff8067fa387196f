// Rendered by idl2mcp from spec.py; edit the source. [6adf8487facd4eef]
//! Take an amount from the counter, and return what is left.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        error::CounterError,
        events,
        instruction::decrement::{Accounts, Args},
        state::State,
    },
    solana_program::program_error::ProgramError,
};

pub fn process(accounts: &Accounts, args: &Args) -> Result<u64, ProgramError> {
    let mut counter_data = accounts.counter.try_borrow_mut_data()?;
    let counter_state = State::load_mut(&mut counter_data)?;
    counter_state.count.set(
        counter_state
            .count
            .get()
            .checked_sub(args.amount)
            .ok_or(CounterError::Underflow)?,
    );
    events::Changed {
        counter: *accounts.counter.key,
        count: counter_state.count.get(),
    }
    .emit()?;
    Ok(counter_state.count.get())
}
