//! How a subscription stands now. Changes nothing.

use {
    crate::{
        instruction::subscription_status::{Accounts, Args},
        processor::shared::{now, terms},
        state::Subscription,
        types::{SubscriptionReport, SubscriptionState},
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> Result<SubscriptionReport, ProgramError> {
    let data = accounts.subscription.try_borrow()?;
    let subscription = Subscription::load(&data)?;
    let state = terms::state(subscription, now()?)?;
    Ok(SubscriptionReport {
        state,
        chargeable: matches!(state, SubscriptionState::PastDue),
        price: subscription.price.get(),
        charges: subscription.charges.get(),
        max_charges: subscription.max_charges.get(),
        due_at: subscription.due_at.get(),
        expires_at: terms::expires_at(subscription)?,
    })
}
