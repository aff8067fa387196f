//! Settle a voucher: the Ed25519 instruction right before this one proves it. Anyone may.

use crate::events::Settled;
use crate::instruction::settle::{Accounts, Args};
use crate::processor::shared::channel;
use crate::state::Channel;
use pinocchio::ProgramResult;

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
