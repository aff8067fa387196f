//! Subscriptions: the state of one at a time, and the effect of a charge.
//!
//! ```text
//! subscribe, trial ──> Pending ──charge──> Active <──charge── PastDue
//! subscribe ─────────────────────────────> Active ──due_at──> PastDue ──due_at + grace──> Expired
//!                                          Active ──due_at, charges used up─────────────> Expired
//! any of these ──cancel──> Cancelled
//! ```
//!
//! Pending is PastDue from the end of the trial on. Only the times are stored; the state follows from
//! them and the clock, so that no crank is needed to expire.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        state::{Plan, Subscription},
        types::SubscriptionState,
    },
    pinocchio::{error::ProgramError, ProgramResult},
};

fn later(time: i64, seconds: u32) -> Result<i64, ProgramError> {
    time.checked_add(i64::from(seconds))
        .ok_or_else(|| X402Error::Overflow.into())
}

/// The time from which on an unpaid subscription is expired.
pub fn expires_at(subscription: &Subscription) -> Result<i64, ProgramError> {
    later(subscription.due_at.get(), subscription.grace.get())
}

pub fn state(subscription: &Subscription, now: i64) -> Result<SubscriptionState, ProgramError> {
    Ok(if subscription.cancelled_at.get() != 0 {
        SubscriptionState::Cancelled
    } else if now < subscription.due_at.get() {
        if subscription.paid_from.get() == 0 {
            SubscriptionState::Pending
        } else {
            SubscriptionState::Active
        }
    } else if subscription.charges.get() >= subscription.max_charges.get()
        || now >= expires_at(subscription)?
    {
        SubscriptionState::Expired
    } else {
        SubscriptionState::PastDue
    })
}

/// The terms that the subscriber agreed to. A plan can be closed, and created again with other terms,
/// before the agreement lands.
pub struct Agreed {
    pub price: u64,
    pub period: u32,
    pub grace: u32,
    pub periods: u32,
}

/// The terms are those that the subscriber agreed to, and the plan still takes subscribers.
pub fn agree(plan: &Plan, agreed: &Agreed) -> ProgramResult {
    let Agreed {
        price,
        period,
        grace,
        periods,
    } = *agreed;
    ensure(plan.open.get(), X402Error::PlanNotOpen)?;
    ensure(
        plan.price.get() == price && plan.period.get() == period && plan.grace.get() == grace,
        X402Error::TermsChanged,
    )?;
    ensure(
        periods > 0 && periods <= plan.max_charges.get(),
        X402Error::TooManyPeriods,
    )
}

/// Tokens for this many charges.
pub fn cost(price: u64, charges: u32) -> Result<u64, ProgramError> {
    price
        .checked_mul(u64::from(charges))
        .ok_or_else(|| X402Error::Overflow.into())
}

/// Tokens that the charges which are left would take.
pub fn outstanding(subscription: &Subscription) -> Result<u64, ProgramError> {
    let left = subscription
        .max_charges
        .get()
        .saturating_sub(subscription.charges.get());
    cost(subscription.price.get(), left)
}

/// Nothing is allowed any more.
pub fn end(subscription: &mut Subscription) {
    subscription.max_charges.set(subscription.charges.get());
}

/// It is expired, or cancelled and what is paid is over.
pub fn has_ended(subscription: &Subscription, now: i64) -> Result<bool, ProgramError> {
    Ok(match state(subscription, now)? {
        SubscriptionState::Expired => true,
        SubscriptionState::Cancelled => now >= subscription.due_at.get(),
        _ => false,
    })
}

/// Counts a charge for the period that starts at `from`.
pub fn count(subscription: &mut Subscription, from: i64) -> ProgramResult {
    let charges = subscription
        .charges
        .get()
        .checked_add(1)
        .ok_or(X402Error::Overflow)?;
    let price = subscription.price.get();
    let end = later(from, subscription.period.get())?;
    subscription.charges.set(charges);
    subscription.last_price.set(price);
    subscription.paid_from.set(from);
    subscription.due_at.set(end);
    Ok(())
}

/// The start of the period that a charge at `now` pays: the one that `now` lies in, so that periods
/// which nobody charged are gone.
pub fn current_period(subscription: &Subscription, now: i64) -> Result<i64, ProgramError> {
    let due = subscription.due_at.get();
    let period = u64::from(subscription.period.get());
    now.checked_sub(due)
        .and_then(|late| u64::try_from(late).ok()) // the SVM divides unsigned numbers only
        .and_then(|late| late.checked_div(period)?.checked_mul(period))
        .and_then(|missed| due.checked_add_unsigned(missed))
        .ok_or_else(|| X402Error::Overflow.into())
}

/// What a merchant who cancels now owes of the last charge: the unused part of its period, rounded
/// up.
pub fn unused(subscription: &Subscription, now: i64) -> Result<u64, ProgramError> {
    let (from, end) = (subscription.paid_from.get(), subscription.due_at.get());
    if from == 0 || now >= end {
        return Ok(0);
    }
    let start = now.max(from);
    let overflow = X402Error::Overflow;
    let left = end.checked_sub(start).ok_or(overflow)?;
    let whole = end.checked_sub(from).ok_or(overflow)?;
    let left = u128::try_from(left).map_err(|_| overflow)?;
    let whole = u128::try_from(whole).map_err(|_| overflow)?;
    let unused = u128::from(subscription.last_price.get())
        .checked_mul(left)
        .and_then(|product| product.checked_add(whole.saturating_sub(1)))
        .and_then(|product| product.checked_div(whole))
        .ok_or(overflow)?;
    u64::try_from(unused).map_err(|_| overflow.into())
}
