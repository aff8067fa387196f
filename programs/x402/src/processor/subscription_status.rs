// Rendered by idl2mcp from spec.py; edit the source. [4bc6fe2af88b47fe]
//! Return the state of a subscription. Changes nothing.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use {
    crate::{
        instruction::subscription_status::{Accounts, Args},
        state::Subscription,
        types::SubscriptionReport,
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> Result<SubscriptionReport, ProgramError> {
    let subscription_data = accounts.subscription.try_borrow()?;
    let subscription_state = Subscription::load(&subscription_data)?;
    let state: crate::types::SubscriptionState = crate::helpers::state_of_subscription(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp,
        subscription_state,
    )?;
    Ok(crate::types::SubscriptionReport {
        state,
        chargeable: state == crate::types::SubscriptionState::PastDue,
        price: subscription_state.price.get(),
        charges: subscription_state.charges.get(),
        max_charges: subscription_state.max_charges.get(),
        due_at: subscription_state.due_at.get(),
        expires_at: crate::helpers::expires_at(subscription_state)?,
    })
}
