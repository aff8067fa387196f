// Rendered by idl2mcp from spec.py; edit the source. [08beb2ebe7eda25c]
//! Subscribe to a plan. Without a trial, the first period is charged at once. Later charges
//! can take no more
//! than the agreed number of periods.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::subscribe::{Accounts, Args},
        state::{Plan, Subscription},
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let now: i64 =
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp;
    checks::ensure(
        !pinocchio::address::address_eq(accounts.merchant.address(), accounts.subscriber.address()),
        X402Error::SelfPayment,
    )?;
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
    checks::ensure(
        plan_state.trial.get() == args.trial,
        X402Error::TermsChanged,
    )?;
    let mut subscription_view = *accounts.subscription;
    let mut subscription_data = subscription_view.try_borrow_mut()?;
    let subscription_state = Subscription::load_mut(&mut subscription_data)?;
    subscription_state.plan = *accounts.plan.address();
    subscription_state.terms = *accounts.plan.address();
    subscription_state.merchant = *accounts.merchant.address();
    subscription_state.subscriber = *accounts.subscriber.address();
    subscription_state.mint = *accounts.mint.address();
    subscription_state.rent_payer = *accounts.rent_payer.address();
    subscription_state.price.set(args.price);
    subscription_state.period.set(args.period);
    subscription_state.grace.set(args.grace);
    subscription_state.max_charges.set(args.periods);
    if args.trial == 0 {
        crate::helpers::count(now, subscription_state)?;
    } else {
        subscription_state.due_at.set(
            now.checked_add(i64::from(args.trial))
                .ok_or(X402Error::Overflow)?,
        );
    }
    let due_at: i64 = subscription_state.due_at.get();
    let later: u64 = crate::helpers::outstanding(subscription_state)?;
    let condition = args.trial == 0;
    drop(plan_data);
    drop(subscription_data);
    if condition {
        crate::helpers::need_thawed(accounts.source, accounts.destination)?;
        let before: u64 =
            crate::helpers::may_take(accounts.source, accounts.destination, args.price)?;
        let decimals = checks::mint_decimals(accounts.mint)?;
        checks::transfer_checked(
            &pinocchio_token::instructions::TransferChecked::new(
                accounts.source,
                accounts.mint,
                accounts.destination,
                accounts.subscriber,
                args.price,
                decimals,
            ),
            &[],
            accounts.token_program.address(),
        )?;
        crate::helpers::need_exact(accounts.destination, before, args.price)?;
    }
    let allowance: u64 =
        crate::helpers::changed_allowance(accounts.source, *accounts.delegate.address(), 0, later)?;
    if allowance == 0 {
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
    events::Subscribed {
        subscription: *accounts.subscription.address(),
        plan: *accounts.plan.address(),
        subscriber: *accounts.subscriber.address(),
        price: args.price,
        max_charges: args.periods,
        due_at,
    }
    .emit()?;
    if args.trial == 0 {
        events::Charged {
            subscription: *accounts.subscription.address(),
            amount: args.price,
            charges: 1,
            due_at,
        }
        .emit()?;
    }
    Ok(())
}
