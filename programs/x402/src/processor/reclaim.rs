// Rendered by idl2mcp from spec.py; edit the source. [4d867b694aa76c93]
//! Close the account of a drained channel after its window of 1,500 slots. Anyone may call it.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::reclaim::{Accounts, Args},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let channel_data = accounts.channel.try_borrow()?;
    let channel_state = Channel::load(&channel_data)?;
    crate::helpers::need_status(3, channel_state)?;
    checks::ensure(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.slot
            >= crate::helpers::reclaim_slot(channel_state.open_slot.get())?,
        X402Error::ChannelCloseTooEarly,
    )?;
    drop(channel_data);
    checks::close(accounts.channel, accounts.rent_payer)?;
    events::Reclaimed {
        channel: *accounts.channel.address(),
    }
    .emit()?;
    Ok(())
}
