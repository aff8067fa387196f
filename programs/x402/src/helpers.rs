// Rendered by idl2mcp from spec.py; edit the source. [afedcc5f356ee414]
//! What several handlers share: functions of the source.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{checks, error::X402Error},
    pinocchio::{error::ProgramError, AccountView, Address},
};

pub fn state_of_channel(status: u8) -> Result<crate::types::ChannelState, ProgramError> {
    if status == 0 {
        Ok(crate::types::ChannelState::Open)
    } else if status == 1 {
        Ok(crate::types::ChannelState::Sealed)
    } else if status == 2 {
        Ok(crate::types::ChannelState::Closing)
    } else if status == 3 {
        Ok(crate::types::ChannelState::Distributed)
    } else {
        Err(X402Error::InvalidChannelStatus.into())
    }
}

pub fn left_of_ended(
    now: i64,
    subscription: &crate::state::Subscription,
) -> Result<u64, ProgramError> {
    let state: crate::types::SubscriptionState =
        crate::helpers::state_of_subscription(now, subscription)?;
    let is_over: bool =
        (state == crate::types::SubscriptionState::Cancelled) && (now >= subscription.due_at.get());
    checks::ensure(
        is_over || (state == crate::types::SubscriptionState::Expired),
        X402Error::StillRunning,
    )?;
    Ok(crate::helpers::outstanding(subscription)?)
}

pub fn outstanding(subscription: &crate::state::Subscription) -> Result<u64, ProgramError> {
    let left: u32 = subscription
        .max_charges
        .get()
        .saturating_sub(subscription.charges.get());
    Ok(subscription
        .price
        .get()
        .checked_mul(u64::from(left))
        .ok_or(X402Error::Overflow)?)
}

pub fn state_of_subscription(
    now: i64,
    subscription: &crate::state::Subscription,
) -> Result<crate::types::SubscriptionState, ProgramError> {
    if subscription.cancelled_at.get() != 0 {
        return Ok(crate::types::SubscriptionState::Cancelled);
    }
    if now < subscription.due_at.get() {
        if subscription.paid_from.get() == 0 {
            return Ok(crate::types::SubscriptionState::Pending);
        }
        return Ok(crate::types::SubscriptionState::Active);
    }
    if (subscription.charges.get() >= subscription.max_charges.get())
        || (now >= crate::helpers::expires_at(subscription)?)
    {
        return Ok(crate::types::SubscriptionState::Expired);
    }
    Ok(crate::types::SubscriptionState::PastDue)
}

pub fn expires_at(subscription: &crate::state::Subscription) -> Result<i64, ProgramError> {
    Ok(subscription
        .due_at
        .get()
        .checked_add(i64::from(subscription.grace.get()))
        .ok_or(X402Error::Overflow)?)
}

pub fn unused(now: i64, subscription: &crate::state::Subscription) -> Result<u64, ProgramError> {
    let start: i64 = subscription.paid_from.get();
    let until: i64 = subscription.due_at.get();
    if (start == 0) || (now >= until) {
        return Ok(0);
    }
    let left: u128 = u128::try_from(
        until
            .checked_sub(now.max(start))
            .ok_or(X402Error::Overflow)?,
    )
    .map_err(|_| X402Error::Overflow)?;
    let whole: u128 = u128::try_from(until.checked_sub(start).ok_or(X402Error::Overflow)?)
        .map_err(|_| X402Error::Overflow)?;
    let product: u128 = u128::from(subscription.last_price.get())
        .checked_mul(left)
        .ok_or(X402Error::Overflow)?;
    Ok(u64::try_from(
        product
            .checked_add(whole.saturating_sub(1))
            .ok_or(X402Error::Overflow)?
            .checked_div(whole)
            .ok_or(X402Error::Overflow)?,
    )
    .map_err(|_| X402Error::Overflow)?)
}

