// Rendered by idl2mcp from spec.py; edit the source. [8494d75e1822e431]
//! Return the price of subscribing to a plan for some periods. Changes nothing.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        instruction::quote::{Accounts, Args},
        state::Plan,
        types::Quote,
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> Result<Quote, ProgramError> {
    let plan_data = accounts.plan.try_borrow()?;
    let plan_state = Plan::load(&plan_data)?;
    checks::ensure(
        (args.periods > 0) && (args.periods <= plan_state.max_charges.get()),
        X402Error::TooManyPeriods,
    )?;
    let has_trial: bool = plan_state.trial.get() > 0;
    let later: u32 = if has_trial {
        args.periods
    } else {
        args.periods.saturating_sub(1)
    };
    let wait: u32 = if has_trial {
        plan_state.trial.get()
    } else {
        plan_state.period.get()
    };
    Ok(crate::types::Quote {
        price: plan_state.price.get(),
        first_charge: if has_trial {
            0_u64
        } else {
            plan_state.price.get()
        },
        allowance: plan_state
            .price
            .get()
            .checked_mul(u64::from(later))
            .ok_or(X402Error::Overflow)?,
        first_due: <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?
            .unix_timestamp
            .checked_add(i64::from(wait))
            .ok_or(X402Error::Overflow)?,
        period: plan_state.period.get(),
        mint: plan_state.mint,
        open: plan_state.open.get(),
    })
}
