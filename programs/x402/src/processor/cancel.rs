// Rendered by idl2mcp from spec.py; edit the source. [5bf76d97d961a852]
//! Cancel a subscription as its subscriber, at any time. Nothing more is charged, and nothing
//! is refunded.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::cancel::{Accounts, Args},
        state::Subscription,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    checks::different(accounts.subscription, accounts.mint)?;
    checks::different(accounts.subscription, accounts.source)?;
    crate::helpers::need_mint_or_gone(accounts.mint, accounts.token_program)?;
    let mut subscription_view = *accounts.subscription;
    let mut subscription_data = subscription_view.try_borrow_mut()?;
    let subscription_state = Subscription::load_mut(&mut subscription_data)?;
    let left: u64 = crate::helpers::outstanding(subscription_state)?;
    let is_running: bool = subscription_state.cancelled_at.get() == 0;
    checks::ensure(is_running || (left > 0), X402Error::SubscriptionCancelled)?;
    if is_running {
        subscription_state.cancelled_at.set(
            <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp,
        );
    }
    let allowed: u64 = crate::helpers::allowance_of(
        accounts.source,
        *accounts.subscriber.address(),
        *accounts.delegate.address(),
        accounts.token_program,
    )?;
    let condition = allowed == 0;
    drop(subscription_data);
    if condition {
        let mut subscription_view = *accounts.subscription;
        let mut subscription_data = subscription_view.try_borrow_mut()?;
        let subscription_state = Subscription::load_mut(&mut subscription_data)?;
        crate::helpers::end(subscription_state)?;
    } else if checks::is_token(accounts.source, accounts.token_program.address())?
        && crate::helpers::can_change_allowance(accounts.source)?
    {
        let allowance: u64 = crate::helpers::changed_allowance(
            accounts.source,
            *accounts.delegate.address(),
            left,
            0,
        )?;
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
        let mut subscription_view = *accounts.subscription;
        let mut subscription_data = subscription_view.try_borrow_mut()?;
        let subscription_state = Subscription::load_mut(&mut subscription_data)?;
        crate::helpers::end(subscription_state)?;
    }
    events::Cancelled {
        subscription: *accounts.subscription.address(),
        by_merchant: false,
        refunded: 0,
    }
    .emit()?;
    Ok(())
}
