//! Open a plan to new subscribers, or close it to them.

use {
    crate::{
        events::PlanOpened,
        instruction::set_plan_open::{Accounts, Args},
        state::Plan,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let address = *accounts.plan.address();
    let mut data = accounts.plan.try_borrow_mut()?;
    Plan::load_mut(&mut data)?.open.set(args.open);
    PlanOpened {
        plan: address,
        open: args.open,
    }
    .emit()
}
