//! How a channel stands now. Changes nothing.

use {
    crate::{
        error::X402Error,
        instruction::channel_status::{Accounts, Args},
        processor::shared::channel,
        state::Channel,
        types::{ChannelReport, ChannelState},
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> Result<ChannelReport, ProgramError> {
    let data = accounts.channel.try_borrow()?;
    let state = Channel::load(&data)?;
    channel::version(state)?;
    let (deposit, settled) = (state.deposit.get(), state.settled.get());
    let is_over = state.status == channel::DISTRIBUTED || state.payer_withdrawn_at.get() != 0;
    Ok(ChannelReport {
        state: match state.status {
            channel::OPEN => ChannelState::Open,
            channel::SEALED => ChannelState::Sealed,
            channel::CLOSING => ChannelState::Closing,
            channel::DISTRIBUTED => ChannelState::Distributed,
            _ => return Err(X402Error::InvalidChannelStatus.into()),
        },
        deposit,
        settled,
        undistributed: settled
            .checked_sub(state.payout_watermark.get())
            .ok_or(X402Error::DistributePoolOverflow)?,
        unspent: if is_over {
            0
        } else {
            deposit
                .checked_sub(settled)
                .ok_or(X402Error::RefundCalculationOverflow)?
        },
        seal_at: if state.status == channel::CLOSING {
            channel::deadline(state)?
        } else {
            0
        },
        reclaim_slot: channel::reclaim_slot(state.open_slot.get())?,
    })
}
