// Rendered by idl2mcp from spec.py; edit the source. [8d97941277e1f452]
//! Open a plan to new subscribers, or close it to them.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        events,
        instruction::set_plan_open::{Accounts, Args},
        state::Plan,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let mut plan_view = *accounts.plan;
    let mut plan_data = plan_view.try_borrow_mut()?;
    let plan_state = Plan::load_mut(&mut plan_data)?;
    plan_state.open.set(args.open);
    events::PlanOpened {
        plan: *accounts.plan.address(),
        open: args.open,
    }
    .emit()?;
    Ok(())
}
