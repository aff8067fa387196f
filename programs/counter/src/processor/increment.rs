// Rendered by idl2mcp from spec.py; edit the source. [dfc7d0dad73b486a]
//! Add an amount to the counter.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        error::CounterError,
        events,
        instruction::increment::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let mut counter_view = *accounts.counter;
    let mut counter_data = counter_view.try_borrow_mut()?;
    let counter_state = State::load_mut(&mut counter_data)?;
    counter_state.count.set(
        counter_state
            .count
            .get()
            .checked_add(args.amount)
            .ok_or(CounterError::Overflow)?,
    );
    events::Changed {
        counter: *accounts.counter.address(),
        count: counter_state.count.get(),
    }
    .emit()?;
    Ok(())
}