pub fn can_arrive(
    to: &AccountView,
    owner: Address,
    coin: &AccountView,
    token_program: &AccountView,
) -> Result<bool, ProgramError> {
    if !checks::is_token(to, token_program.address())?
        || !checks::is_mint(coin, token_program.address())?
    {
        return Ok(false);
    }
    Ok(
        pinocchio::address::address_eq(&checks::token_owner(to)?, &owner)
            && !checks::token_is_frozen(to)?
            && crate::helpers::takes_transfers(to)?
            && crate::helpers::is_untaxed(coin)?,
    )
}

pub fn is_untaxed(coin: &AccountView) -> Result<bool, ProgramError> {
    for extension in checks::Extensions::of(&coin.try_borrow()?) {
        if extension.kind == 1 {
            if !(extension.is_zero(88, 90) && extension.is_zero(106, 108)) {
                return Ok(false);
            }
        } else if extension.kind == 14 {
            if !extension.is_zero(32, 64) {
                return Ok(false);
            }
        } else if extension.kind == 26 {
            if !extension.is_zero(32, 33) {
                return Ok(false);
            }
        } else if (extension.kind == 3)
            || (extension.kind == 4)
            || (extension.kind == 6)
            || (extension.kind == 10)
            || (extension.kind == 12)
            || (extension.kind == 16)
            || (extension.kind == 18)
            || (extension.kind == 19)
            || (extension.kind == 20)
            || (extension.kind == 21)
            || (extension.kind == 22)
            || (extension.kind == 23)
            || (extension.kind == 25)
        {
        } else {
            return Ok(false);
        }
    }
    Ok(true)
}

pub fn takes_transfers(to: &AccountView) -> Result<bool, ProgramError> {
    for extension in checks::Extensions::of(&to.try_borrow()?) {
        if (extension.kind == 2)
            || (extension.kind == 7)
            || (extension.kind == 11)
            || (extension.kind == 15)
            || (extension.kind == 27)
        {
        } else if extension.kind == 8 {
            if !extension.is_zero(0, 1) {
                return Ok(false);
            }
        } else {
            return Ok(false);
        }
    }
    Ok(true)
}

pub fn can_change_allowance(source: &AccountView) -> Result<bool, ProgramError> {
    if checks::token_is_frozen(source)? {
        return Ok(false);
    }
    for extension in checks::Extensions::of(&source.try_borrow()?) {
        let is_guard: bool = (extension.kind == 11) && !extension.is_zero(0, 1);
        if is_guard || (extension.kind == 65_535) {
            return Ok(false);
        }
    }
    Ok(true)
}

pub fn end(subscription: &mut crate::state::Subscription) -> Result<(), ProgramError> {
    subscription.max_charges.set(subscription.charges.get());
    Ok(())
}

pub fn allowance_of(
    source: &AccountView,
    subscriber: Address,
    delegate: Address,
    token_program: &AccountView,
) -> Result<u64, ProgramError> {
    if !checks::is_token(source, token_program.address())?
        || !pinocchio::address::address_eq(&checks::token_owner(source)?, &subscriber)
    {
        return Ok(0);
    }
    Ok(
        if checks::token_delegate(source)?
            .is_some_and(|it| pinocchio::address::address_eq(&it, &delegate))
        {
            checks::token_delegated_amount(source)?
        } else {
            0
        },
    )
}

pub fn need_mint_or_gone(
    coin: &AccountView,
    token_program: &AccountView,
) -> Result<(), ProgramError> {
    let is_gone: bool = !checks::is_owned(
        coin,
        &const {
            Address::new_from_array([
                0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb,
                0x79, 0xac, 0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85,
                0x7e, 0xff, 0x00, 0xa9,
            ])
        },
    ) && !checks::is_owned(
        coin,
        &const {
            Address::new_from_array([
                0x06, 0xdd, 0xf6, 0xe1, 0xee, 0x75, 0x8f, 0xde, 0x18, 0x42, 0x5d, 0xbc, 0xe4, 0x6c,
                0xcd, 0xda, 0xb6, 0x1a, 0xfc, 0x4d, 0x83, 0xb9, 0x0d, 0x27, 0xfe, 0xbd, 0xf9, 0x28,
                0xd8, 0xa1, 0x8b, 0xfc,
            ])
        },
    );
    checks::ensure(
        is_gone || checks::is_owned(coin, token_program.address()),
        X402Error::WrongTokenProgram,
    )?;
    Ok(())
}

