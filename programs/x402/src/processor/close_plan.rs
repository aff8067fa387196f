// Rendered by idl2mcp from spec.py; edit the source. [cf0d6076ee96ea6c]
//! Close a plan and return its rent. Its subscriptions keep their terms.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        events,
        instruction::close_plan::{Accounts, Args},
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    events::PlanClosed {
        plan: *accounts.plan.address(),
    }
    .emit()?;
    Ok(())
}
