// Rendered by idl2mcp from spec.py; edit the source. [dd3723bc7cb1f1a6]
//! The program's types, in instruction data, accounts and events.

use {
    crate::codec::{Output, Reader},
    pinocchio::{error::ProgramError, Address, ProgramResult},
};

/// A recipient's share of what vouchers prove.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistributionEntry {
    /// The wallet. Its associated token account gets the tokens.
    pub recipient: Address,
    /// Its share in hundredths of a percent, 1 to 10,000.
    pub bps: u16,
}

impl DistributionEntry {
    #[inline(always)]
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, ProgramError> {
        let recipient = Address::new_from_array(*r.array()?);
        let bps = u16::from_le_bytes(*r.array()?);
        Ok(Self { recipient, bps })
    }

    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.recipient.as_array().as_slice())?;
        w.put(&self.bps.to_le_bytes())?;
        Ok(())
    }
}

/// The price of subscribing to a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quote {
    /// Tokens for each period, in base units.
    pub price: u64,
    /// Tokens charged at once: 0 if there is a trial.
    pub first_charge: u64,
    /// The most tokens that all later charges together can take.
    pub allowance: u64,
    /// When the first charge after subscribing is due, in seconds since 1970.
    pub first_due: i64,
    /// Seconds in a period.
    pub period: u32,
    /// The mint of the tokens.
    pub mint: Address,
    /// The plan takes new subscribers.
    pub open: bool,
}

impl Quote {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.first_charge.to_le_bytes())?;
        w.put(&self.allowance.to_le_bytes())?;
        w.put(&self.first_due.to_le_bytes())?;
        w.put(&self.period.to_le_bytes())?;
        w.put(self.mint.as_array().as_slice())?;
        w.length::<1>(usize::from(self.open))?;
        Ok(())
    }
}

/// A channel at this moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelReport {
    /// Open, Sealed, Closing or Distributed.
    pub state: ChannelState,
    /// Tokens that the payer put in, in base units.
    pub deposit: u64,
    /// Tokens that vouchers proved, in base units.
    pub settled: u64,
    /// Tokens that vouchers proved and that are not paid out yet.
    pub undistributed: u64,
    /// Tokens that no voucher proved. A new voucher can claim them, or the payer gets them back.
    pub unspent: u64,
    /// The time from which anyone may seal a closing channel, in seconds since 1970; else 0.
    pub seal_at: i64,
    /// The slot from which the account can be closed.
    pub reclaim_slot: u64,
}

impl ChannelReport {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        self.state.encode(w)?;
        w.put(&self.deposit.to_le_bytes())?;
        w.put(&self.settled.to_le_bytes())?;
        w.put(&self.undistributed.to_le_bytes())?;
        w.put(&self.unspent.to_le_bytes())?;
        w.put(&self.seal_at.to_le_bytes())?;
        w.put(&self.reclaim_slot.to_le_bytes())?;
        Ok(())
    }
}

/// The state of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::enum_variant_names)] // the source's
pub enum ChannelState {
    Open,
    Sealed,
    Closing,
    Distributed,
}

impl ChannelState {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        match self {
            Self::Open => {
                w.put(&0_u8.to_le_bytes())?;
            }
            Self::Sealed => {
                w.put(&1_u8.to_le_bytes())?;
            }
            Self::Closing => {
                w.put(&2_u8.to_le_bytes())?;
            }
            Self::Distributed => {
                w.put(&3_u8.to_le_bytes())?;
            }
        }
        Ok(())
    }
}

/// A subscription at this moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubscriptionReport {
    /// Pending (trial), Active, PastDue, Cancelled or Expired.
    pub state: SubscriptionState,
    /// A charge would succeed now.
    pub chargeable: bool,
    /// Tokens for each charge, in base units.
    pub price: u64,
    /// Charges made under these terms.
    pub charges: u32,
    /// The most charges that may be made.
    pub max_charges: u32,
    /// The time when the next charge is due, or the paid time ends, in seconds since 1970.
    pub due_at: i64,
    /// The time when it expires without a charge, in seconds since 1970.
    pub expires_at: i64,
}

