//! Subscribe to a plan: charges the first period at once unless there is a trial, and lets later
//! charges take no more than the agreed number of periods.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::{Charged, Subscribed},
        instruction::subscribe::{Accounts, Args},
        processor::shared::{
            allowance::Allowance,
            now,
            terms::{self, Agreed},
            tokens,
        },
        state::{Plan, Subscription},
    },
    pinocchio::ProgramResult,
};

/// The subscription's account was created before this, as the spec says.
pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let now = now()?;
    let address = *accounts.subscription.address();
    let (merchant, subscriber) = (*accounts.merchant.address(), *accounts.subscriber.address());
    ensure(merchant != subscriber, X402Error::SelfPayment)?;
    let decimals = tokens::mint_to_pass(accounts.mint)?;
    let (has_trial, due_at, outstanding) = {
        let data = accounts.plan.try_borrow()?;
        let plan = Plan::load(&data)?;
        let trial = plan.trial.get();
        let agreed = Agreed {
            price: args.price,
            period: args.period,
            grace: args.grace,
            periods: args.periods,
        };
        terms::agree(plan, &agreed)?;
        ensure(trial == args.trial, X402Error::TermsChanged)?;
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        state.plan = *accounts.plan.address();
        state.terms = *accounts.plan.address();
        state.merchant = merchant;
        state.subscriber = subscriber;
        state.mint = *accounts.mint.address();
        state.rent_payer = *accounts.rent_payer.address();
        state.price.set(args.price);
        state.period.set(args.period);
        state.grace.set(args.grace);
        state.max_charges.set(args.periods);
        if trial == 0 {
            terms::count(state, now)?;
        } else {
            let end = now
                .checked_add(i64::from(trial))
                .ok_or(X402Error::Overflow)?;
            state.due_at.set(end);
        }
        (trial > 0, state.due_at.get(), terms::outstanding(state)?)
    };
    if !has_trial {
        tokens::Move {
            from: accounts.source,
            mint: accounts.mint,
            to: accounts.destination,
            authority: accounts.subscriber,
            amount: args.price,
            decimals,
            token_program: accounts.token_program,
        }
        .make_exact(&subscriber, &[])?;
    }
    Allowance {
        source: accounts.source,
        delegate: accounts.delegate,
        subscriber: accounts.subscriber,
        token_program: accounts.token_program,
    }
    .change(0, outstanding)?;
    Subscribed {
        subscription: address,
        plan: *accounts.plan.address(),
        subscriber,
        price: args.price,
        max_charges: args.periods,
        due_at,
    }
    .emit()?;
    if has_trial {
        return Ok(());
    }
    Charged {
        subscription: address,
        amount: args.price,
        charges: 1,
        due_at,
    }
    .emit()
}
