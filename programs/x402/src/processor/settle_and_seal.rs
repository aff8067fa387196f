// Rendered by idl2mcp from spec.py; edit the source. [c3a48b95db00f75b]
//! Seal a channel as its payee, with a last voucher or without one. It accepts no more
//! vouchers.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::settle_and_seal::{Accounts, Args},
        state::Channel,
    },
    pinocchio::{Address, ProgramResult},
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_version(channel_state)?;
    checks::ensure(
        crate::helpers::accepts_vouchers(channel_state)?,
        X402Error::InvalidChannelStatus,
    )?;
    if args.has_voucher != 0 {
        let index: u16 = crate::helpers::index_before(crate::bytes::current_index(
            accounts.instructions_sysvar,
        )?)?;
        let verifier: Address = *crate::bytes::program_at(accounts.instructions_sysvar, index)?;
        let proof: &[u8] = crate::bytes::data_at(accounts.instructions_sysvar, index)?;
        channel_state.settled.set(crate::helpers::proven((
            verifier,
            proof,
            *accounts.channel.address(),
            channel_state,
        ))?);
    }
    channel_state.status = 1;
    channel_state.closure_started_at.set(0);
    events::Sealed {
        channel: *accounts.channel.address(),
        settled: channel_state.settled.get(),
    }
    .emit()?;
    Ok(())
}
