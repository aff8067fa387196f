// Rendered by idl2mcp from spec.py; edit the source. [91129b1e99f4e506]
//! Ask to close a channel as its payer. The payee then has the grace period for a last voucher.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        events,
        instruction::request_close::{Accounts, Args},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_status(0, channel_state)?;
    channel_state.status = 2;
    channel_state.closure_started_at.set(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp,
    );
    events::CloseRequested {
        channel: *accounts.channel.address(),
        seal_at: crate::helpers::seal_deadline(channel_state)?,
    }
    .emit()?;
    Ok(())
}