pub fn current_period(
    now: i64,
    subscription: &crate::state::Subscription,
) -> Result<i64, ProgramError> {
    let late: u64 = u64::try_from(
        now.checked_sub(subscription.due_at.get())
            .ok_or(X402Error::Overflow)?,
    )
    .map_err(|_| X402Error::Overflow)?;
    let period: u64 = u64::from(subscription.period.get());
    Ok(subscription
        .due_at
        .get()
        .checked_add(
            i64::try_from(
                late.checked_div(core::hint::black_box(period))
                    .ok_or(X402Error::Overflow)?
                    .checked_mul(period)
                    .ok_or(X402Error::Overflow)?,
            )
            .map_err(|_| X402Error::Overflow)?,
        )
        .ok_or(X402Error::Overflow)?)
}

pub fn changed_allowance(
    source: &AccountView,
    delegate: Address,
    less: u64,
    more: u64,
) -> Result<u64, ProgramError> {
    let mut current: u64 = 0;
    if checks::token_delegate(source)?
        .is_some_and(|it| pinocchio::address::address_eq(&it, &delegate))
    {
        current = checks::token_delegated_amount(source)?;
    } else {
        let is_free: bool = checks::token_delegate(source)?.is_none()
            || (checks::token_delegated_amount(source)? == 0);
        checks::ensure(is_free, X402Error::OtherDelegate)?;
    }
    Ok(current
        .saturating_sub(less)
        .checked_add(more)
        .ok_or(X402Error::Overflow)?)
}

pub fn may_take(source: &AccountView, to: &AccountView, amount: u64) -> Result<u64, ProgramError> {
    checks::ensure(
        checks::token_amount(source)? >= amount,
        X402Error::BalanceTooSmall,
    )?;
    Ok(checks::token_amount(to)?)
}

pub fn need_thawed(source: &AccountView, to: &AccountView) -> Result<(), ProgramError> {
    checks::ensure(
        !checks::token_is_frozen(source)? && !checks::token_is_frozen(to)?,
        X402Error::AccountFrozen,
    )?;
    Ok(())
}

pub fn count(
    start: i64,
    subscription: &mut crate::state::Subscription,
) -> Result<(), ProgramError> {
    subscription.charges.set(
        subscription
            .charges
            .get()
            .checked_add(1)
            .ok_or(X402Error::Overflow)?,
    );
    subscription.due_at.set(
        start
            .checked_add(i64::from(subscription.period.get()))
            .ok_or(X402Error::Overflow)?,
    );
    subscription.last_price.set(subscription.price.get());
    subscription.paid_from.set(start);
    Ok(())
}

pub fn agree(
    (price, period, grace, periods, plan): (u64, u32, u32, u32, &crate::state::Plan),
) -> Result<(), ProgramError> {
    checks::ensure(plan.open.get(), X402Error::PlanNotOpen)?;
    let is_same: bool =
        (plan.price.get() == price) && (plan.period.get() == period) && (plan.grace.get() == grace);
    checks::ensure(is_same, X402Error::TermsChanged)?;
    checks::ensure(
        (periods > 0) && (periods <= plan.max_charges.get()),
        X402Error::TooManyPeriods,
    )?;
    Ok(())
}

pub fn need_exact(to: &AccountView, before: u64, amount: u64) -> Result<(), ProgramError> {
    checks::ensure(
        checks::token_amount(to)?.saturating_sub(before) == amount,
        X402Error::FeeTaken,
    )?;
    Ok(())
}

