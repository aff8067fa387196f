// Rendered by idl2mcp from spec.py; edit the source. [e37e21d481714e7d]
//! Return the state of a channel. Changes nothing.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        error::X402Error,
        instruction::channel_status::{Accounts, Args},
        state::Channel,
        types::ChannelReport,
    },
    pinocchio::error::ProgramError,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> Result<ChannelReport, ProgramError> {
    let channel_data = accounts.channel.try_borrow()?;
    let channel_state = Channel::load(&channel_data)?;
    crate::helpers::need_version(channel_state)?;
    let is_over: bool =
        (channel_state.status == 3) || (channel_state.payer_withdrawn_at.get() != 0);
    let state: crate::types::ChannelState = crate::helpers::state_of_channel(channel_state.status)?;
    let undistributed: u64 = channel_state
        .settled
        .get()
        .checked_sub(channel_state.payout_watermark.get())
        .ok_or(X402Error::DistributePoolOverflow)?;
    let unspent: u64 = if is_over {
        0_u64
    } else {
        channel_state
            .deposit
            .get()
            .checked_sub(channel_state.settled.get())
            .ok_or(X402Error::RefundCalculationOverflow)?
    };
    Ok(crate::types::ChannelReport {
        state,
        deposit: channel_state.deposit.get(),
        settled: channel_state.settled.get(),
        undistributed,
        unspent,
        seal_at: if channel_state.status == 2 {
            crate::helpers::seal_deadline(channel_state)?
        } else {
            0
        },
        reclaim_slot: crate::helpers::reclaim_slot(channel_state.open_slot.get())?,
    })
}
