// Rendered by idl2mcp from spec.py; edit the source. [53408799b19f2620]
//! Close the counter and give its rent back to the wallet.
//!
//! When to use: When the counter stands at zero and is not needed any more.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::CounterError,
        instruction::close::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let counter_data = accounts.counter.try_borrow()?;
    let counter_state = State::load(&counter_data)?;
    checks::ensure(counter_state.count.get() == 0, CounterError::NotZero)?;
    Ok(())
}
