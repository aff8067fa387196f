//! Seal a closing channel after its grace period. Anyone may call it.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::Sealed,
        instruction::seal::{Accounts, Args},
        processor::shared::{channel, now},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    let mut data = accounts.channel.try_borrow_mut()?;
    let state = Channel::load_mut(&mut data)?;
    channel::in_status(state, channel::CLOSING)?;
    ensure(
        now()? >= channel::deadline(state)?,
        X402Error::SealGracePeriodNotElapsed,
    )?;
    channel::seal(state);
    Sealed {
        channel: address,
        settled: state.settled.get(),
    }
    .emit()
}
