//! Create the counter of a wallet.

use {
    crate::{
        events::Changed,
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    {
        let mut data = accounts.counter.try_borrow_mut()?;
        let state = State::load_mut(&mut data)?;
        state.authority = *accounts.authority.address();
        state.count.set(args.start);
    }
    Changed {
        counter: *accounts.counter.address(),
        count: args.start,
    }
    .emit()
}
