// Rendered by idl2mcp from spec.py; edit the source. [702296c2b4d023db]
//! Create a plan, to which others can subscribe.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::create_plan::{Accounts, Args},
        state::Plan,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let is_complete: bool =
        (args.price > 0) && (args.period > 0) && (args.grace > 0) && (args.max_charges > 0);
    checks::ensure(is_complete, X402Error::InvalidPlan)?;
    checks::ensure(args.grace <= args.period, X402Error::InvalidPlan)?;
    crate::helpers::need_to_pass(accounts.mint)?;
    let mut plan_view = *accounts.plan;
    let mut plan_data = plan_view.try_borrow_mut()?;
    let plan_state = Plan::load_mut(&mut plan_data)?;
    plan_state.open.set(true);
    plan_state.merchant = *accounts.merchant.address();
    plan_state.mint = *accounts.mint.address();
    plan_state.plan_id.set(args.plan_id);
    plan_state.price.set(args.price);
    plan_state.period.set(args.period);
    plan_state.trial.set(args.trial);
    plan_state.grace.set(args.grace);
    plan_state.max_charges.set(args.max_charges);
    events::PlanCreated {
        plan: *accounts.plan.address(),
        merchant: *accounts.merchant.address(),
        mint: *accounts.mint.address(),
        price: args.price,
        period: args.period,
    }
    .emit()?;
    Ok(())
}
