//! Pay out what vouchers proved. If the channel is sealed, also refund the payer and close the
//! escrow. Anyone may call it.
//!
//! Anyone can choose the moment. So what a token account cannot take at that moment stays in the
//! escrow, and a sealed channel stays sealed. Only a recipient that keeps others waiting loses its
//! share.

use {
    crate::{
        checks::{close, ensure, equal},
        error::X402Error,
        events::Distributed,
        instruction::distribute::{Accounts, Args},
        processor::{
            open::hash,
            shared::{
                channel,
                emit::Emitter,
                now,
                payout::{self, Part, Payouts, Shares},
                tokens,
            },
        },
        state::Channel,
    },
    pinocchio::{
        cpi::{Seed, Signer},
        error::ProgramError,
        sysvars::{clock::Clock, Sysvar},
        AccountView, Address, ProgramResult,
    },
    pinocchio_token::instructions::CloseAccount,
};

const ESCROW: [X402Error; 3] = [
    X402Error::ChannelAccountMismatch,
    X402Error::InvalidChannelTokenAccount,
    X402Error::InvalidChannelTokenExtensions,
];

/// What is read of the channel before anything is changed.
struct Before {
    settled: u64,
    watermark: u64,
    /// What the payer gets back; nothing of an open channel, or after it withdrew.
    refund: u64,
    is_sealed: bool,
    open_slot: u64,
}

fn before(accounts: &Accounts, args: &Args) -> Result<Before, ProgramError> {
    let data = accounts.channel.try_borrow()?;
    let state = Channel::load(&data)?;
    channel::version(state)?;
    let is_sealed = state.status == channel::SEALED;
    ensure(
        is_sealed || state.status == channel::OPEN,
        X402Error::ChannelNotDistributable,
    )?;
    ensure(
        hash(&args.recipients)? == state.distribution_hash,
        X402Error::InvalidDistributionHash,
    )?;
    let (settled, watermark) = (state.settled.get(), state.payout_watermark.get());
    ensure(watermark <= settled, X402Error::DistributePoolOverflow)?;
    ensure(
        is_sealed || watermark < settled,
        X402Error::NothingToDistribute,
    )?;
    let refund = if is_sealed && state.payer_withdrawn_at.get() == 0 {
        state
            .deposit
            .get()
            .checked_sub(settled)
            .ok_or(X402Error::RefundCalculationOverflow)?
    } else {
        0
    };
    Ok(Before {
        settled,
        watermark,
        refund,
        is_sealed,
        open_slot: state.open_slot.get(),
    })
}

/// The associated token account of a recipient.
#[inline(never)]
fn associated(
    account: &AccountView,
    owner: &Address,
    program: &Address,
    mint: &Address,
) -> ProgramResult {
    let seeds: [&[u8]; 3] = [owner.as_ref(), program.as_ref(), mint.as_ref()];
    match Address::derive_program_address(&seeds, &pinocchio_associated_token_account::ID) {
        Some((address, _)) => equal(
            account.address(),
            &address,
            X402Error::RecipientAccountMismatch,
        ),
        None => Err(X402Error::RecipientAccountMismatch.into()),
    }
}

