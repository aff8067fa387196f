//! Cancel a subscription as its merchant: the unused part of the paid period goes back to the
//! subscriber.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::Cancelled,
        instruction::merchant_cancel::{Accounts, Args},
        processor::shared::{now, terms, tokens},
        state::Subscription,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let now = now()?;
    let decimals = tokens::mint_to_pass(accounts.mint)?;
    let refunded = {
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        let is_cancelled = state.cancelled_at.get() != 0;
        ensure(!is_cancelled, X402Error::SubscriptionCancelled)?;
        let refunded = terms::unused(state, now)?;
        state.cancelled_at.set(now);
        if now < state.due_at.get() {
            state.due_at.set(now); // what was paid ends here
        }
        refunded
    };
    if refunded > 0 {
        tokens::Move {
            from: accounts.source,
            mint: accounts.mint,
            to: accounts.destination,
            authority: accounts.merchant,
            amount: refunded,
            decimals,
            token_program: accounts.token_program,
        }
        .make_exact(accounts.merchant.address(), &[])?;
    }
    Cancelled {
        subscription: *accounts.subscription.address(),
        by_merchant: true,
        refunded,
    }
    .emit()
}
