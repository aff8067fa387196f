// Rendered by idl2mcp from spec.py; edit the source. [6137e80e155c3478]
//! Put more tokens into an open channel.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::top_up::{Accounts, Args},
        state::Channel,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    checks::different(accounts.channel, accounts.payer_token_account)?;
    checks::different(accounts.channel, accounts.channel_token_account)?;
    checks::different(accounts.channel, accounts.mint)?;
    checks::ensure(args.amount > 0, X402Error::DepositMustBeNonZero)?;
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_status(0, channel_state)?;
    let decimals: u8 = crate::helpers::mint_to_hold(accounts.mint, accounts.token_program)?;
    crate::helpers::need_escrow(crate::helpers::flaw_of(
        accounts.channel_token_account,
        *accounts.channel.address(),
        accounts.mint,
        accounts.token_program,
    )?)?;
    crate::helpers::need_payer(crate::helpers::flaw_of(
        accounts.payer_token_account,
        *accounts.payer.address(),
        accounts.mint,
        accounts.token_program,
    )?)?;
    let deposit: u64 = channel_state
        .deposit
        .get()
        .checked_add(args.amount)
        .ok_or(X402Error::TopUpDepositOverflow)?;
    channel_state.deposit.set(deposit);
    drop(channel_data);
    checks::transfer_checked(
        &pinocchio_token::instructions::TransferChecked::new(
            accounts.payer_token_account,
            accounts.mint,
            accounts.channel_token_account,
            accounts.payer,
            args.amount,
            decimals,
        ),
        &[],
        accounts.token_program.address(),
    )?;
    events::ToppedUp {
        channel: *accounts.channel.address(),
        deposit,
    }
    .emit()?;
    Ok(())
}
