//! Charge a subscription that is due, once a period. Anyone may call it. Missed periods are not
//! charged.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::Charged,
        instruction::charge::{Accounts, Args},
        processor::shared::{now, terms, tokens},
        state::Subscription,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let now = now()?;
    let decimals = tokens::mint_to_pass(accounts.mint)?;
    let event = {
        let subscription = *accounts.subscription.address();
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        let is_cancelled = state.cancelled_at.get() != 0;
        ensure(!is_cancelled, X402Error::SubscriptionCancelled)?;
        ensure(now >= state.due_at.get(), X402Error::NotDue)?;
        ensure(
            state.charges.get() < state.max_charges.get(),
            X402Error::ChargesUsedUp,
        )?;
        ensure(
            now < terms::expires_at(state)?,
            X402Error::SubscriptionExpired,
        )?;
        let from = terms::current_period(state, now)?;
        terms::count(state, from)?;
        Charged {
            subscription,
            amount: state.price.get(),
            charges: state.charges.get(),
            due_at: state.due_at.get(),
        }
    };
    tokens::Move {
        from: accounts.source,
        mint: accounts.mint,
        to: accounts.destination,
        authority: accounts.delegate,
        amount: event.amount,
        decimals,
        token_program: accounts.token_program,
    }
    .make_exact(
        accounts.subscriber.address(),
        &[Signer::from(&accounts.delegate_seeds())],
    )?;
    event.emit()
}
