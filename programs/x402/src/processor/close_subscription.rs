//! Give the rent of a subscription back that is cancelled or expired, once what is paid has ended.
//! Anyone may.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::SubscriptionClosed,
        instruction::close_subscription::{Accounts, Args},
        processor::shared::{now, terms},
        state::Subscription,
        types::SubscriptionState,
    },
    pinocchio::ProgramResult,
};

/// The account is closed after this, as the spec says.
pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let now = now()?;
    let data = accounts.subscription.try_borrow()?;
    let state = Subscription::load(&data)?;
    let has_ended = match terms::state(state, now)? {
        SubscriptionState::Expired => true,
        SubscriptionState::Cancelled => now >= state.due_at.get(),
        _ => false,
    };
    ensure(has_ended, X402Error::StillRunning)?;
    SubscriptionClosed {
        subscription: *accounts.subscription.address(),
    }
    .emit()
}
