//! Close the account of a drained channel after its window. Anyone may call it.

use {
    crate::{
        checks::{close, ensure},
        error::X402Error,
        events::Reclaimed,
        instruction::reclaim::{Accounts, Args},
        processor::shared::channel,
        state::Channel,
    },
    pinocchio::{
        sysvars::{clock::Clock, Sysvar},
        ProgramResult,
    },
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    {
        let data = accounts.channel.try_borrow()?;
        let state = Channel::load(&data)?;
        channel::in_status(state, channel::DISTRIBUTED)?;
        ensure(
            Clock::get()?.slot >= channel::reclaim_slot(state.open_slot.get())?,
            X402Error::ChannelCloseTooEarly,
        )?;
    }
    close(accounts.channel, accounts.rent_payer)?;
    Reclaimed { channel: address }.emit()
}
