//! Create the counter of a wallet.

use {
    crate::{
        events::Changed,
        instruction::initialize::{Accounts, Args},
        state::State,
    },
    solana_program::entrypoint::ProgramResult,
};

pub fn process(accounts: &Accounts, args: &Args) -> ProgramResult {
    {
        let mut data = accounts.counter.try_borrow_mut_data()?;
        let state = State::load_mut(&mut data)?;
        state.authority = *accounts.authority.key;
        state.count.set(args.start);
    }
    Changed {
        counter: *accounts.counter.key,
        count: args.start,
    }
    .emit()
}
