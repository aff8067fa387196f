//! Close a cancelled or expired subscription after its paid time, and return its rent. Anyone may
//! call it.

use {
    crate::{
        checks::{self, ensure},
        error::X402Error,
        events::SubscriptionClosed,
        helpers,
        instruction::close_subscription::{Accounts, Args},
        processor::shared::now,
        state::Subscription,
        types::SubscriptionState,
    },
    pinocchio::{cpi::Signer, error::ProgramError, AccountView, ProgramResult},
    pinocchio_token::instructions::Revoke,
};

/// What an ended subscription is still allowed.
fn left(account: &AccountView, now: i64) -> Result<u64, ProgramError> {
    let data = account.try_borrow()?;
    let state = Subscription::load(&data)?;
    let has_ended = match helpers::state_of_subscription(now, state)? {
        SubscriptionState::Expired => true,
        SubscriptionState::Cancelled => now >= state.due_at.get(),
        _ => false,
    };
    ensure(has_ended, X402Error::StillRunning)?;
    helpers::outstanding(state)
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
    helpers::need_mint_or_gone(accounts.mint, accounts.token_program)?;
    let now = now()?;
    let own = left(accounts.subscription, now)?;
    let outstanding = own
        .checked_add(left_of_others(accounts, now)?)
        .ok_or(X402Error::Overflow)?;
    let allowed = if own == 0 {
        0
    } else {
        helpers::allowance_of(
            accounts.source,
            *accounts.subscriber.address(),
            *accounts.delegate.address(),
            accounts.token_program,
        )?
    };
    if allowed > 0 {
        // a delegate can only give up its whole allowance
        let can_give_up = allowed <= outstanding && !checks::token_is_frozen(accounts.source)?;
        ensure(can_give_up, X402Error::AllowanceLeft)?;
        checks::revoke(
            &Revoke::new(accounts.source, accounts.delegate),
            &[Signer::from(&accounts.delegate_seeds())],
            accounts.token_program.address(),
        )?;
    }
    SubscriptionClosed {
        subscription: *accounts.subscription.address(),
    }
    .emit()
}
