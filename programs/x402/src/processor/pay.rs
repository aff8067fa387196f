//! Pay for one call and leave a receipt. A payment id is never paid twice.
//!
//! The first 8 bytes of a payment id are its expiry, and its receipt exists for longer. So an id can
//! never be paid again, and the rent of a receipt is not lost.

use {
    crate::{
        checks::{self, ensure},
        constants::MAX_PAYMENT_TIME,
        error::X402Error,
        events::Paid,
        helpers,
        instruction::pay::{Accounts, Args},
        log::return_data,
        state::Receipt,
    },
    pinocchio::{
        cpi::{Seed, Signer},
        sysvars::{clock::Clock, Sysvar},
        ProgramResult,
    },
    pinocchio_token::instructions::TransferChecked,
};

/// A retry: moves no tokens, returns the first receipt, and says whether it is for the same payment.
#[inline(never)]
fn paid_before(accounts: &Accounts, args: &Args) -> ProgramResult {
    checks::state(accounts.receipt, accounts.program_id)?;
    let data = accounts.receipt.try_borrow()?;
    let receipt = Receipt::load(&data)?;
    return_data(&data);
    let is_same = receipt.amount.get() == args.amount && &receipt.call_hash == args.call_hash;
    ensure(is_same, X402Error::PaymentIdReused)?;
    Err(X402Error::AlreadyPaid.into())
}

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    if !checks::is_new(accounts.receipt) {
        return paid_before(accounts, args);
    }
    let (payer, payee) = (*accounts.payer.address(), *accounts.payee.address());
    let clock = Clock::get()?;
    let now = clock.unix_timestamp;
    ensure(args.amount > 0, X402Error::ZeroAmount)?;
    ensure(payer != payee, X402Error::SelfPayment)?;
    ensure(
        args.payment_id.first_chunk() == Some(&args.expires_at.to_be_bytes()),
        X402Error::PaymentIdWithoutExpiry,
    )?;
    ensure(now < args.expires_at, X402Error::PaymentExpired)?;
    ensure(
        args.expires_at
            .checked_sub(now)
            .is_some_and(|time| time <= MAX_PAYMENT_TIME),
        X402Error::ExpiryTooFar,
    )?;
    helpers::need_to_pass(accounts.mint)?;

    checks::Create {
        account: accounts.receipt,
        payer: accounts.rent_payer,
        space: Receipt::LEN,
        owner: accounts.program_id,
        signers: &[Signer::from(&[
            Seed::from(b"receipt".as_slice()),
            Seed::from(payer.as_ref()),
            Seed::from(payee.as_ref()),
            Seed::from(accounts.mint.address().as_ref()),
            Seed::from(args.payment_id.as_slice()),
            Seed::from(core::slice::from_ref(&accounts.receipt_bump)),
        ])],
    }
    .invoke()?;
    {
        let mut data = accounts.receipt.try_borrow_mut()?;
        let receipt = Receipt::create(&mut data)?;
        receipt.bump = accounts.receipt_bump;
        receipt.payer = payer;
        receipt.payee = payee;
        receipt.mint = *accounts.mint.address();
        receipt.rent_payer = *accounts.rent_payer.address();
        receipt.payment_id = *args.payment_id;
        receipt.call_hash = *args.call_hash;
        receipt.amount.set(args.amount);
        receipt.paid_at.set(now);
        receipt.paid_slot.set(clock.slot);
        receipt.expires_at.set(args.expires_at);
    }
    let (source, destination) = (&*accounts.source, &*accounts.destination);
    let authority = *accounts.authority.address();
    let before = helpers::may_move((source, destination, authority, payer, args.amount))?;
    checks::transfer_checked(
        &TransferChecked::new(
            source,
            accounts.mint,
            destination,
            accounts.authority,
            args.amount,
            checks::mint_decimals(accounts.mint)?,
        ),
        &[],
        accounts.token_program.address(),
    )?;
    helpers::need_exact(destination, before, args.amount)?;
    Paid {
        receipt: *accounts.receipt.address(),
        payer,
        payee,
        mint: *accounts.mint.address(),
        amount: args.amount,
        payment_id: args.payment_id,
        call_hash: args.call_hash,
    }
    .emit()
}
