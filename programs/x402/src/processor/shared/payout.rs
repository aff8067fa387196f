//! Payouts from an escrow: the shares, and the effect of token accounts that cannot be used.

use {
    super::{
        channel,
        emit::Emitter,
        tokens::{self, Flaw, Move},
    },
    crate::{
        error::X402Error,
        events::PayoutRedirected,
        types::{DistributionEntry, PayoutBeneficiary, RedirectReason},
    },
    pinocchio::{cpi::Signer, error::ProgramError, AccountView, Address, ProgramResult},
};

const TREASURY: [X402Error; 3] = [
    X402Error::TreasuryAccountMismatch,
    X402Error::InvalidTreasuryTokenAccount,
    X402Error::InvalidTreasuryTokenExtensions,
];
const RECIPIENT: [X402Error; 3] = [
    X402Error::RecipientAccountMismatch,
    X402Error::InvalidRecipientTokenAccount,
    X402Error::InvalidRecipientTokenExtensions,
];
const PAYEE: [X402Error; 3] = [
    X402Error::PayeeAccountMismatch,
    X402Error::InvalidPayeeTokenAccount,
    X402Error::InvalidPayeeTokenExtensions,
];
/// The entries, and the payee.
const MOST_SHARES: usize = 33;

/// A part of a payout: the shares, the payer's refund, or the rest.
#[derive(Clone, Copy)]
pub enum Part {
    Nothing,
    Payable,
    /// It stays in the escrow.
    Held(X402Error),
}

impl Part {
    pub fn of(amount: u64, check: impl FnOnce() -> Result<(), X402Error>) -> Self {
        if amount == 0 {
            return Self::Nothing;
        }
        match check() {
            Ok(()) => Self::Payable,
            Err(error) => Self::Held(error),
        }
    }

    pub fn is_payable(self) -> bool {
        matches!(self, Self::Payable)
    }

    pub fn held(self) -> Option<X402Error> {
        match self {
            Self::Held(error) => Some(error),
            _ => None,
        }
    }
}

/// One beneficiary's share of the settled sum.
pub struct Share<'a> {
    to: &'a AccountView,
    owner: &'a Address,
    amount: u64,
    beneficiary: PayoutBeneficiary,
    errors: [X402Error; 3],
}

/// The shares of the entries, in order, and the payee's.
pub struct Shares<'a> {
    pub accounts: &'a [AccountView],
    pub entries: &'a [DistributionEntry],
    pub payee_account: &'a AccountView,
    pub payee: &'a Address,
    pub payee_bps: u64,
    /// The watermark that was paid out before.
    pub from: u64,
    /// The watermark up to which is paid out now.
    pub to: u64,
}

impl<'a> Shares<'a> {
    #[inline(never)]
    fn get(&self, at: usize) -> Result<Share<'a>, ProgramError> {
        let entry = self.accounts.get(at).zip(self.entries.get(at));
        let (to, owner, bps) = match entry {
            Some((account, entry)) => (account, &entry.recipient, u64::from(entry.bps)),
            None => (self.payee_account, self.payee, self.payee_bps),
        };
        let (beneficiary, errors) = match entry {
            Some(_) => (PayoutBeneficiary::Recipient, RECIPIENT),
            None => (PayoutBeneficiary::Payee, PAYEE),
        };
        Ok(Share {
            to,
            owner,
            amount: channel::share(self.from, self.to, bps)?,
            beneficiary,
            errors,
        })
    }

    fn each(&self) -> impl Iterator<Item = Result<Share<'a>, ProgramError>> + '_ {
        (0..=self.entries.len()).map(|at| self.get(at))
    }
}

/// The result of checking all shares, before any is paid.
pub struct Review {
    pub total: u64,
    pub part: Part,
    /// The shares that go to the treasury, in the order of `Shares`.
    redirected: [Option<Flaw>; MOST_SHARES],
}

/// Looks at the account of every share. An address without an account holds all shares back, since
/// anyone can create it. Any other flaw can only be mended by the account's owner or the mint's
/// freeze authority: then the treasury gets the share, unless nobody else is waiting for one.
#[inline(never)]
pub fn review(
    shares: &Shares,
    mint: &AccountView,
    token_program: &AccountView,
    treasury: &AccountView,
) -> Result<Review, ProgramError> {
    let mut review = Review {
        total: 0,
        part: Part::Nothing,
        redirected: [None; MOST_SHARES],
    };
    let (mut is_paid, mut absent, mut flawed) = (false, None, None);
    for (share, slot) in shares.each().zip(review.redirected.iter_mut()) {
        let share = share?;
        if share.amount == 0 {
            continue;
        }
        review.total = review
            .total
            .checked_add(share.amount)
            .ok_or(X402Error::DistributePoolOverflow)?;
        let Err(flaw) = tokens::holds(share.to, share.owner, mint, token_program) else {
            is_paid = true;
            continue;
        };
        let error = tokens::error_of(flaw, share.errors);
        match flaw {
            Flaw::MalformedExtensions => return Err(error.into()),
            Flaw::NotATokenAccount => absent = absent.or(Some(error)),
            _ => {
                *slot = Some(flaw);
                flawed = flawed.or(Some(error));
            }
        }
    }
    let held = absent.or(flawed.filter(|_| !is_paid));
    review.part = Part::of(review.total, || {
        held.map_or(Ok(()), Err)?;
        flawed.map_or(Ok(()), |_| treasury_takes(treasury, mint, token_program))
    });
    Ok(review)
}

pub fn treasury_takes(
    treasury: &AccountView,
    mint: &AccountView,
    token_program: &AccountView,
) -> Result<(), X402Error> {
    tokens::holds(
        treasury,
        &crate::constants::TREASURY_OWNER,
        mint,
        token_program,
    )
    .map_err(|flaw| tokens::error_of(flaw, TREASURY))
}

/// Pays from the escrow.
pub struct Payouts<'a, 'b> {
    pub emitter: Emitter<'a>,
    pub escrow: &'a AccountView,
    pub channel: &'a AccountView,
    pub mint: &'a AccountView,
    pub token_program: &'a AccountView,
    pub treasury: &'a AccountView,
    pub decimals: u8,
    pub signers: &'a [Signer<'a, 'b>],
}

impl Payouts<'_, '_> {
    pub fn send(&self, to: &AccountView, amount: u64) -> ProgramResult {
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

    /// Pays the shares, each to its beneficiary or to the treasury as the review says.
    pub fn pay(&self, shares: &Shares, review: &Review) -> ProgramResult {
        for (share, flaw) in shares.each().zip(review.redirected) {
            let share = share?;
            match flaw {
                None => self.send(share.to, share.amount)?,
                Some(flaw) => self.redirect(&share, flaw)?,
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn redirect(&self, share: &Share, flaw: Flaw) -> ProgramResult {
        let reason = match flaw {
            Flaw::NotInitialized => RedirectReason::NotInitialized,
            Flaw::OtherOwner => RedirectReason::ReassignedAuthority,
            _ => RedirectReason::UnsupportedExtension,
        };
        let event = PayoutRedirected {
            channel: *self.channel.address(),
            owner: *share.owner,
            amount: share.amount,
            beneficiary: share.beneficiary,
            reason,
        };
        self.emitter
            .emit::<90>(PayoutRedirected::DISCRIMINATOR, |w| event.encode(w))?;
        self.send(self.treasury, share.amount)
    }
}
