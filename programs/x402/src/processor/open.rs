// Rendered by idl2mcp from spec.py; edit the source. [29574538fbbe10b2]
//! Open a channel: put tokens into escrow, from which vouchers of the authorized signer pay
//! the payee.
//!
//! When to use: Before many small payments to one payee: each then needs a signed voucher
//! instead of a transaction.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::open::{Accounts, Args},
        state::Channel,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    checks::different(accounts.channel, accounts.mint)?;
    checks::different(accounts.channel, accounts.payer_token_account)?;
    checks::ensure(
        !pinocchio::address::address_eq(accounts.payer.address(), accounts.payee.address()),
        X402Error::PayerPayeeMustDiffer,
    )?;
    checks::ensure(args.deposit > 0, X402Error::DepositMustBeNonZero)?;
    checks::ensure(args.grace_period > 0, X402Error::GracePeriodMustBeNonZero)?;
    checks::ensure(
        accounts.authorized_signer.address().is_on_curve(),
        X402Error::InvalidAuthorizedSigner,
    )?;
    let age: u64 = <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?
        .slot
        .checked_sub(args.open_slot)
        .ok_or(X402Error::OpenSlotOutOfWindow)?;
    checks::ensure(age <= 1500, X402Error::OpenSlotOutOfWindow)?;
    crate::helpers::need_entries(&args.recipients[..], *accounts.channel.address())?;
    let decimals: u8 = crate::helpers::mint_to_hold(accounts.mint, accounts.token_program)?;
    crate::helpers::need_payer(crate::helpers::flaw_of(
        accounts.payer_token_account,
        *accounts.payer.address(),
        accounts.mint,
        accounts.token_program,
    )?)?;
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    channel_state.version = 1;
    channel_state.status = 0;
    channel_state.salt.set(args.salt);
    channel_state.deposit.set(args.deposit);
    channel_state.grace_period.set(args.grace_period);
    channel_state.distribution_hash =
        crate::hash::sha256(&[&crate::hash::list(&args.recipients[..], |item, w| {
            item.encode(w)
        })?]);
    channel_state.payer = *accounts.payer.address();
    channel_state.payee = *accounts.payee.address();
    channel_state.authorized_signer = *accounts.authorized_signer.address();
    channel_state.mint = *accounts.mint.address();
    channel_state.rent_payer = *accounts.rent_payer.address();
    channel_state.open_slot.set(args.open_slot);
    drop(channel_data);
    checks::create_idempotent(
        [
            accounts.rent_payer,
            accounts.channel_token_account,
            accounts.channel,
            accounts.mint,
            accounts.system_program,
            accounts.token_program,
        ],
        &[],
    )?;
    checks::transfer_checked(
        &pinocchio_token::instructions::TransferChecked::new(
            accounts.payer_token_account,
            accounts.mint,
            accounts.channel_token_account,
            accounts.payer,
            args.deposit,
            decimals,
        ),
        &[],
        accounts.token_program.address(),
    )?;
    let event = {
        let mut bytes = crate::own::start::<events::Opened>(&events::Opened::DISCRIMINATOR)?;
        events::Opened {
            channel: *accounts.channel.address(),
            open_slot: args.open_slot,
        }
        .encode(&mut bytes)?;
        bytes
    };
    crate::own::emit(
        accounts.self_program,
        accounts.event_authority,
        &event,
        &[Signer::from(&accounts.event_authority_seeds())],
    )?;
    Ok(())
}
