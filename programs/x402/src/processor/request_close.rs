//! Ask to close a channel as its payer: the payee has the grace period for a last voucher.

use {
    crate::{
        events::CloseRequested,
        instruction::request_close::{Accounts, Args},
        processor::shared::{channel, now},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    let mut data = accounts.channel.try_borrow_mut()?;
    let state = Channel::load_mut(&mut data)?;
    channel::in_status(state, channel::OPEN)?;
    state.status = channel::CLOSING;
    state.closure_started_at.set(now()?);
    CloseRequested {
        channel: address,
        seal_at: channel::deadline(state)?,
    }
    .emit()
}
