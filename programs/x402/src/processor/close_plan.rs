//! Give a plan's rent back. Subscriptions go on with the terms that they have.

use {
    crate::{
        events::PlanClosed,
        instruction::close_plan::{Accounts, Args},
    },
    pinocchio::ProgramResult,
};

/// The account is closed after this, as the spec says.
pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    PlanClosed {
        plan: *accounts.plan.address(),
    }
    .emit()
}
