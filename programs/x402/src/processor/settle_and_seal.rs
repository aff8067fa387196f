//! Seal a channel as its payee, with a last voucher or without one. It accepts no more vouchers.

use {
    crate::{
        checks::ensure,
        error::X402Error,
        events::Sealed,
        instruction::settle_and_seal::{Accounts, Args},
        processor::shared::{channel, now},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let address = *accounts.channel.address();
    let mut data = accounts.channel.try_borrow_mut()?;
    let state = Channel::load_mut(&mut data)?;
    channel::version(state)?;
    let in_time = match state.status {
        channel::OPEN => true,
        channel::CLOSING => now()? < channel::deadline(state)?,
        _ => false,
    };
    ensure(in_time, X402Error::InvalidChannelStatus)?;
    if args.has_voucher != 0 {
        channel::settle(state, &address, accounts.instructions_sysvar)?;
    }
    channel::seal(state);
    Sealed {
        channel: address,
        settled: state.settled.get(),
    }
    .emit()
}
