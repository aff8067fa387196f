//! Close a cancelled or expired subscription after its paid time, and return its rent. Anyone may
//! call it.

use {
    crate::{
        checks::{self, ensure},
        error::X402Error,
        events::SubscriptionClosed,
        instruction::close_subscription::{Accounts, Args},
        processor::shared::{allowance::Allowance, now, terms, tokens},
        state::Subscription,
    },
    pinocchio::{cpi::Signer, error::ProgramError, AccountView, ProgramResult},
};

/// What an ended subscription is still allowed.
fn left(account: &AccountView, now: i64) -> Result<u64, ProgramError> {
    let data = account.try_borrow()?;
    let state = Subscription::load(&data)?;
    ensure(terms::has_ended(state, now)?, X402Error::StillRunning)?;
    terms::outstanding(state)
}

/// What the other ended subscriptions of the subscriber, which were given, are still allowed.
fn left_of_others(accounts: &Accounts, now: i64) -> Result<u64, ProgramError> {
    let (mut total, mut last) = (0_u64, [0; 32]);
    for other in accounts.remaining.iter() {
        // ordered by address, so that none counts twice
        let address = other.address();
        let is_next = address.as_array() > &last && address != accounts.subscription.address();
        last = *address.as_array();
        checks::state(other, accounts.program_id)?;
        {
            let data = other.try_borrow()?;
            let state = Subscription::load(&data)?;
            let is_theirs = &state.subscriber == accounts.subscriber.address()
                && &state.mint == accounts.mint.address();
            ensure(is_next && is_theirs, X402Error::SubscriptionMismatch)?;
        }
        total = total
            .checked_add(left(other, now)?)
            .ok_or(X402Error::Overflow)?;
    }
    Ok(total)
}

/// The account is closed after this, as the spec says.
pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    tokens::mint_or_gone(accounts.mint, accounts.token_program.address())?;
    let now = now()?;
    let own = left(accounts.subscription, now)?;
    let outstanding = own
        .checked_add(left_of_others(accounts, now)?)
        .ok_or(X402Error::Overflow)?;
    let is_back = own == 0
        || Allowance {
            source: accounts.source,
            delegate: accounts.delegate,
            subscriber: accounts.subscriber,
            token_program: accounts.token_program,
        }
        .give_up(outstanding, &[Signer::from(&accounts.delegate_seeds())])?;
    ensure(is_back, X402Error::AllowanceLeft)?;
    SubscriptionClosed {
        subscription: *accounts.subscription.address(),
    }
    .emit()
}
