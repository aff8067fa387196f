// Rendered by idl2mcp from spec.py; edit the source. [23b79635cbb25a28]
//! Pay for one call and leave a receipt. A payment id is never paid twice.
//!
//! When to use: For one payment of a known amount. Put it into the transaction of the call
//! that it pays for, or show the receipt. A repeated call fails with AlreadyPaid and moves no
//! tokens.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::pay::{Accounts, Args},
        state::Receipt,
    },
    pinocchio::{cpi::Signer, ProgramResult},
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    if !checks::is_new(accounts.receipt) {
        checks::state(accounts.receipt, accounts.program_id)?;
        Receipt::load(&accounts.receipt.try_borrow()?)?;
        let first_data = accounts.receipt.try_borrow()?;
        let first_state = Receipt::load(&first_data)?;
        if (first_state.amount.get() != args.amount) || (first_state.call_hash != *args.call_hash) {
            crate::log::return_data(first_data.get(..Receipt::LEN).unwrap_or_default());
            return Err(X402Error::PaymentIdReused.into());
        }
        crate::log::return_data(first_data.get(..Receipt::LEN).unwrap_or_default());
        return Err(X402Error::AlreadyPaid.into());
    }
    let clock: pinocchio::sysvars::clock::Clock =
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?;
    let now: i64 = clock.unix_timestamp;
    checks::ensure(args.amount > 0, X402Error::ZeroAmount)?;
    checks::ensure(
        !pinocchio::address::address_eq(accounts.payer.address(), accounts.payee.address()),
        X402Error::SelfPayment,
    )?;
    let expiry: i64 = i64::from_be_bytes(crate::bytes::read(&(*args.payment_id)[..], 0)?);
    checks::ensure(expiry == args.expires_at, X402Error::PaymentIdWithoutExpiry)?;
    checks::ensure(now < args.expires_at, X402Error::PaymentExpired)?;
    checks::ensure(
        args.expires_at
            .checked_sub(now)
            .ok_or(X402Error::ExpiryTooFar)?
            <= 2_592_000,
        X402Error::ExpiryTooFar,
    )?;
    crate::helpers::need_to_pass(accounts.mint)?;
    let mut new_view_2 = *accounts.receipt;
    checks::Create {
        account: &mut new_view_2,
        payer: accounts.rent_payer,
        space: Receipt::LEN,
        owner: accounts.program_id,
        signers: &[Signer::from(&accounts.receipt_seeds())],
    }
    .invoke()?;
    Receipt::create(&mut new_view_2.try_borrow_mut()?)?;
    let mut new_view = *accounts.receipt;
    let mut new_data = new_view.try_borrow_mut()?;
    let new_state = Receipt::load_mut(&mut new_data)?;
    new_state.bump = accounts.receipt_bump;
    new_state.payer = *accounts.payer.address();
    new_state.payee = *accounts.payee.address();
    new_state.mint = *accounts.mint.address();
    new_state.rent_payer = *accounts.rent_payer.address();
    new_state.payment_id = *args.payment_id;
    new_state.call_hash = *args.call_hash;
    new_state.amount.set(args.amount);
    new_state.paid_at.set(now);
    new_state.paid_slot.set(clock.slot);
    new_state.expires_at.set(args.expires_at);
    let before: u64 = crate::helpers::may_move((
        accounts.source,
        accounts.destination,
        *accounts.authority.address(),
        *accounts.payer.address(),
        args.amount,
    ))?;
    let decimals = checks::mint_decimals(accounts.mint)?;
    drop(new_data);
    checks::transfer_checked(
        &pinocchio_token::instructions::TransferChecked::new(
            accounts.source,
            accounts.mint,
            accounts.destination,
            accounts.authority,
            args.amount,
            decimals,
        ),
        &[],
        accounts.token_program.address(),
    )?;
    crate::helpers::need_exact(accounts.destination, before, args.amount)?;
    events::Paid {
        receipt: *accounts.receipt.address(),
        payer: *accounts.payer.address(),
        payee: *accounts.payee.address(),
        mint: *accounts.mint.address(),
        amount: args.amount,
        payment_id: &*args.payment_id,
        call_hash: &*args.call_hash,
    }
    .emit()?;
    Ok(())
}
