//! Agree to the terms of another plan of the same merchant, from the next charge on; or to more
//! periods of the same plan.

use {
    crate::{
        error::X402Error,
        events::PlanChanged,
        instruction::change_plan::{Accounts, Args},
        processor::shared::{
            allowance::Allowance,
            now,
            terms::{self, Agreed},
            tokens,
        },
        state::{Plan, Subscription},
        types::SubscriptionState,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    tokens::mint_to_pass(accounts.mint)?;
    let (less, more) = {
        let data = accounts.plan.try_borrow()?;
        let plan = Plan::load(&data)?;
        let agreed = Agreed {
            price: args.price,
            period: args.period,
            grace: args.grace,
            periods: args.periods,
        };
        terms::agree(plan, &agreed)?;
        let mut data = accounts.subscription.try_borrow_mut()?;
        let state = Subscription::load_mut(&mut data)?;
        match terms::state(state, now()?)? {
            SubscriptionState::Cancelled => {
                return Err(X402Error::SubscriptionCancelled.into());
            }
            SubscriptionState::Expired => return Err(X402Error::SubscriptionExpired.into()),
            _ => {}
        }
        let less = terms::outstanding(state)?;
        state.terms = *accounts.plan.address();
        state.price.set(args.price);
        state.period.set(args.period);
        state.grace.set(args.grace);
        state.charges.set(0);
        state.max_charges.set(args.periods);
        (less, terms::outstanding(state)?)
    };
    Allowance {
        source: accounts.source,
        delegate: accounts.delegate,
        subscriber: accounts.subscriber,
        token_program: accounts.token_program,
    }
    .change(less, more)?;
    PlanChanged {
        subscription: *accounts.subscription.address(),
        terms: *accounts.plan.address(),
        price: args.price,
        max_charges: args.periods,
    }
    .emit()
}