pub fn may_move(
    (source, to, authority, owner, amount): (&AccountView, &AccountView, Address, Address, u64),
) -> Result<u64, ProgramError> {
    crate::helpers::need_thawed(source, to)?;
    if !pinocchio::address::address_eq(&authority, &owner) {
        checks::ensure(
            checks::token_delegate(source)?
                .is_some_and(|it| pinocchio::address::address_eq(&it, &authority)),
            X402Error::NotOwnerNorDelegate,
        )?;
        checks::ensure(
            checks::token_delegated_amount(source)? >= amount,
            X402Error::AllowanceTooSmall,
        )?;
    }
    Ok(crate::helpers::may_take(source, to, amount)?)
}

pub fn need_to_pass(mint: &AccountView) -> Result<(), ProgramError> {
    for extension in checks::Extensions::of(&mint.try_borrow()?) {
        if (extension.kind == 1)
            || (extension.kind == 3)
            || (extension.kind == 4)
            || (extension.kind == 6)
            || (extension.kind == 10)
            || (extension.kind == 12)
            || (extension.kind == 16)
            || (extension.kind == 18)
            || (extension.kind == 19)
            || (extension.kind == 20)
            || (extension.kind == 21)
            || (extension.kind == 22)
            || (extension.kind == 23)
            || (extension.kind == 25)
            || (extension.kind == 26)
        {
        } else if extension.kind == 14 {
            checks::ensure(
                extension.is_zero(32, 64),
                X402Error::UnsupportedMintExtension,
            )?;
        } else {
            return Err(X402Error::UnsupportedMintExtension.into());
        }
    }
    Ok(())
}

pub fn reclaim_slot(open_slot: u64) -> Result<u64, ProgramError> {
    Ok(open_slot
        .checked_add(1500)
        .ok_or(ProgramError::ArithmeticOverflow)?
        .checked_add(1)
        .ok_or(ProgramError::ArithmeticOverflow)?)
}

pub fn reason_of(flaw: u8) -> Result<crate::types::RedirectReason, ProgramError> {
    if flaw == 2 {
        Ok(crate::types::RedirectReason::NotInitialized)
    } else if flaw == 3 {
        Ok(crate::types::RedirectReason::ReassignedAuthority)
    } else {
        Ok(crate::types::RedirectReason::UnsupportedExtension)
    }
}

pub fn need_treasury(flaw: u8) -> Result<(), ProgramError> {
    checks::ensure(flaw != 1, X402Error::InvalidTreasuryTokenAccount)?;
    checks::ensure(flaw < 4, X402Error::InvalidTreasuryTokenExtensions)?;
    checks::ensure(flaw == 0, X402Error::TreasuryAccountMismatch)?;
    Ok(())
}

pub fn need_payee(flaw: u8) -> Result<(), ProgramError> {
    checks::ensure(flaw != 1, X402Error::InvalidPayeeTokenAccount)?;
    checks::ensure(flaw < 4, X402Error::InvalidPayeeTokenExtensions)?;
    checks::ensure(flaw == 0, X402Error::PayeeAccountMismatch)?;
    Ok(())
}

pub fn need_recipient(flaw: u8) -> Result<(), ProgramError> {
    checks::ensure(flaw != 1, X402Error::InvalidRecipientTokenAccount)?;
    checks::ensure(flaw < 4, X402Error::InvalidRecipientTokenExtensions)?;
    checks::ensure(flaw == 0, X402Error::RecipientAccountMismatch)?;
    Ok(())
}

pub fn payee_bps(entries: &[crate::types::DistributionEntry]) -> Result<u64, ProgramError> {
    let mut left: u64 = 10_000;
    for entry in entries.iter().copied() {
        checks::ensure(entry.bps > 0, X402Error::InvalidSplitConfig)?;
        left = left
            .checked_sub(u64::from(entry.bps))
            .ok_or(X402Error::InvalidSplitConfig)?;
    }
    Ok(left)
}

