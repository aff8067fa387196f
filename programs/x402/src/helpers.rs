// Rendered by idl2mcp from spec.py; edit the source. [5b326623057e49b9]
//! What several handlers share: functions of the source.

#![allow(unused_variables, unused_assignments, unused_comparisons, clippy::all)]

use {
    crate::{checks, error::X402Error},
    pinocchio::{error::ProgramError, AccountView},
};

pub fn expires_at(subscription: &crate::state::Subscription) -> Result<i64, ProgramError> {
    Ok(subscription
        .due_at
        .get()
        .checked_add(i64::from(subscription.grace.get()))
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

pub fn need_version(channel: &crate::state::Channel) -> Result<(), ProgramError> {
    checks::ensure(channel.version == 1, X402Error::UnsupportedChannelVersion)?;
    Ok(())
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

pub fn seal_deadline(channel: &crate::state::Channel) -> Result<i64, ProgramError> {
    Ok(channel
        .closure_started_at
        .get()
        .checked_add(i64::from(channel.grace_period.get()))
        .ok_or(X402Error::SealDeadlineOverflow)?)
}

pub fn need_status(status: u8, channel: &crate::state::Channel) -> Result<(), ProgramError> {
    crate::helpers::need_version(channel)?;
    checks::ensure(channel.status == status, X402Error::InvalidChannelStatus)?;
    Ok(())
}
