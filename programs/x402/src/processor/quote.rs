//! What subscribing to a plan for some periods would cost now. Changes nothing.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        instruction::quote::{Accounts, Args},
        processor::shared::{now, terms},
        state::Plan,
        types::Quote,
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> Result<Quote, ProgramError> {
    let data = accounts.plan.try_borrow()?;
    let plan = Plan::load(&data)?;
    ensure(
        args.periods > 0 && args.periods <= plan.max_charges.get(),
        X402Error::TooManyPeriods,
    )?;
    let price = plan.price.get();
    let (first_charge, later, wait) = match plan.trial.get() {
        0 => (price, args.periods.saturating_sub(1), plan.period.get()),
        trial => (0, args.periods, trial),
    };
    Ok(Quote {
        price,
        first_charge,
        allowance: terms::cost(price, later)?,
        first_due: now()?
            .checked_add(i64::from(wait))
            .ok_or(X402Error::Overflow)?,
        period: plan.period.get(),
        mint: plan.mint,
        open: plan.open.get(),
    })
}
