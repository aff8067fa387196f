// Rendered by idl2mcp from spec.py; edit the source. [cbeb92734b12c754]
//! Agree to another plan of the same merchant and mint, or to more periods of the same plan,
//! from the next
//! charge on.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::change_plan::{Accounts, Args},
        state::{Plan, Subscription},
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    crate::helpers::need_to_pass(accounts.mint)?;
    let plan_data = accounts.plan.try_borrow()?;
    let plan_state = Plan::load(&plan_data)?;
    crate::helpers::agree((
        args.price,
        args.period,
        args.grace,
        args.periods,
        plan_state,
    ))?;
    let mut subscription_view = *accounts.subscription;
    let mut subscription_data = subscription_view.try_borrow_mut()?;
    let subscription_state = Subscription::load_mut(&mut subscription_data)?;
    let state: crate::types::SubscriptionState = crate::helpers::state_of_subscription(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp,
        subscription_state,
    )?;
    checks::ensure(
        state != crate::types::SubscriptionState::Cancelled,
        X402Error::SubscriptionCancelled,
    )?;
    checks::ensure(
        state != crate::types::SubscriptionState::Expired,
        X402Error::SubscriptionExpired,
    )?;
    let less: u64 = crate::helpers::outstanding(subscription_state)?;
    subscription_state.terms = *accounts.plan.address();
    subscription_state.price.set(args.price);
    subscription_state.period.set(args.period);
    subscription_state.grace.set(args.grace);
    subscription_state.charges.set(0);
    subscription_state.max_charges.set(args.periods);
    let more: u64 = crate::helpers::outstanding(subscription_state)?;
    let allowance: u64 = crate::helpers::changed_allowance(
        accounts.source,
        *accounts.delegate.address(),
        less,
        more,
    )?;
    let condition = allowance == 0;
    drop(plan_data);
    drop(subscription_data);
    if condition {
        checks::revoke(
            &pinocchio_token::instructions::Revoke::new(accounts.source, accounts.subscriber),
            &[],
            accounts.token_program.address(),
        )?;
    } else {
        checks::approve(
            &pinocchio_token::instructions::Approve::new(
                accounts.source,
                accounts.delegate,
                accounts.subscriber,
                allowance,
            ),
            &[],
            accounts.token_program.address(),
        )?;
    }
    events::PlanChanged {
        subscription: *accounts.subscription.address(),
        terms: *accounts.plan.address(),
        price: args.price,
        max_charges: args.periods,
    }
    .emit()?;
    Ok(())
}
