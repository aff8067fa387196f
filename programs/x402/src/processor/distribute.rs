// Rendered by idl2mcp from spec.py; edit the source. [a9a46810277673e9]
//! Pay out what vouchers proved. If the channel is sealed, also refund the payer and close the
//! escrow. Anyone
//! may call it. What a missing or frozen token account cannot take stays in the channel.

#![allow(unused_variables, unused_assignments, unused_comparisons)]
#![allow(clippy::style, clippy::complexity, clippy::eq_op, clippy::erasing_op)]
#![allow(clippy::absurd_extreme_comparisons, clippy::impossible_comparisons)]
#![allow(clippy::overly_complex_bool_expr, clippy::unnecessary_to_owned)]

use {
    crate::{
        checks,
        error::X402Error,
        events,
        instruction::distribute::{Accounts, Args},
        state::Channel,
    },
    pinocchio::{cpi::Signer, Address, ProgramResult},
};

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    checks::different(accounts.channel, accounts.channel_token_account)?;
    checks::different(accounts.channel, accounts.payer_token_account)?;
    checks::different(accounts.channel, accounts.payee_token_account)?;
    checks::different(accounts.channel, accounts.treasury_token_account)?;
    checks::different(accounts.channel, accounts.mint)?;
    for account in accounts.remaining.iter() {
        checks::different(accounts.channel, account)?;
    }
    #[inline(never)]
    fn transfer_checked(
        accounts: &Accounts,
        destination: &pinocchio::AccountView,
        amount: u64,
        decimals: u8,
    ) -> ProgramResult {
        checks::transfer_checked(
            &pinocchio_token::instructions::TransferChecked::new(
                accounts.channel_token_account,
                accounts.mint,
                destination,
                accounts.channel,
                amount,
                decimals,
            ),
            &[Signer::from(&accounts.channel_seeds())],
            accounts.token_program.address(),
        )
    }
    let mut amount: u64;
    let mut flaw: u8;
    let mut is_read: bool;
    let mut channel_view = *accounts.channel;
    let mut channel_data = channel_view.try_borrow_mut()?;
    let channel_state = Channel::load_mut(&mut channel_data)?;
    crate::helpers::need_version(channel_state)?;
    let is_sealed: bool = channel_state.status == 1;
    checks::ensure(
        is_sealed || (channel_state.status == 0),
        X402Error::ChannelNotDistributable,
    )?;
    let is_same: bool =
        crate::hash::sha256(&[&crate::hash::list(&args.recipients[..], |item, w| {
            item.encode(w)
        })?])
            == channel_state.distribution_hash;
    checks::ensure(is_same, X402Error::InvalidDistributionHash)?;
    let settled: u64 = channel_state.settled.get();
    let paid: u64 = channel_state.payout_watermark.get();
    checks::ensure(paid <= settled, X402Error::DistributePoolOverflow)?;
    checks::ensure(
        is_sealed || (paid < settled),
        X402Error::NothingToDistribute,
    )?;
    let mut refund: u64 = 0;
    if is_sealed && (channel_state.payer_withdrawn_at.get() == 0) {
        refund = channel_state
            .deposit
            .get()
            .checked_sub(settled)
            .ok_or(X402Error::RefundCalculationOverflow)?;
    }
    let payee: Address = channel_state.payee;
    let open_slot: u64 = channel_state.open_slot.get();
    let is_whole: bool = crate::items::count(accounts.remaining.iter())
        == crate::items::count(args.recipients.iter());
    checks::ensure(is_whole, X402Error::RecipientAccountCountMismatch)?;
    let decimals: u8 = crate::helpers::mint_to_hold(accounts.mint, accounts.token_program)?;
    crate::helpers::need_escrow(crate::helpers::flaw_of(
        accounts.channel_token_account,
        *accounts.channel.address(),
        accounts.mint,
        accounts.token_program,
    )?)?;
    for (account, entry) in
        crate::items::zip(accounts.remaining.iter(), args.recipients.iter().copied())?
    {
        let wanted: Address = crate::pda::find(
            &[
                entry.recipient.as_ref(),
                accounts.token_program.address().as_ref(),
                accounts.mint.address().as_ref(),
            ],
            &const {
                Address::new_from_array([
                    0x8c, 0x97, 0x25, 0x8f, 0x4e, 0x24, 0x89, 0xf1, 0xbb, 0x3d, 0x10, 0x29, 0x14,
                    0x8e, 0x0d, 0x83, 0x0b, 0x5a, 0x13, 0x99, 0xda, 0xff, 0x10, 0x84, 0x04, 0x8e,
                    0x7b, 0xd8, 0xdb, 0xe9, 0xf8, 0x59,
                ])
            },
        )?;
        checks::ensure(
            pinocchio::address::address_eq(account.address(), &wanted),
            X402Error::RecipientAccountMismatch,
        )?;
    }
    let pool: u64 = settled
        .checked_sub(paid)
        .ok_or(X402Error::DistributePoolOverflow)?
        .checked_add(refund)
        .ok_or(X402Error::DistributePoolOverflow)?;
    let balance: u64 = u64::from_le_bytes(crate::bytes::read(
        crate::bytes::of(accounts.channel_token_account)?,
        64,
    )?);
    checks::ensure(
        balance >= pool,
        X402Error::DistributeBalanceCalculationOverflow,
    )?;
    let mut total: u64 = crate::helpers::share(
        paid,
        settled,
        crate::helpers::payee_bps(&args.recipients[..])?,
    )?;
    let payee_share: u64 = total;
    let mut payee_flaw: u8 = 0;
    if payee_share > 0 {
        payee_flaw = crate::helpers::flaw_of(
            accounts.payee_token_account,
            payee,
            accounts.mint,
            accounts.token_program,
        )?;
    }
    let mut is_waiting: bool = (payee_share > 0) && (payee_flaw == 0);
    let mut is_absent: bool = false;
    let mut recipient_flaw: u8 = 0;
    for (account, entry) in
        crate::items::zip(accounts.remaining.iter(), args.recipients.iter().copied())?
    {
        amount = crate::helpers::share(paid, settled, u64::from(entry.bps))?;
        if amount > 0 {
            total = total
                .checked_add(amount)
                .ok_or(X402Error::DistributePoolOverflow)?;
            flaw = crate::helpers::flaw_of(
                account,
                entry.recipient,
                accounts.mint,
                accounts.token_program,
            )?;
            if flaw == 0 {
                is_waiting = true;
            } else if flaw == 1 {
                is_absent = true;
            } else {
                is_read = flaw != 5;
                checks::ensure(is_read, X402Error::InvalidRecipientTokenExtensions)?;
                if recipient_flaw == 0 {
                    recipient_flaw = flaw;
                }
            }
        }
    }
    is_read = payee_flaw != 5;
    checks::ensure(is_read, X402Error::InvalidPayeeTokenExtensions)?;
    let has_flaw: bool = (recipient_flaw != 0) || (payee_flaw > 1);
    let mut is_held: bool = is_absent || (payee_flaw == 1);
    if has_flaw && !is_waiting {
        is_held = true;
    }
    let mut rest: u64 = 0;
    if is_sealed {
        rest = balance.saturating_sub(total).saturating_sub(refund);
    }
    let mut treasury_flaw: u8 = 0;
    if has_flaw || (rest > 0) {
        treasury_flaw = crate::helpers::flaw_of(
            accounts.treasury_token_account,
            const {
                Address::new_from_array([
                    0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe,
                    0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef,
                    0xbe, 0xef, 0xbe, 0xef, 0xbe, 0xef,
                ])
            },
            accounts.mint,
            accounts.token_program,
        )?;
    }
    let mut payer_flaw: u8 = 0;
    if (refund > 0) || (treasury_flaw != 0) {
        payer_flaw = crate::helpers::flaw_of(
            accounts.payer_token_account,
            *accounts.payer.address(),
            accounts.mint,
            accounts.token_program,
        )?;
    }
    if has_flaw && (treasury_flaw != 0) {
        is_held = true;
    }
    let keeps_shares: bool = (total > 0) && is_held;
    let keeps_refund: bool = (refund > 0) && (payer_flaw != 0);
    let keeps_rest: bool = (rest > 0) && (treasury_flaw != 0) && (payer_flaw != 0);
    let pays_shares: bool = (total > 0) && !keeps_shares;
    let pays_refund: bool = (refund > 0) && !keeps_refund;
    if !pays_shares && !pays_refund {
        if keeps_shares {
            checks::ensure(!is_absent, X402Error::InvalidRecipientTokenAccount)?;
            let is_there: bool = payee_flaw != 1;
            checks::ensure(is_there, X402Error::InvalidPayeeTokenAccount)?;
            if !is_waiting {
                crate::helpers::need_recipient(recipient_flaw)?;
                crate::helpers::need_payee(payee_flaw)?;
            }
            crate::helpers::need_treasury(treasury_flaw)?;
        }
        if keeps_refund {
            crate::helpers::need_payer(payer_flaw)?;
        }
        if keeps_rest {
            crate::helpers::need_treasury(treasury_flaw)?;
        }
    }
    let is_drained: bool = is_sealed && !(keeps_shares || keeps_refund || keeps_rest);
    let watermark: u64 = if keeps_shares { paid } else { settled };
    if is_drained {
        channel_state.status = 3;
    } else {
        channel_state.payout_watermark.set(watermark);
        if pays_refund {
            channel_state.payer_withdrawn_at.set(
                <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?
                    .unix_timestamp,
            );
        }
    }
    let mut to_payer: u64 = if pays_refund { refund } else { 0 };
    let mut to_treasury: u64 = 0;
    if is_drained {
        if treasury_flaw == 0 {
            to_treasury = rest;
        } else {
            to_payer = to_payer
                .checked_add(rest)
                .ok_or(X402Error::DistributePoolOverflow)?;
        }
    }
    let condition = pays_shares;
    drop(channel_data);
    if condition {
        for (account, entry) in
            crate::items::zip(accounts.remaining.iter(), args.recipients.iter().copied())?
        {
            amount = crate::helpers::share(paid, settled, u64::from(entry.bps))?;
            flaw = 0;
            if has_flaw && (amount > 0) {
                flaw = crate::helpers::flaw_of(
                    account,
                    entry.recipient,
                    accounts.mint,
                    accounts.token_program,
                )?;
            }
            if flaw != 0 {
                to_treasury = to_treasury
                    .checked_add(amount)
                    .ok_or(X402Error::DistributePoolOverflow)?;
                let event = {
                    let mut bytes = crate::own::start::<events::PayoutRedirected>(
                        &events::PayoutRedirected::DISCRIMINATOR,
                    )?;
                    events::PayoutRedirected {
                        channel: *accounts.channel.address(),
                        owner: entry.recipient,
                        amount,
                        beneficiary: crate::types::PayoutBeneficiary::Recipient,
                        reason: crate::helpers::reason_of(flaw)?,
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
            } else if amount > 0 {
                transfer_checked(accounts, &*account, amount, decimals)?;
            }
        }
        if payee_flaw != 0 {
            to_treasury = to_treasury
                .checked_add(payee_share)
                .ok_or(X402Error::DistributePoolOverflow)?;
            let event_2 = {
                let mut bytes = crate::own::start::<events::PayoutRedirected>(
                    &events::PayoutRedirected::DISCRIMINATOR,
                )?;
                events::PayoutRedirected {
                    channel: *accounts.channel.address(),
                    owner: payee,
                    amount: payee_share,
                    beneficiary: crate::types::PayoutBeneficiary::Payee,
                    reason: crate::helpers::reason_of(payee_flaw)?,
                }
                .encode(&mut bytes)?;
                bytes
            };
            crate::own::emit(
                accounts.self_program,
                accounts.event_authority,
                &event_2,
                &[Signer::from(&accounts.event_authority_seeds())],
            )?;
        } else if payee_share > 0 {
            transfer_checked(
                accounts,
                &*accounts.payee_token_account,
                payee_share,
                decimals,
            )?;
        }
    }
    if to_payer > 0 {
        transfer_checked(accounts, &*accounts.payer_token_account, to_payer, decimals)?;
    }
    if to_treasury > 0 {
        transfer_checked(
            accounts,
            &*accounts.treasury_token_account,
            to_treasury,
            decimals,
        )?;
    }
    if is_drained {
        checks::close_account(
            &pinocchio_token::instructions::CloseAccount::new(
                accounts.channel_token_account,
                accounts.rent_payer,
                accounts.channel,
            ),
            &[Signer::from(&accounts.channel_seeds())],
            accounts.token_program.address(),
        )?;
        if <pinocchio::sysvars::clock::Clock as pinocchio::sysvars::Sysvar>::get()?.slot
            >= crate::helpers::reclaim_slot(open_slot)?
        {
            checks::close(accounts.channel, accounts.rent_payer)?;
        }
    }
    events::Distributed {
        channel: *accounts.channel.address(),
        watermark,
        drained: is_drained,
    }
    .emit()?;
    Ok(())
}
