// Rendered by idl2mcp from spec.py; edit the source. [b8228daf88513b12]
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
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, args: &Args) -> ProgramResult {
    let mut counter_data = accounts.counter.try_borrow_mut_data()?;
    let counter_state = State::load_mut(&mut counter_data)?;
    counter_state.authority = *accounts.authority.key;
    counter_state.count.set(args.start);
    events::Changed {
        counter: *accounts.counter.key,
        count: args.start,
    }
    .emit()?;
    Ok(())
}
