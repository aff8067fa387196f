//! Cancel a subscription as its merchant: the unused part of the paid period goes back to the
//! subscriber.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::Cancelled,
        instruction::merchant_cancel::{Accounts, Args},
        processor::shared::{allowance::Allowance, now, terms, tokens},
        state::Subscription,
    },
    pinocchio::{cpi::Signer, error::ProgramError, ProgramResult},
};

/// The subscriber's account can take a refund now, whole.
fn can_refund(accounts: &Accounts) -> Result<bool, ProgramError> {
    let (to, program) = (&accounts.destination, accounts.token_program.address());
    Ok(accounts.mint.owned_by(program)
        && to.owned_by(program)
        && tokens::is_of(to, accounts.subscriber.address())?
        && tokens::can_arrive(to, accounts.mint)?)
}

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let now = now()?;
    let program = accounts.token_program.address();
    tokens::mint_or_gone(accounts.mint, program)?;
    let can_refund = can_refund(accounts)?;
    let (refunded, outstanding) = {
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        let is_cancelled = state.cancelled_at.get() != 0;
        ensure(!is_cancelled, X402Error::SubscriptionCancelled)?;
        let unused = terms::unused(state, now)?;
        state.cancelled_at.set(now);
        // What was paid ends here. Without a refund the subscriber keeps the time: otherwise the
        // merchant would choose a moment at which there is none.
        let ends_now = unused == 0 || can_refund;
        if ends_now && now < state.due_at.get() {
            state.due_at.set(now);
        }
        (
            if ends_now { unused } else { 0 },
            terms::outstanding(state)?,
        )
    };
    if refunded > 0 {
        ensure(
            accounts.source.owned_by(program),
            X402Error::BalanceTooSmall,
        )?;
        tokens::Move {
            from: accounts.source,
            mint: accounts.mint,
            to: accounts.destination,
            authority: accounts.merchant,
            amount: refunded,
            decimals: tokens::mint_to_pass(accounts.mint)?,
            token_program: accounts.token_program,
        }
        .make_exact(accounts.merchant.address(), &[])?;
    }
    let is_back = Allowance {
        source: accounts.destination,
        delegate: accounts.delegate,
        subscriber: accounts.subscriber,
        token_program: accounts.token_program,
    }
    .give_up(outstanding, &[Signer::from(&accounts.delegate_seeds())])?;
    if is_back {
        terms::end(Subscription::load_mut(
            &mut accounts.subscription.try_borrow_mut()?,
        )?);
    }
    Cancelled {
        subscription: *accounts.subscription.address(),
        by_merchant: true,
        refunded,
    }
    .emit()
}
