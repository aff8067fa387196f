// Rendered by idl2mcp from spec.py; edit the source. [e9d0024d57a8a47e]
//! Close a cancelled or expired subscription after its paid time, and return its rent. Anyone
//! may call it. The
//! program's allowance for it is taken back first.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::close_subscription::{Accounts, Args},
        state::Subscription,
    },
    pinocchio::{cpi::Signer, Address, ProgramResult},
};

pub fn process(accounts: &mut Accounts, _args: &Args) -> ProgramResult {
    crate::helpers::need_mint_or_gone(accounts.mint, accounts.token_program)?;
    let now: i64 =
        <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp;
    let subscription_data = accounts.subscription.try_borrow()?;
    let subscription_state = Subscription::load(&subscription_data)?;
    let own: u64 = crate::helpers::left_of_ended(now, subscription_state)?;
    let mut total: u64 = own;
    let mut last: Address = const {
        Address::new_from_array([
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00,
        ])
    };
    for other in accounts.remaining.iter() {
        let is_next: bool = (last.as_array() < other.address().as_array())
            && !pinocchio::address::address_eq(other.address(), accounts.subscription.address());
        let other_data = other.try_borrow()?;
        let other_state = Subscription::load(&other_data)?;
        let is_theirs: bool =
            pinocchio::address::address_eq(&other_state.subscriber, accounts.subscriber.address())
                && pinocchio::address::address_eq(&other_state.mint, accounts.mint.address());
        checks::ensure(is_next && is_theirs, X402Error::SubscriptionMismatch)?;
        last = *other.address();
        let left: u64 = crate::helpers::left_of_ended(now, other_state)?;
        total = total.checked_add(left).ok_or(X402Error::Overflow)?;
    }
    let mut allowed: u64 = 0;
    if own > 0 {
        allowed = crate::helpers::allowance_of(
            accounts.source,
            *accounts.subscriber.address(),
            *accounts.delegate.address(),
            accounts.token_program,
        )?;
    }
    let condition = allowed > 0;
    drop(subscription_data);
    if condition {
        if !checks::is_token(accounts.source, accounts.token_program.address())?
            || checks::token_is_frozen(accounts.source)?
        {
            return Err(X402Error::AllowanceLeft.into());
        }
        checks::ensure(allowed <= total, X402Error::AllowanceLeft)?;
        checks::revoke(
            &pinocchio_token::instructions::Revoke::new(accounts.source, accounts.delegate),
            &[Signer::from(&accounts.delegate_seeds())],
            accounts.token_program.address(),
        )?;
    }
    events::SubscriptionClosed {
        subscription: *accounts.subscription.address(),
    }
    .emit()?;
    Ok(())
}
