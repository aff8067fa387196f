// Rendered by idl2mcp from spec.py; edit the source. [ca2696bbe1312d68]
//! Charge a subscription that is due, once a period. Anyone may call it. Missed periods are
//! not charged.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::charge::{Accounts, Args},
        state::Subscription,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let now: i64 =
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp;
    crate::helpers::need_to_pass(accounts.mint)?;
    let mut subscription_view = *accounts.subscription;
    let mut subscription_data = subscription_view.try_borrow_mut()?;
    let subscription_state = Subscription::load_mut(&mut subscription_data)?;
    checks::ensure(
        subscription_state.cancelled_at.get() == 0,
        X402Error::SubscriptionCancelled,
    )?;
    checks::ensure(now >= subscription_state.due_at.get(), X402Error::NotDue)?;
    checks::ensure(
        subscription_state.charges.get() < subscription_state.max_charges.get(),
        X402Error::ChargesUsedUp,
    )?;
    checks::ensure(
        now < crate::helpers::expires_at(subscription_state)?,
        X402Error::SubscriptionExpired,
    )?;
    crate::helpers::count(
        crate::helpers::current_period(now, subscription_state)?,
        subscription_state,
    )?;
    let price: u64 = subscription_state.price.get();
    let charges: u32 = subscription_state.charges.get();
    let due_at: i64 = subscription_state.due_at.get();
    let before: u64 = crate::helpers::may_move((
        accounts.source,
        accounts.destination,
        *accounts.delegate.address(),
        *accounts.subscriber.address(),
        price,
    ))?;
    let decimals = checks::mint_decimals(accounts.mint)?;
    drop(subscription_data);
    checks::transfer_checked(
        &pinocchio_token::instructions::TransferChecked::new(
            accounts.source,
            accounts.mint,
            accounts.destination,
            accounts.delegate,
            price,
            decimals,
        ),
        &[Signer::from(&accounts.delegate_seeds())],
        accounts.token_program.address(),
    )?;
    crate::helpers::need_exact(accounts.destination, before, price)?;
    events::Charged {
        subscription: *accounts.subscription.address(),
        amount: price,
        charges,
        due_at,
    }
    .emit()?;
    Ok(())
}