pub fn process(accounts: &mut Accounts, args: &Args) -> ProgramResult {
    let Before {
        settled,
        watermark,
        refund,
        is_sealed,
        open_slot,
    } = before(accounts, args)?;
    ensure(
        accounts.remaining.len() == args.recipients.len(),
        X402Error::RecipientAccountCountMismatch,
    )?;
    let address = *accounts.channel.address();
    let mint = *accounts.mint.address();
    let program = *accounts.token_program.address();
    let decimals = crate::helpers::mint_to_hold(accounts.mint, accounts.token_program)?;
    tokens::must_hold(
        accounts.channel_token_account,
        &address,
        accounts.mint,
        accounts.token_program,
        ESCROW,
    )?;
    for (account, entry) in accounts.remaining.iter().zip(&args.recipients) {
        associated(account, &entry.recipient, &program, &mint)?;
    }
    let pool = settled
        .checked_sub(watermark)
        .and_then(|pool| pool.checked_add(refund))
        .ok_or(X402Error::DistributePoolOverflow)?;
    let balance = tokens::balance(accounts.channel_token_account)?;
    ensure(
        balance >= pool,
        X402Error::DistributeBalanceCalculationOverflow,
    )?;

    let (payee, payer) = (accounts.channel_seed_2, *accounts.payer.address());
    let shares = Shares {
        accounts: accounts.remaining,
        entries: &args.recipients,
        payee_account: accounts.payee_token_account,
        payee: &payee,
        payee_bps: channel::payee_bps(&args.recipients)?,
        from: watermark,
        to: settled,
    };
    let treasury_account = &accounts.treasury_token_account;
    let review = payout::review(
        &shares,
        accounts.mint,
        accounts.token_program,
        treasury_account,
    )?;
    let payer_account = &accounts.payer_token_account;
    let payer_takes = || {
        tokens::holds(payer_account, &payer, accounts.mint, accounts.token_program)
            .map_err(|flaw| tokens::error_of(flaw, tokens::PAYER))
    };
    let refunding = Part::of(refund, payer_takes);
    // Remainders of division, and what strangers sent to the escrow. The payer gets them if the
    // treasury cannot.
    let rest = match balance.checked_sub(review.total) {
        Some(left) if is_sealed => left.saturating_sub(refund),
        _ => 0,
    };
    let mut rest_account: &AccountView = treasury_account;
    let sweeping = Part::of(rest, || {
        payout::treasury_takes(treasury_account, accounts.mint, accounts.token_program).or_else(
            |error| {
                rest_account = payer_account;
                payer_takes().map_err(|_| error)
            },
        )
    });
    let held = [review.part, refunding, sweeping]
        .iter()
        .find_map(|part| part.held());
    if let Some(error) = held {
        ensure(review.part.is_payable() || refunding.is_payable(), error)?;
    }
    let is_drained = is_sealed && held.is_none();
    // shares that are rounded to nothing are paid too
    let watermark = match review.part {
        Part::Held(_) => watermark,
        _ => settled,
    };

    // all is checked: the state first, then the tokens
    {
        let mut data = accounts.channel.try_borrow_mut()?;
        let state = Channel::load_mut(&mut data)?;
        if is_drained {
            // the sums stay as they were before the last payout, as the audited program leaves them
            state.status = channel::DISTRIBUTED;
        } else {
            state.payout_watermark.set(watermark);
            if refunding.is_payable() {
                state.payer_withdrawn_at.set(now()?);
            }
        }
    }
    let seeds: [Seed; 8] = accounts.channel_seeds();
    let signers = [Signer::from(&seeds)];
    let payouts = Payouts {
        emitter: Emitter {
            program_id: accounts.program_id,
            program: accounts.self_program,
            authority: accounts.event_authority,
            bump: accounts.event_authority_bump,
        },
        escrow: accounts.channel_token_account,
        channel: accounts.channel,
        mint: accounts.mint,
        token_program: accounts.token_program,
        treasury: treasury_account,
        decimals,
        signers: &signers,
    };
    if review.part.is_payable() {
        payouts.pay(&shares, &review)?;
    }
    if refunding.is_payable() {
        payouts.send(payer_account, refund)?;
    }
    if is_drained {
        payouts.send(rest_account, rest)?;
        CloseAccount::new(
            accounts.channel_token_account,
            accounts.rent_payer,
            accounts.channel,
        )
        .invoke_signed_with_program(&signers, &program)?;
        if Clock::get()?.slot >= channel::reclaim_slot(open_slot)? {
            close(accounts.channel, accounts.rent_payer)?;
        }
    }
    Distributed {
        channel: address,
        watermark,
        drained: is_drained,
    }
    .emit()
}
