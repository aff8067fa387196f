//! Give a receipt's rent back, 7 days after its expiry. Anyone may.

use crate::checks::ensure;
use crate::constants::RECEIPT_RETENTION;
use crate::error::X402Error;
use crate::events::ReceiptClosed;
use crate::instruction::close_receipt::{Accounts, Args};
use crate::processor::shared::now;
use crate::state::Receipt;
use pinocchio::ProgramResult;

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