impl SubscriptionReport {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        self.state.encode(w)?;
        w.length::<1>(usize::from(self.chargeable))?;
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.charges.to_le_bytes())?;
        w.put(&self.max_charges.to_le_bytes())?;
        w.put(&self.due_at.to_le_bytes())?;
        w.put(&self.expires_at.to_le_bytes())?;
        Ok(())
    }
}

/// The state of a subscription.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::enum_variant_names)] // the source's
pub enum SubscriptionState {
    Pending,
    Active,
    PastDue,
    Cancelled,
    Expired,
}

impl SubscriptionState {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        match self {
            Self::Pending => {
                w.put(&0_u8.to_le_bytes())?;
            }
            Self::Active => {
                w.put(&1_u8.to_le_bytes())?;
            }
            Self::PastDue => {
                w.put(&2_u8.to_le_bytes())?;
            }
            Self::Cancelled => {
                w.put(&3_u8.to_le_bytes())?;
            }
            Self::Expired => {
                w.put(&4_u8.to_le_bytes())?;
            }
        }
        Ok(())
    }
}

/// A channel was opened (emitted by CPI).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Opened {
    pub channel: Address,
    pub open_slot: u64,
}

impl Opened {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.open_slot.to_le_bytes())?;
        Ok(())
    }
}

/// A payout went to the treasury, because the beneficiary's token account cannot be used
/// (emitted by CPI).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PayoutRedirected {
    pub channel: Address,
    pub owner: Address,
    pub amount: u64,
    pub beneficiary: PayoutBeneficiary,
    pub reason: RedirectReason,
}

impl PayoutRedirected {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(self.owner.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        self.beneficiary.encode(w)?;
        self.reason.encode(w)?;
        Ok(())
    }
}

/// The beneficiary whose payout went to the treasury.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::enum_variant_names)] // the source's
pub enum PayoutBeneficiary {
    Recipient,
    Payee,
    Payer,
}

impl PayoutBeneficiary {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        match self {
            Self::Recipient => {
                w.put(&0_u8.to_le_bytes())?;
            }
            Self::Payee => {
                w.put(&1_u8.to_le_bytes())?;
            }
            Self::Payer => {
                w.put(&2_u8.to_le_bytes())?;
            }
        }
        Ok(())
    }
}

/// The reason why the beneficiary's token account could not be used.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::enum_variant_names)] // the source's
pub enum RedirectReason {
    UnsupportedExtension,
    ClosedOrMalformed,
    NotInitialized,
    ReassignedAuthority,
}

impl RedirectReason {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        match self {
            Self::UnsupportedExtension => {
                w.put(&0_u8.to_le_bytes())?;
            }
            Self::ClosedOrMalformed => {
                w.put(&1_u8.to_le_bytes())?;
            }
            Self::NotInitialized => {
                w.put(&2_u8.to_le_bytes())?;
            }
            Self::ReassignedAuthority => {
                w.put(&3_u8.to_le_bytes())?;
            }
        }
        Ok(())
    }
}

/// A voucher was settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    pub channel: Address,
    pub settled: u64,
}

impl Settled {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.settled.to_le_bytes())?;
        Ok(())
    }
}

/// A channel's deposit grew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToppedUp {
    pub channel: Address,
    pub deposit: u64,
}

impl ToppedUp {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.deposit.to_le_bytes())?;
        Ok(())
    }
}

/// The payer asked to close. From \`seal_at\` on, anyone may seal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloseRequested {
    pub channel: Address,
    pub seal_at: i64,
}

impl CloseRequested {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.seal_at.to_le_bytes())?;
        Ok(())
    }
}

/// A channel was sealed: it accepts no more vouchers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sealed {
    pub channel: Address,
    pub settled: u64,
}

impl Sealed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.settled.to_le_bytes())?;
        Ok(())
    }
}

/// Tokens were paid out. \`watermark\`: up to this settled sum. \`drained\`: it was the last
/// payout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distributed {
    pub channel: Address,
    pub watermark: u64,
    pub drained: bool,
}

impl Distributed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.watermark.to_le_bytes())?;
        w.length::<1>(usize::from(self.drained))?;
        Ok(())
    }
}

