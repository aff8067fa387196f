//! Settle a voucher: the Ed25519 instruction right before this one proves it. Anyone may.

use {
    crate::{
        events::Settled,
        instruction::settle::{Accounts, Args},
        processor::shared::channel,
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    let mut data = accounts.channel.try_borrow_mut()?;
    let state = Channel::load_mut(&mut data)?;
    channel::in_status(state, channel::OPEN)?;
    let settled = channel::settle(state, &address, accounts.instructions_sysvar)?;
    Settled {
        channel: address,
        settled,
    }
    .emit()
}