pub fn share(start: u64, end: u64, bps: u64) -> Result<u64, ProgramError> {
    Ok(crate::helpers::part_of(end, bps)
        .map_err(|error| {
            if error == ProgramError::ArithmeticOverflow {
                X402Error::DistributePoolOverflow.into()
            } else {
                error
            }
        })?
        .checked_sub(crate::helpers::part_of(start, bps).map_err(|error| {
            if error == ProgramError::ArithmeticOverflow {
                X402Error::DistributePoolOverflow.into()
            } else {
                error
            }
        })?)
        .ok_or(X402Error::DistributePoolOverflow)?)
}

pub fn part_of(amount: u64, bps: u64) -> Result<u64, ProgramError> {
    Ok(amount
        .checked_div(10_000)
        .ok_or(ProgramError::ArithmeticOverflow)?
        .checked_mul(bps)
        .ok_or(ProgramError::ArithmeticOverflow)?
        .checked_add(
            amount
                .checked_rem(10_000)
                .ok_or(ProgramError::ArithmeticOverflow)?
                .checked_mul(bps)
                .ok_or(ProgramError::ArithmeticOverflow)?
                .checked_div(10_000)
                .ok_or(ProgramError::ArithmeticOverflow)?,
        )
        .ok_or(ProgramError::ArithmeticOverflow)?)
}

pub fn seal_deadline(channel: &crate::state::Channel) -> Result<i64, ProgramError> {
    Ok(channel
        .closure_started_at
        .get()
        .checked_add(i64::from(channel.grace_period.get()))
        .ok_or(X402Error::SealDeadlineOverflow)?)
}

pub fn accepts_vouchers(channel: &crate::state::Channel) -> Result<bool, ProgramError> {
    if channel.status == 2 {
        return Ok(
            <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.unix_timestamp
                < crate::helpers::seal_deadline(channel)?,
        );
    }
    Ok(channel.status == 0)
}

pub fn need_version(channel: &crate::state::Channel) -> Result<(), ProgramError> {
    checks::ensure(channel.version == 1, X402Error::UnsupportedChannelVersion)?;
    Ok(())
}

pub fn need_escrow(flaw: u8) -> Result<(), ProgramError> {
    checks::ensure(flaw != 1, X402Error::InvalidChannelTokenAccount)?;
    checks::ensure(flaw < 4, X402Error::InvalidChannelTokenExtensions)?;
    checks::ensure(flaw == 0, X402Error::ChannelAccountMismatch)?;
    Ok(())
}

