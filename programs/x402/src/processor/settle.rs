// Rendered by idl2mcp from spec.py; edit the source. [033ebfe42f329856]
//! Settle a voucher, which the Ed25519 instruction directly before this one proves. Anyone may
//! call it.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        events,
        instruction::settle::{Accounts, Args},
        state::Channel,
    },
    pinocchio::{Address, ProgramResult},
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_status(0, channel_state)?;
    let index: u16 =
        crate::helpers::index_before(crate::bytes::current_index(accounts.instructions_sysvar)?)?;
    let verifier: Address = *crate::bytes::program_at(accounts.instructions_sysvar, index)?;
    let proof: &[u8] = crate::bytes::data_at(accounts.instructions_sysvar, index)?;
    channel_state.settled.set(crate::helpers::proven((
        verifier,
        proof,
        *accounts.channel.address(),
        channel_state,
    ))?);
    events::Settled {
        channel: *accounts.channel.address(),
        settled: channel_state.settled.get(),
    }
    .emit()?;
    Ok(())
}
