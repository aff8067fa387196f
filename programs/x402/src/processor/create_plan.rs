//! Create a plan, to which others can subscribe.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::PlanCreated,
        instruction::create_plan::{Accounts, Args},
        processor::shared::tokens,
        state::Plan,
    },
    pinocchio::ProgramResult,
};

/// The plan's account was created before this, as the spec says.
pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    ensure(
        args.price > 0 && args.period > 0 && args.grace > 0 && args.max_charges > 0,
        X402Error::InvalidPlan,
    )?;
    // a longer one would let a charge come after the period that it is for
    ensure(args.grace <= args.period, X402Error::InvalidPlan)?;
    tokens::mint_to_pass(accounts.mint)?;
    let address = *accounts.plan.address();
    let (merchant, mint) = (*accounts.merchant.address(), *accounts.mint.address());
    let mut data = accounts.plan.try_borrow_mut()?;
    let plan = Plan::load_mut(&mut data)?;
    plan.open.set(true);
    plan.merchant = merchant;
    plan.mint = mint;
    plan.plan_id.set(args.plan_id);
    plan.price.set(args.price);
    plan.period.set(args.period);
    plan.trial.set(args.trial);
    plan.grace.set(args.grace);
    plan.max_charges.set(args.max_charges);
    PlanCreated {
        plan: address,
        merchant,
        mint,
        price: args.price,
        period: args.period,
    }
    .emit()
}