pub fn proven(
    (verifier, proof, address, channel): (Address, &[u8], Address, &crate::state::Channel),
) -> Result<u64, ProgramError> {
    checks::ensure(
        pinocchio::address::address_eq(
            &verifier,
            &const {
                Address::new_from_array([
                    0x03, 0x7d, 0x46, 0xd6, 0x7c, 0x93, 0xfb, 0xbe, 0x12, 0xf9, 0x42, 0x8f, 0x83,
                    0x8d, 0x40, 0xff, 0x05, 0x70, 0x74, 0x49, 0x27, 0xf4, 0x8a, 0x64, 0xfc, 0xca,
                    0x70, 0x44, 0x80, 0x00, 0x00, 0x00,
                ])
            },
        ),
        X402Error::MissingEd25519Verification,
    )?;
    let is_whole: bool = (crate::bytes::length(proof) == 162)
        && (crate::bytes::read::<16>(proof, 0)?
            == [
                0x01, 0x00, 0x30, 0x00, 0xff, 0xff, 0x10, 0x00, 0xff, 0xff, 0x70, 0x00, 0x32, 0x00,
                0xff, 0xff,
            ]);
    checks::ensure(is_whole, X402Error::MalformedEd25519Instruction)?;
    checks::ensure(
        crate::bytes::read::<2>(proof, 112)? == [0x56, 0x01],
        X402Error::VoucherBadMagic,
    )?;
    checks::ensure(
        pinocchio::address::address_eq(crate::bytes::address(proof, 114)?, &address),
        X402Error::VoucherChannelMismatch,
    )?;
    let expires_at: i64 = i64::from_le_bytes(crate::bytes::read(proof, 154)?);
    let is_fresh: bool = (expires_at == 0)
        || (<pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?
            .unix_timestamp
            < expires_at);
    checks::ensure(is_fresh, X402Error::VoucherExpired)?;
    let settled: u64 = u64::from_le_bytes(crate::bytes::read(proof, 146)?);
    checks::ensure(
        settled <= channel.deposit.get(),
        X402Error::VoucherOverDeposit,
    )?;
    checks::ensure(
        settled > channel.settled.get(),
        X402Error::VoucherWatermarkNotMonotonic,
    )?;
    checks::ensure(
        pinocchio::address::address_eq(
            crate::bytes::address(proof, 16)?,
            &channel.authorized_signer,
        ),
        X402Error::VoucherSignerMismatch,
    )?;
    Ok(settled)
}

pub fn index_before(index: u16) -> Result<u16, ProgramError> {
    Ok(index
        .checked_sub(1)
        .ok_or(X402Error::MissingEd25519Verification)?)
}

pub fn need_status(status: u8, channel: &crate::state::Channel) -> Result<(), ProgramError> {
    crate::helpers::need_version(channel)?;
    checks::ensure(channel.status == status, X402Error::InvalidChannelStatus)?;
    Ok(())
}

pub fn flaw_of(
    account: &AccountView,
    owner: Address,
    mint: &AccountView,
    token_program: &AccountView,
) -> Result<u8, ProgramError> {
    let data: &[u8] = crate::bytes::of(account)?;
    let is_plain: bool = crate::bytes::length(data) == 165;
    let is_new: bool = !pinocchio::address::address_eq(
        token_program.address(),
        &const {
            Address::new_from_array([
                0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce, 0xeb,
                0x79, 0xac, 0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c, 0xf5, 0x85,
                0x7e, 0xff, 0x00, 0xa9,
            ])
        },
    ) && (crate::bytes::length(data) > 165);
    let is_kind: bool =
        is_plain || (is_new && (u8::from_le_bytes(crate::bytes::read(data, 165)?) == 2));
    if !pinocchio::address::address_eq(crate::bytes::program(account), token_program.address())
        || !is_kind
    {
        return Ok(1);
    }
    if u8::from_le_bytes(crate::bytes::read(data, 108)?) != 1 {
        return Ok(2);
    }
    if !pinocchio::address::address_eq(crate::bytes::address(data, 0)?, mint.address())
        || !pinocchio::address::address_eq(crate::bytes::address(data, 32)?, &owner)
    {
        return Ok(3);
    }
    Ok(crate::helpers::scan(data, 7, 7)?)
}

pub fn scan(data: &[u8], first: u16, last: u16) -> Result<u8, ProgramError> {
    let size: u64 = crate::bytes::length(data);
    let mut at: u64 = 166;
    for _unnamed in 0..size {
        if at.checked_add(2).ok_or(ProgramError::ArithmeticOverflow)? > size {
            break;
        }
        let kind: u16 = u16::from_le_bytes(crate::bytes::read(data, at)?);
        if kind == 0 {
            return Ok(0);
        }
        if at.checked_add(4).ok_or(ProgramError::ArithmeticOverflow)? > size {
            return Ok(5);
        }
        if !((first <= kind) && (kind <= last)) {
            return Ok(4);
        }
        at = at
            .checked_add(
                4_u64
                    .checked_add(u64::from(u16::from_le_bytes(crate::bytes::read(
                        data,
                        at.checked_add(2).ok_or(ProgramError::ArithmeticOverflow)?,
                    )?)))
                    .ok_or(ProgramError::ArithmeticOverflow)?,
            )
            .ok_or(ProgramError::ArithmeticOverflow)?;
        if at > size {
            return Ok(5);
        }
    }
    Ok(
        if (at < size) && (u8::from_le_bytes(crate::bytes::read(data, at)?) != 0) {
            5_u8
        } else {
            0
        },
    )
}

