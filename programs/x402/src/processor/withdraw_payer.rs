// Rendered by idl2mcp from spec.py; edit the source. [5446bf71ef3460b6]
//! Take the rest out of a sealed channel as its payer, once: the tokens that no voucher proved.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::withdraw_payer::{Accounts, Args},
        state::Channel,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    checks::different(accounts.channel, accounts.channel_token_account)?;
    checks::different(accounts.channel, accounts.payer_token_account)?;
    checks::different(accounts.channel, accounts.mint)?;
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_status(1, channel_state)?;
    checks::ensure(
        channel_state.payer_withdrawn_at.get() == 0,
        X402Error::PayerAlreadyWithdrawn,
    )?;
    let amount: u64 = channel_state
        .deposit
        .get()
        .checked_sub(channel_state.settled.get())
        .ok_or(X402Error::RefundCalculationOverflow)?;
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
    channel_state.payer_withdrawn_at.set(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp,
    );
    let condition = amount > 0;
    drop(channel_data);
    if condition {
        checks::transfer_checked(
            &pinocchio_token::instructions::TransferChecked::new(
                accounts.channel_token_account,
                accounts.mint,
                accounts.payer_token_account,
                accounts.channel,
                amount,
                decimals,
            ),
            &[Signer::from(&accounts.channel_seeds())],
            accounts.token_program.address(),
        )?;
    }
    events::PayerWithdrew {
        channel: *accounts.channel.address(),
        amount,
    }
    .emit()?;
    Ok(())
}
