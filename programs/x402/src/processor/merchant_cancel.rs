// Rendered by idl2mcp from spec.py; edit the source. [b8530a32d9a26fcc]
//! Cancel a subscription as its merchant, and refund the unused part of the paid period. If
//! the subscriber's
//! account cannot take a refund, the subscriber keeps the paid time instead.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::merchant_cancel::{Accounts, Args},
        state::Subscription,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    checks::different(accounts.subscription, accounts.mint)?;
    checks::different(accounts.subscription, accounts.source)?;
    checks::different(accounts.subscription, accounts.destination)?;
    let now: i64 =
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp;
    crate::helpers::need_mint_or_gone(accounts.mint, accounts.token_program)?;
    let can_refund: bool = crate::helpers::can_arrive(
        accounts.destination,
        *accounts.subscriber.address(),
        accounts.mint,
        accounts.token_program,
    )?;
    let mut subscription_view = *accounts.subscription;
    let mut subscription_data = subscription_view.try_borrow_mut()?;
    let subscription_state = Subscription::load_mut(&mut subscription_data)?;
    checks::ensure(
        subscription_state.cancelled_at.get() == 0,
        X402Error::SubscriptionCancelled,
    )?;
    let owed: u64 = crate::helpers::unused(now, subscription_state)?;
    subscription_state.cancelled_at.set(now);
    let ends_now: bool = (owed == 0) || can_refund;
    let refunded: u64 = if ends_now { owed } else { 0 };
    if ends_now && (now < subscription_state.due_at.get()) {
        subscription_state.due_at.set(now);
    }
    let left: u64 = crate::helpers::outstanding(subscription_state)?;
    let condition = refunded > 0;
    drop(subscription_data);
    if condition {
        if !checks::is_token(accounts.source, accounts.token_program.address())? {
            return Err(X402Error::BalanceTooSmall.into());
        }
        if !checks::is_token(accounts.destination, accounts.token_program.address())? {
            return Err(X402Error::AccountFrozen.into());
        }
        if !checks::is_mint(accounts.mint, accounts.token_program.address())? {
            return Err(X402Error::WrongTokenProgram.into());
        }
        crate::helpers::need_thawed(accounts.source, accounts.destination)?;
        let before: u64 =
            crate::helpers::may_take(accounts.source, accounts.destination, refunded)?;
        let decimals = checks::mint_decimals(accounts.mint)?;
        checks::transfer_checked(
            &pinocchio_token::instructions::TransferChecked::new(
                accounts.source,
                accounts.mint,
                accounts.destination,
                accounts.merchant,
                refunded,
                decimals,
            ),
            &[],
            accounts.token_program.address(),
        )?;
        crate::helpers::need_exact(accounts.destination, before, refunded)?;
    }
    let allowed: u64 = crate::helpers::allowance_of(
        accounts.destination,
        *accounts.subscriber.address(),
        *accounts.delegate.address(),
        accounts.token_program,
    )?;
    if allowed == 0 {
        let mut subscription_view = *accounts.subscription;
        let mut subscription_data = subscription_view.try_borrow_mut()?;
        let subscription_state = Subscription::load_mut(&mut subscription_data)?;
        crate::helpers::end(subscription_state)?;
    } else if (allowed <= left)
        && checks::is_token(accounts.destination, accounts.token_program.address())?
        && !checks::token_is_frozen(accounts.destination)?
    {
        checks::revoke(
            &pinocchio_token::instructions::Revoke::new(accounts.destination, accounts.delegate),
            &[Signer::from(&accounts.delegate_seeds())],
            accounts.token_program.address(),
        )?;
        let mut subscription_view = *accounts.subscription;
        let mut subscription_data = subscription_view.try_borrow_mut()?;
        let subscription_state = Subscription::load_mut(&mut subscription_data)?;
        crate::helpers::end(subscription_state)?;
    }
    events::Cancelled {
        subscription: *accounts.subscription.address(),
        by_merchant: true,
        refunded,
    }
    .emit()?;
    Ok(())
}
