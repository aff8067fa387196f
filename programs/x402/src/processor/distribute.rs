//! Pay out what vouchers proved. Of a sealed channel the payer gets the rest, and the escrow is
//! closed. Anyone may.

use {
    crate::{
        checks::{close, ensure, equal},
        error::X402Error,
        events::{Distributed, PayoutRedirected},
        instruction::distribute::{Accounts, Args},
        processor::{
            open::hash,
            shared::{
                channel,
                emit::Emitter,
                tokens::{self, Flaw, Move},
            },
        },
        state::Channel,
        types::{PayoutBeneficiary, RedirectReason},
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
const TREASURY: [X402Error; 3] = [
    X402Error::TreasuryAccountMismatch,
    X402Error::InvalidTreasuryTokenAccount,
    X402Error::InvalidTreasuryTokenExtensions,
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

/// What one beneficiary gets, and the error for an account of theirs that nobody can read.
struct Share<'a> {
    owner: &'a Address,
    amount: u64,
    beneficiary: PayoutBeneficiary,
    malformed: X402Error,
}

/// Pays from the escrow.
struct Payouts<'a, 'b> {
    emitter: Emitter<'a>,
    escrow: &'a AccountView,
    channel: &'a AccountView,
    mint: &'a AccountView,
    token_program: &'a AccountView,
    treasury: &'a AccountView,
    decimals: u8,
    signers: &'a [Signer<'a, 'b>],
}

impl Payouts<'_, '_> {
    fn send(&self, to: &AccountView, amount: u64) -> ProgramResult {
        Move {
            from: self.escrow,
            mint: self.mint,
            to,
            authority: self.channel,
            amount,
            decimals: self.decimals,
            token_program: self.token_program,
        }
        .make(self.signers)
    }

    /// Pays a beneficiary whose account stands at the right address. If the account cannot be used,
    /// that is the beneficiary's own doing and does not hinder the others: the treasury gets the
    /// amount.
    #[inline(never)]
    fn pay(&self, to: &AccountView, share: &Share) -> ProgramResult {
        let Share { owner, amount, .. } = *share;
        if amount == 0 {
            return Ok(());
        }
        let mint = self.mint.address();
        let reason = match tokens::holds(to, owner, mint, self.token_program.address()) {
            Ok(()) => return self.send(to, amount),
            Err(Flaw::RefusedExtension) => RedirectReason::UnsupportedExtension,
            Err(Flaw::NotATokenAccount) => RedirectReason::ClosedOrMalformed,
            Err(Flaw::NotInitialized) => RedirectReason::NotInitialized,
            Err(Flaw::OtherOwner) => RedirectReason::ReassignedAuthority,
            Err(Flaw::MalformedExtensions) => return Err(share.malformed.into()),
        };
        let event = PayoutRedirected {
            channel: *self.channel.address(),
            owner: *owner,
            amount,
            beneficiary: share.beneficiary,
            reason,
        };
        self.emitter
            .emit::<90>(PayoutRedirected::DISCRIMINATOR, |w| event.encode(w))?;
        self.send(self.treasury, amount)
    }
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
    let decimals = tokens::mint_to_hold(accounts.mint, &program)?;
    tokens::must_hold(
        accounts.channel_token_account,
        &address,
        &mint,
        &program,
        ESCROW,
    )?;
    tokens::must_hold(
        accounts.treasury_token_account,
        &crate::constants::TREASURY_OWNER,
        &mint,
        &program,
        TREASURY,
    )?;
    for (account, entry) in accounts.remaining.iter().zip(&args.recipients) {
        associated(account, &entry.recipient, &program, &mint)?;
    }
    let payee_bps = channel::payee_bps(&args.recipients)?;
    let pool = settled
        .checked_sub(watermark)
        .and_then(|pool| pool.checked_add(refund))
        .ok_or(X402Error::DistributePoolOverflow)?;
    ensure(
        tokens::balance(accounts.channel_token_account)? >= pool,
        X402Error::DistributeBalanceCalculationOverflow,
    )?;

    // all is checked: the state first, then the tokens
    {
        let mut data = accounts.channel.try_borrow_mut()?;
        let state = Channel::load_mut(&mut data)?;
        state.payout_watermark.set(settled);
        if is_sealed {
            state.status = channel::DISTRIBUTED;
        }
    }
    let (payee, payer) = (accounts.channel_seed_2, *accounts.payer.address());
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
        treasury: accounts.treasury_token_account,
        decimals,
        signers: &signers,
    };
    for (account, entry) in accounts.remaining.iter().zip(&args.recipients) {
        let share = Share {
            owner: &entry.recipient,
            amount: channel::share(watermark, settled, u64::from(entry.bps))?,
            beneficiary: PayoutBeneficiary::Recipient,
            malformed: X402Error::InvalidRecipientTokenExtensions,
        };
        payouts.pay(account, &share)?;
    }
    let share = Share {
        owner: &payee,
        amount: channel::share(watermark, settled, payee_bps)?,
        beneficiary: PayoutBeneficiary::Payee,
        malformed: X402Error::InvalidPayeeTokenExtensions,
    };
    payouts.pay(accounts.payee_token_account, &share)?;
    if is_sealed {
        let share = Share {
            owner: &payer,
            amount: refund,
            beneficiary: PayoutBeneficiary::Payer,
            malformed: X402Error::InvalidPayerTokenExtensions,
        };
        payouts.pay(accounts.payer_token_account, &share)?;
        // remainders of division, and what strangers sent to the escrow
        let rest = tokens::balance(accounts.channel_token_account)?;
        payouts.send(accounts.treasury_token_account, rest)?;
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
        watermark: settled,
        drained: is_sealed,
    }
    .emit()
}
