// Rendered by idl2mcp from spec.py; edit the source. [8c245d5e5a42ce28]
//! Close the counter and give its rent back to the wallet.
//!
//! When to use: When the counter stands at zero and is not needed any more.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use {
    crate::{
        checks,
        error::CounterError,
        instruction::close::{Accounts, Args},
        state::State,
    },
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, _args: &Args) -> ProgramResult {
    let counter_data = accounts.counter.try_borrow_data()?;
    let counter_state = State::load(&counter_data)?;
    checks::ensure(counter_state.count.get() == 0, CounterError::NotZero)?;
    Ok(())
}