pub fn need_payer(flaw: u8) -> Result<(), ProgramError> {
    checks::ensure(flaw != 1, X402Error::InvalidPayerTokenAccount)?;
    checks::ensure(flaw < 4, X402Error::InvalidPayerTokenExtensions)?;
    checks::ensure(flaw == 0, X402Error::PayerAccountMismatch)?;
    Ok(())
}

pub fn mint_to_hold(mint: &AccountView, token_program: &AccountView) -> Result<u8, ProgramError> {
    checks::ensure(
        pinocchio::address::address_eq(crate::bytes::program(mint), token_program.address()),
        X402Error::MintAccountMismatch,
    )?;
    let data: &[u8] = crate::bytes::of(mint)?;
    if crate::bytes::length(data) != 82 {
        let is_extended: bool = (crate::bytes::length(data) > 165)
            && (u8::from_le_bytes(crate::bytes::read(data, 165)?) == 1);
        let is_new: bool = !pinocchio::address::address_eq(
            token_program.address(),
            &const {
                Address::new_from_array([
                    0x06, 0xdd, 0xf6, 0xe1, 0xd7, 0x65, 0xa1, 0x93, 0xd9, 0xcb, 0xe1, 0x46, 0xce,
                    0xeb, 0x79, 0xac, 0x1c, 0xb4, 0x85, 0xed, 0x5f, 0x5b, 0x37, 0x91, 0x3a, 0x8c,
                    0xf5, 0x85, 0x7e, 0xff, 0x00, 0xa9,
                ])
            },
        );
        checks::ensure(is_new && is_extended, X402Error::MintAccountMismatch)?;
        checks::ensure(
            crate::bytes::read::<83>(data, 82)?
                == [
                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                    0x00, 0x00, 0x00, 0x00, 0x00,
                ],
            X402Error::MalformedMintTokenAccountData,
        )?;
        let is_allowed: bool = crate::helpers::scan(data, 18, 23)? == 0;
        checks::ensure(is_allowed, X402Error::MalformedMintTokenExtensions)?;
    }
    checks::ensure(
        u8::from_le_bytes(crate::bytes::read(data, 45)?) == 1,
        X402Error::MintAccountMismatch,
    )?;
    Ok(u8::from_le_bytes(crate::bytes::read(data, 44)?))
}

pub fn need_entries(
    entries: &[crate::types::DistributionEntry],
    channel: Address,
) -> Result<(), ProgramError> {
    checks::ensure(
        crate::items::count(entries.iter()) <= 32,
        X402Error::InvalidRecipientCount,
    )?;
    let left: u64 = crate::helpers::payee_bps(&entries[..])?;
    checks::ensure(left <= 10_000, X402Error::InvalidSplitConfig)?;
    for (i, entry) in (0_u64..).zip(entries.iter().copied()) {
        for (j, before) in (0_u64..).zip(entries.iter().copied()) {
            if j == i {
                break;
            }
            checks::ensure(
                !pinocchio::address::address_eq(&before.recipient, &entry.recipient),
                X402Error::DuplicateRecipient,
            )?;
        }
    }
    let is_apart: bool = crate::items::all(entries.iter().copied(), |entry| {
        Ok(!pinocchio::address::address_eq(&entry.recipient, &channel))
    })?;
    checks::ensure(is_apart, X402Error::InvalidSplitConfig)?;
    Ok(())
}
