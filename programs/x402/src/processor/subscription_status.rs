// Rendered by idl2mcp from spec.py; edit the source. [d51fe2d99f8eeeb7]
//! Return the state of a subscription. Changes nothing.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

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
