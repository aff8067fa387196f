// Rendered by idl2mcp from spec.py; edit the source. [9c5f3d09754ed072]
//! Close a plan and return its rent. Its subscriptions keep their terms.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

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
