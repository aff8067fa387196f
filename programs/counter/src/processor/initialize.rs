// Rendered by idl2mcp from spec.py; edit the source. [efca3343724af2c5]
//! Create the counter of a wallet.
//!
//! When to use: Once for each wallet, before anything can be counted.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        events,
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let mut counter_view = *accounts.counter;
    let mut counter_data = counter_view.try_borrow_mut()?;
    let counter_state = State::load_mut(&mut counter_data)?;
    counter_state.authority = *accounts.authority.address();
    counter_state.count.set(args.start);
    events::Changed {
        counter: *accounts.counter.address(),
        count: args.start,
    }
    .emit()?;
    Ok(())
}
