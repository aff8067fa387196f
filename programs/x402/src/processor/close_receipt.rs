//! Close a receipt and return its rent, 7 days after its expiry or later. Anyone may call it.

use {
    crate::{
        checks::ensure,
        constants::RECEIPT_RETENTION,
        error::X402Error,
        events::ReceiptClosed,
        instruction::close_receipt::{Accounts, Args},
        processor::shared::now,
        state::Receipt,
    },
    pinocchio::ProgramResult,
};

/// The account is closed after this, as the spec says.
pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    let data = accounts.receipt.try_borrow()?;
    let receipt = Receipt::load(&data)?;
    let until = receipt
        .expires_at
        .get()
        .checked_add(RECEIPT_RETENTION)
        .ok_or(X402Error::Overflow)?;
    ensure(now()? >= until, X402Error::ReceiptRetained)?;
    ReceiptClosed {
        receipt: *accounts.receipt.address(),
        payment_id: &receipt.payment_id,
    }
    .emit()
}