/// The payer took the rest, which no voucher proved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PayerWithdrew {
    pub channel: Address,
    pub amount: u64,
}

impl PayerWithdrew {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        Ok(())
    }
}

/// A channel's account was closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reclaimed {
    pub channel: Address,
}

impl Reclaimed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.channel.as_array().as_slice())?;
        Ok(())
    }
}

/// An exact payment was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paid<'a> {
    pub receipt: Address,
    pub payer: Address,
    pub payee: Address,
    pub mint: Address,
    pub amount: u64,
    pub payment_id: &'a [u8; 32],
    pub call_hash: &'a [u8; 32],
}

impl<'a> Paid<'a> {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.receipt.as_array().as_slice())?;
        w.put(self.payer.as_array().as_slice())?;
        w.put(self.payee.as_array().as_slice())?;
        w.put(self.mint.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        w.put(self.payment_id.as_slice())?;
        w.put(self.call_hash.as_slice())?;
        Ok(())
    }
}

/// A receipt was closed after its retention time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiptClosed<'a> {
    pub receipt: Address,
    pub payment_id: &'a [u8; 32],
}

impl<'a> ReceiptClosed<'a> {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.receipt.as_array().as_slice())?;
        w.put(self.payment_id.as_slice())?;
        Ok(())
    }
}

/// A merchant created a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanCreated {
    pub plan: Address,
    pub merchant: Address,
    pub mint: Address,
    pub price: u64,
    pub period: u32,
}

impl PlanCreated {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.plan.as_array().as_slice())?;
        w.put(self.merchant.as_array().as_slice())?;
        w.put(self.mint.as_array().as_slice())?;
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.period.to_le_bytes())?;
        Ok(())
    }
}

/// A plan was opened to new subscribers, or closed to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanOpened {
    pub plan: Address,
    pub open: bool,
}

impl PlanOpened {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.plan.as_array().as_slice())?;
        w.length::<1>(usize::from(self.open))?;
        Ok(())
    }
}

/// A plan's account was closed. Its subscriptions keep their terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanClosed {
    pub plan: Address,
}

impl PlanClosed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.plan.as_array().as_slice())?;
        Ok(())
    }
}

/// A subscriber agreed to a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subscribed {
    pub subscription: Address,
    pub plan: Address,
    pub subscriber: Address,
    pub price: u64,
    pub max_charges: u32,
    pub due_at: i64,
}

impl Subscribed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.subscription.as_array().as_slice())?;
        w.put(self.plan.as_array().as_slice())?;
        w.put(self.subscriber.as_array().as_slice())?;
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.max_charges.to_le_bytes())?;
        w.put(&self.due_at.to_le_bytes())?;
        Ok(())
    }
}

/// A period was paid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Charged {
    pub subscription: Address,
    pub amount: u64,
    pub charges: u32,
    pub due_at: i64,
}

impl Charged {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.subscription.as_array().as_slice())?;
        w.put(&self.amount.to_le_bytes())?;
        w.put(&self.charges.to_le_bytes())?;
        w.put(&self.due_at.to_le_bytes())?;
        Ok(())
    }
}

/// A subscriber agreed to new terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanChanged {
    pub subscription: Address,
    pub terms: Address,
    pub price: u64,
    pub max_charges: u32,
}

impl PlanChanged {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.subscription.as_array().as_slice())?;
        w.put(self.terms.as_array().as_slice())?;
        w.put(&self.price.to_le_bytes())?;
        w.put(&self.max_charges.to_le_bytes())?;
        Ok(())
    }
}

/// A subscription was cancelled: it cannot be charged any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cancelled {
    pub subscription: Address,
    pub by_merchant: bool,
    pub refunded: u64,
}

impl Cancelled {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.subscription.as_array().as_slice())?;
        w.length::<1>(usize::from(self.by_merchant))?;
        w.put(&self.refunded.to_le_bytes())?;
        Ok(())
    }
}

/// A subscription's account was closed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubscriptionClosed {
    pub subscription: Address,
}

impl SubscriptionClosed {
    pub fn encode(&self, w: &mut impl Output) -> ProgramResult {
        w.put(self.subscription.as_array().as_slice())?;
        Ok(())
    }
}
