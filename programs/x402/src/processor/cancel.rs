//! Cancel a subscription as its subscriber, at any time. Nothing more is charged, and nothing is
//! refunded.

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
    tokens::mint_or_gone(accounts.mint, accounts.token_program.address())?;
    let outstanding = {
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        let outstanding = terms::outstanding(state)?;
        // a subscription that the merchant cancelled, or that was cancelled while the account was
        // frozen, may still have an allowance
        ensure(
            state.cancelled_at.get() == 0 || outstanding > 0,
            X402Error::SubscriptionCancelled,
        )?;
        if state.cancelled_at.get() == 0 {
            state.cancelled_at.set(now()?);
        }
        outstanding
    };
    // The state alone stops all charges. The allowance is tidied up where that is possible: a frozen
    // or closed token account, one that refuses approvals by programs, one of another owner, or
    // another delegate on it must not keep anyone subscribed.
    let is_back = Allowance {
        source: accounts.source,
        delegate: accounts.delegate,
        subscriber: accounts.subscriber,
        token_program: accounts.token_program,
    }
    .take_back(outstanding)?;
    if is_back {
        terms::end(Subscription::load_mut(
            &mut accounts.subscription.try_borrow_mut()?,
        )?);
    }
    Cancelled {
        subscription: address,
        by_merchant: false,
        refunded: 0,
    }
    .emit()
}
