// Rendered by idl2mcp from spec.py; edit the source. [731d52908988977d]
//! Close a receipt and return its rent, 7 days after its expiry or later. Anyone may call it.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::close_receipt::{Accounts, Args},
        state::Receipt,
    },
    pinocchio::ProgramResult,
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let receipt_data = accounts.receipt.try_borrow()?;
    let receipt_state = Receipt::load(&receipt_data)?;
    let until: i64 = receipt_state
        .expires_at
        .get()
        .checked_add(604_800)
        .ok_or(X402Error::Overflow)?;
    checks::ensure(
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp
            >= until,
        X402Error::ReceiptRetained,
    )?;
    events::ReceiptClosed {
        receipt: *accounts.receipt.address(),
        payment_id: &receipt_state.payment_id,
    }
    .emit()?;
    Ok(())
}
