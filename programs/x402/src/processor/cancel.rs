//! Cancel a subscription as its subscriber, at any time. What is paid stays paid; nothing more is
//! charged.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::Cancelled,
        instruction::cancel::{Accounts, Args},
        processor::shared::{allowance::Allowance, now, terms, tokens},
        state::Subscription,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let address = *accounts.subscription.address();
    let outstanding = {
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        let is_cancelled = state.cancelled_at.get() != 0;
        ensure(!is_cancelled, X402Error::SubscriptionCancelled)?;
        state.cancelled_at.set(now()?);
        terms::outstanding(state)?
    };
    // The state alone stops all charges. The allowance is tidied up where that is possible: a frozen
    // or closed token account, one that refuses approvals by programs, or another delegate on it must
    // not keep anyone subscribed.
    let program = accounts.token_program.address();
    let is_usable = accounts.source.owned_by(program)
        && tokens::is_usable(accounts.source)?
        && !tokens::is_guarded(accounts.source)?;
    let is_ours = is_usable
        && tokens::delegate(accounts.source)?
            .is_some_and(|found| &found.address == accounts.delegate.address());
    if is_ours {
        Allowance {
            source: accounts.source,
            delegate: accounts.delegate,
            subscriber: accounts.subscriber,
            token_program: accounts.token_program,
        }
        .change(outstanding, 0)?;
    }
    Cancelled {
        subscription: address,
        by_merchant: false,
        refunded: 0,
    }
    .emit()
}
