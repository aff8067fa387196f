"""Payments for x402: exact ones that leave a receipt, channels with vouchers, and subscriptions.

The channel instructions (1 to 9, and 228) have the wire format of the audited payment-channels program: the same
discriminators, account lists, account layout, voucher bytes, error codes and events. So one client works with both.
docs/x402-program.md has the state machines, the threat model, and the differences from the audited program.
"""

# pyright: reportUnnecessaryComparison=false
# pyright compares the classes of `case 14` and a u16, not their values

from mcpsol_py.spec import (
    Account,
    Array,
    AssociatedTokenProgram,
    Clock,
    Data,
    Enum,
    Event,
    Instructions,
    Mint,
    Mut,
    Payer,
    ProgramAccount,
    Pubkey,
    Ref,
    RemainingBytes,
    Rent,
    Signer,
    Struct,
    SystemProgram,
    TokenAccount,
    TokenInterface,
    Unchecked,
    address,
    associated,
    close,
    constant,
    create,
    emit,
    emit_cpi,
    error,
    extensions,
    find_program_address,
    has_one,
    i64,
    init,
    instruction,
    is_before,
    is_mint,
    is_new,
    is_on_curve,
    is_owned,
    is_token_account,
    load,
    mint,
    otherwise,
    overflow,
    program,
    require,
    seeds,
    sha256,
    token,
    u8,
    u16,
    u32,
    u64,
    u128,
    variant,
)

ADDRESS = "8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz"
ATA_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
ASSOCIATED_TOKEN = Pubkey(ATA_PROGRAM)
TOKEN = Pubkey("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
#: The owner of the treasury: 0xBEEF sixteen times, as in local builds of the audited program. Nobody has its key. Put a
#: wallet of yours here, and in TREASURY_OWNER below, before you deploy.
TREASURY = bytes([0xBE, 0xEF]) * 16

#: The version of channels, and the values of their status.
VERSION = u8(1)
OPEN, SEALED, CLOSING, DISTRIBUTED = u8(0), u8(1), u8(2), u8(3)
#: Verifies Ed25519 signatures before a program's instruction runs.
ED25519_PROGRAM = Pubkey("Ed25519SigVerify111111111111111111111111111")
#: The first bytes of such an instruction: one signature, whose key, signature and message are in the same instruction
#: (index 0xffff), at exactly these offsets. With another layout, the verified bytes could differ from those that are
#: read.
VOUCHER_HEAD = bytes.fromhex("0100 3000ffff 1000ffff 70003200ffff")
VOUCHER_SIZE = 162
#: The bytes of a mint and of a token account. Token-2022 pads a mint with extensions to the size of an account.
MINT_SIZE, ACCOUNT_SIZE = 82, 165
PADDING = bytes(ACCOUNT_SIZE - MINT_SIZE)
#: Why a token account cannot be used.
USABLE, NOT_A_TOKEN_ACCOUNT, NOT_INITIALIZED, OTHER_OWNER = u8(0), u8(1), u8(2), u8(3)
REFUSED_EXTENSION, MALFORMED_EXTENSIONS = u8(4), u8(5)
MAGIC = b"\x56\x01"
#: All shares together, in hundredths of a percent, and how many there may be.
WHOLE = u64(10_000)
MOST_RECIPIENTS = 32
#: No address comes before it.
FIRST_ADDRESS = Pubkey(bytes(32))
#: Slots within which a channel must be opened.
WINDOW = u64(1_500)


class DistributionEntry(Struct):
    """A recipient's share of what vouchers prove.

    Attributes:
        recipient: The wallet. Its associated token account gets the tokens.
        bps: Its share in hundredths of a percent, 1 to 10,000.
    """

    recipient: Pubkey
    bps: u16


class PayoutBeneficiary(Enum):
    """The beneficiary whose payout went to the treasury."""

    Recipient = variant()
    Payee = variant()
    Payer = variant()


class RedirectReason(Enum):
    """The reason why the beneficiary's token account could not be used."""

    UnsupportedExtension = variant()
    ClosedOrMalformed = variant()
    NotInitialized = variant()
    ReassignedAuthority = variant()


class ChannelState(Enum):
    """The state of a channel."""

    Open = variant()
    Sealed = variant()
    Closing = variant()
    Distributed = variant()


class SubscriptionState(Enum):
    """The state of a subscription."""

    Pending = variant()
    Active = variant()
    PastDue = variant()
    Cancelled = variant()
    Expired = variant()


class Quote(Struct):
    """The price of subscribing to a plan.

    Attributes:
        price: Tokens for each period, in base units.
        first_charge: Tokens charged at once: 0 if there is a trial.
        allowance: The most tokens that all later charges together can take.
        first_due: When the first charge after subscribing is due, in seconds since 1970.
        period: Seconds in a period.
        mint: The mint of the tokens.
        open: The plan takes new subscribers.
    """

    price: u64
    first_charge: u64
    allowance: u64
    first_due: i64
    period: u32
    mint: Pubkey
    open: bool


class ChannelReport(Struct):
    """A channel at this moment.

    Attributes:
        state: Open, Sealed, Closing or Distributed.
        deposit: Tokens that the payer put in, in base units.
        settled: Tokens that vouchers proved, in base units.
        undistributed: Tokens that vouchers proved and that are not paid out yet.
        unspent: Tokens that no voucher proved. A new voucher can claim them, or the payer gets them back.
        seal_at: The time from which anyone may seal a closing channel, in seconds since 1970; else 0.
        reclaim_slot: The slot from which the account can be closed.
    """

    state: ChannelState
    deposit: u64
    settled: u64
    undistributed: u64
    unspent: u64
    seal_at: i64
    reclaim_slot: u64


class SubscriptionReport(Struct):
    """A subscription at this moment.

    Attributes:
        state: Pending (trial), Active, PastDue, Cancelled or Expired.
        chargeable: A charge would succeed now.
        price: Tokens for each charge, in base units.
        charges: Charges made under these terms.
        max_charges: The most charges that may be made.
        due_at: The time when the next charge is due, or the paid time ends, in seconds since 1970.
        expires_at: The time when it expires without a charge, in seconds since 1970.
    """

    state: SubscriptionState
    chargeable: bool
    price: u64
    charges: u32
    max_charges: u32
    due_at: i64
    expires_at: i64


@program(name="x402", address=ADDRESS, version="1.0.0")
class X402:
    """Payments for tools and APIs: exact payments with receipts, channels with vouchers, subscriptions."""

    TREASURY_OWNER = constant(
        Pubkey,
        "DrLViEZBgqj6TgP8vKqu22uvLgV6p3tfkvCYfG8yqSUn",
        "Owns the token accounts that get remainders and redirected shares.",
    )
    OPEN_SLOT_WINDOW = constant(
        u64,
        WINDOW,
        "Slots within which a channel must be opened. Its account exists for at least as long.",
    )
    MAX_RECIPIENTS = constant(
        u32, MOST_RECIPIENTS, "The most entries of a channel's distribution."
    )
    MAX_PAYMENT_TIME = constant(
        i64, 2_592_000, "The most seconds from a payment to its expiry: 30 days."
    )
    RECEIPT_RETENTION = constant(
        i64, 604_800, "Seconds for which a receipt is kept after its expiry: 7 days."
    )

    # --- state --------------------------------------------------------------------------------------------------------

    class Channel(Account, discriminator=b"\x01"):
        """A channel: tokens of a payer in escrow, which vouchers give to a payee step by step.

        Attributes:
            version: 1.
            bump: The bump of the channel's address.
            status: 0 open, 1 sealed, 2 closing, 3 distributed.
            salt: A number that distinguishes channels of the same parties.
            deposit: Tokens that the payer put in, in base units.
            settled: Tokens that vouchers proved so far, in base units.
            payout_watermark: The part of `settled` that distributions have paid out.
            closure_started_at: The time when the payer asked to close, in seconds since 1970; 0 if not closing.
            payer_withdrawn_at: The time when the payer got the rest, in seconds since 1970; 0 before.
            grace_period: Seconds that the payee has for a last voucher after the payer asked to close.
            distribution_hash: SHA-256 of the distribution entries.
            payer: The wallet that put the tokens in, and gets the rest back.
            payee: The wallet that gets what the distribution entries leave.
            authorized_signer: The key that signs vouchers.
            mint: The mint of the tokens.
            rent_payer: The wallet that paid for the accounts, and gets their lamports back.
            open_slot: The slot that `open` was given.
        """

        version: u8
        bump: u8
        status: u8
        salt: u64
        deposit: u64
        settled: u64
        payout_watermark: u64
        closure_started_at: i64
        payer_withdrawn_at: i64
        grace_period: u32
        distribution_hash: Array[u8, 32]
        payer: Pubkey
        payee: Pubkey
        authorized_signer: Pubkey
        mint: Pubkey
        rent_payer: Pubkey
        open_slot: u64

    class Receipt(Account, discriminator=b"\x10"):
        """Proof of one exact payment.

        Attributes:
            bump: The bump of the receipt's address.
            payer: The owner of the tokens that paid.
            payee: The wallet that was paid.
            mint: The mint of the tokens.
            rent_payer: The wallet that paid for this account, and gets its lamports back.
            payment_id: The payment's id. Its first 8 bytes are the expiry, big-endian.
            call_hash: Hash of the resource or the tool call that was paid for.
            amount: Tokens paid, in base units.
            paid_at: The time of the payment, in seconds since 1970.
            paid_slot: The slot of the payment.
            expires_at: The time until which the payment could be made, in seconds since 1970.
        """

        bump: u8
        payer: Pubkey
        payee: Pubkey
        mint: Pubkey
        rent_payer: Pubkey
        payment_id: Array[u8, 32]
        call_hash: Array[u8, 32]
        amount: u64
        paid_at: i64
        paid_slot: u64
        expires_at: i64

    class Plan(Account, discriminator=b"\x20"):
        """A merchant's offer to subscribers. Only `open` can change.

        Attributes:
            bump: The bump of the plan's address.
            open: The plan takes new subscribers.
            merchant: The wallet that is paid.
            mint: The mint of the tokens.
            plan_id: A number that distinguishes the merchant's plans.
            price: Tokens for each period, in base units.
            period: Seconds in a period.
            trial: Seconds before the first charge; 0 charges at once.
            grace: Seconds after a charge is due within which it can still be made.
            max_charges: The most charges that a subscriber can agree to.
        """

        bump: u8
        open: bool
        merchant: Pubkey
        mint: Pubkey
        plan_id: u64
        price: u64
        period: u32
        trial: u32
        grace: u32
        max_charges: u32

    class Subscription(Account, discriminator=b"\x30"):
        """A subscriber's agreement, with the plan's terms at that time.

        Attributes:
            bump: The bump of the subscription's address.
            plan: The plan of the first agreement.
            terms: The plan whose terms apply now.
            merchant: The wallet that is paid.
            subscriber: The wallet that pays.
            mint: The mint of the tokens.
            rent_payer: The wallet that paid for this account, and gets its lamports back.
            price: Tokens for each charge, in base units.
            last_price: Tokens that the last charge took.
            period: Seconds in a period.
            grace: Seconds after a charge is due within which it can still be made.
            charges: Charges made under these terms.
            max_charges: Charges that the subscriber agreed to; no more than `charges` once the allowance is taken back.
            paid_from: Start of the period that was paid last, in seconds since 1970; 0 before the first charge.
            due_at: The time when the next charge is due, in seconds since 1970: the end of the trial or paid period.
            cancelled_at: The time when it was cancelled, in seconds since 1970; else 0.
        """

        bump: u8
        plan: Pubkey
        terms: Pubkey
        merchant: Pubkey
        subscriber: Pubkey
        mint: Pubkey
        rent_payer: Pubkey
        price: u64
        last_price: u64
        period: u32
        grace: u32
        charges: u32
        max_charges: u32
        paid_from: i64
        due_at: i64
        cancelled_at: i64

    # --- events -------------------------------------------------------------------------------------------------------

    class Opened(Event):
        """A channel was opened (emitted by CPI)."""

        channel: Pubkey
        open_slot: u64

    class PayoutRedirected(Event):
        """A payout went to the treasury, because the beneficiary's token account cannot be used (emitted by CPI)."""

        channel: Pubkey
        owner: Pubkey
        amount: u64
        beneficiary: PayoutBeneficiary
        reason: RedirectReason

    class Settled(Event):
        """A voucher was settled."""

        channel: Pubkey
        settled: u64

    class ToppedUp(Event):
        """A channel's deposit grew."""

        channel: Pubkey
        deposit: u64

    class CloseRequested(Event):
        """The payer asked to close. From `seal_at` on, anyone may seal."""

        channel: Pubkey
        seal_at: i64

    class Sealed(Event):
        """A channel was sealed: it accepts no more vouchers."""

        channel: Pubkey
        settled: u64

    class Distributed(Event):
        """Tokens were paid out. `watermark`: up to this settled sum. `drained`: it was the last payout."""

        channel: Pubkey
        watermark: u64
        drained: bool

    class PayerWithdrew(Event):
        """The payer took the rest, which no voucher proved."""

        channel: Pubkey
        amount: u64

    class Reclaimed(Event):
        """A channel's account was closed."""

        channel: Pubkey

    class Paid(Event):
        """An exact payment was made."""

        receipt: Pubkey
        payer: Pubkey
        payee: Pubkey
        mint: Pubkey
        amount: u64
        payment_id: Array[u8, 32]
        call_hash: Array[u8, 32]

    class ReceiptClosed(Event):
        """A receipt was closed after its retention time."""

        receipt: Pubkey
        payment_id: Array[u8, 32]

    class PlanCreated(Event):
        """A merchant created a plan."""

        plan: Pubkey
        merchant: Pubkey
        mint: Pubkey
        price: u64
        period: u32

    class PlanOpened(Event):
        """A plan was opened to new subscribers, or closed to them."""

        plan: Pubkey
        open: bool

    class PlanClosed(Event):
        """A plan's account was closed. Its subscriptions keep their terms."""

        plan: Pubkey

    class Subscribed(Event):
        """A subscriber agreed to a plan."""

        subscription: Pubkey
        plan: Pubkey
        subscriber: Pubkey
        price: u64
        max_charges: u32
        due_at: i64

    class Charged(Event):
        """A period was paid."""

        subscription: Pubkey
        amount: u64
        charges: u32
        due_at: i64

    class PlanChanged(Event):
        """A subscriber agreed to new terms."""

        subscription: Pubkey
        terms: Pubkey
        price: u64
        max_charges: u32

    class Cancelled(Event):
        """A subscription was cancelled: it cannot be charged any more."""

        subscription: Pubkey
        by_merchant: bool
        refunded: u64

    class SubscriptionClosed(Event):
        """A subscription's account was closed."""

        subscription: Pubkey

    # --- errors: channels, numbered as the audited program numbers them -----------------------------------------------

    MissingRequiredSignature = error("A required signature is missing", 1)
    InvalidChannelStatus = error("The channel's status does not allow this", 2)
    UnsupportedChannelVersion = error("The channel has another version", 4)
    InvalidChannelPayer = error("This account is not the channel's payer", 5)
    InvalidChannelPayee = error("This account is not the channel's payee", 6)
    InvalidChannelMint = error("This account is not the channel's mint", 7)
    InvalidEventAuthority = error(
        "This account is not the program's event authority", 8
    )
    InvalidChannelRentPayer = error("This account did not pay the channel's rent", 10)
    ChannelAccountMismatch = error(
        "The escrow is not the channel's associated token account, or it cannot be used",
        50,
    )
    InvalidChannelTokenAccount = error("The escrow is not a token account", 51)
    InvalidChannelTokenExtensions = error(
        "The escrow has an extension that channels do not allow", 52
    )
    MintAccountMismatch = error("This account is not a mint of the token program", 53)
    InvalidMintTokenProgram = error(
        "The token program is neither SPL Token nor Token-2022", 54
    )
    MalformedMintTokenAccountData = error("The mint's data is malformed", 55)
    MalformedMintTokenExtensions = error(
        "The mint has an extension that channels do not allow, or malformed ones", 56
    )
    PayerAccountMismatch = error(
        "This account is not the payer's associated token account, or it cannot be used",
        57,
    )
    InvalidPayerTokenAccount = error(
        "The payer has no token account yet; anyone can create it", 58
    )
    InvalidPayerTokenExtensions = error(
        "The payer's token account has an extension that channels do not allow", 59
    )
    PayeeAccountMismatch = error(
        "This account is not the payee's associated token account, or it cannot be used",
        60,
    )
    InvalidPayeeTokenAccount = error(
        "The payee has no token account yet; anyone can create it", 61
    )
    InvalidPayeeTokenExtensions = error(
        "The payee's token account has an extension that channels do not allow", 62
    )
    DepositMustBeNonZero = error("The deposit must be more than zero", 200)
    GracePeriodMustBeNonZero = error("The grace period must be more than zero", 201)
    MissingEd25519Verification = error(
        "There is no Ed25519 instruction directly before this one", 230
    )
    MalformedEd25519Instruction = error(
        "Expected one Ed25519 signature over 50 bytes, in the standard layout", 231
    )
    VoucherChannelMismatch = error("The voucher is for another channel", 232)
    VoucherExpired = error("The voucher has expired", 233)
    VoucherWatermarkNotMonotonic = error(
        "The voucher's sum must be higher than the settled sum", 234
    )
    VoucherOverDeposit = error("The voucher's sum is higher than the deposit", 235)
    VoucherSignerMismatch = error("The voucher is signed by another key", 237)
    VoucherBadMagic = error("The signed bytes are not a voucher", 238)
    InvalidRecipientCount = error("Expected at most 32 recipients", 260)
    InvalidSplitConfig = error(
        "A share is zero, the shares exceed 10,000, or the channel pays itself", 261
    )
    DuplicateRecipient = error("A recipient is listed twice", 263)
    ChannelAddressMismatch = error(
        "The channel's address is not the one derived from its seeds", 2000
    )
    PayerPayeeMustDiffer = error("Payer and payee must differ", 2001)
    InvalidAuthorizedSigner = error(
        "The authorized signer is not an Ed25519 public key", 2002
    )
    OpenSlotOutOfWindow = error(
        "The open slot is in the future, or more than 1,500 slots ago", 2003
    )
    TopUpDepositOverflow = error("The deposit would exceed 18446744073709551615", 2100)
    SealDeadlineOverflow = error(
        "The end of the grace period is not a valid time", 2200
    )
    SealGracePeriodNotElapsed = error("The grace period is not over yet", 2201)
    PayerAlreadyWithdrawn = error("The payer already has the rest", 2300)
    RefundCalculationOverflow = error("The settled sum exceeds the deposit", 2301)
    ChannelNotDistributable = error("The channel is neither open nor sealed", 2400)
    TreasuryAccountMismatch = error(
        "This account is not the treasury's associated token account, or it cannot be used",
        2401,
    )
    InvalidTreasuryTokenAccount = error(
        "The treasury has no token account yet; anyone can create it", 2402
    )
    InvalidTreasuryTokenExtensions = error(
        "The treasury's token account has an extension that channels do not allow", 2403
    )
    RecipientAccountMismatch = error(
        "This account is not the recipient's associated token account, or it cannot be used",
        2404,
    )
    InvalidRecipientTokenAccount = error(
        "The recipient has no token account yet; anyone can create it", 2405
    )
    InvalidRecipientTokenExtensions = error(
        "The recipient's token account has an extension that channels do not allow",
        2406,
    )
    InvalidDistributionHash = error(
        "The entries differ from those that the channel was opened with", 2407
    )
    NothingToDistribute = error("Nothing was settled after the last distribution", 2408)
    RecipientAccountCountMismatch = error(
        "Expected one token account for each entry", 2409
    )
    DistributePoolOverflow = error("The paid-out sum exceeds the settled sum", 2410)
    DistributeBalanceCalculationOverflow = error(
        "The escrow holds less than the channel owes", 2411
    )
    ChannelCloseTooEarly = error(
        "The channel's account can only be closed after its window of 1,500 slots", 2414
    )

    # --- errors: payments and subscriptions ---------------------------------------------------------------------------

    AlreadyPaid = error(
        "This payment was made before; the return data is its receipt", 6000
    )
    PaymentIdReused = error(
        "This payment id was used for another amount or call; the return data is its receipt"
    )
    ZeroAmount = error("The amount must be more than zero")
    PaymentExpired = error("The payment has expired")
    ExpiryTooFar = error("The expiry is more than 30 days away")
    PaymentIdWithoutExpiry = error(
        "The first 8 bytes of a payment id are its expiry, big-endian"
    )
    ReceiptAddressMismatch = error(
        "The receipt's address is not the one derived from payer, payee, mint and payment id"
    )
    ReceiptRetained = error("The receipt can be closed 7 days after its expiry")
    NotReceiptRentPayer = error("This account did not pay for the receipt")
    SelfPayment = error("Payer and payee are the same")
    NotOwnerNorDelegate = error(
        "The authority is neither the token account's owner nor its delegate"
    )
    AllowanceTooSmall = error("The amount exceeds the delegate's allowance")
    BalanceTooSmall = error("The amount exceeds the token account's balance")
    AccountFrozen = error("The token account is frozen")
    UnsupportedMintExtension = error(
        "The mint has an extension that payments do not allow"
    )
    FeeTaken = error("The payee would get less than the amount")
    WrongTokenProgram = error("The token program is neither SPL Token nor Token-2022")
    InvalidPlan = error(
        "Price, period, grace period and charges must be more than zero, and the grace period no longer than the period"
    )
    PlanNotOpen = error("The plan takes no new subscribers")
    PlanMismatch = error("This account is not the plan's merchant or mint")
    TermsChanged = error(
        "The plan's terms differ from those that the subscriber agreed to"
    )
    TooManyPeriods = error(
        "Expected at least one charge, and no more than the plan allows"
    )
    OtherDelegate = error("The token account has another delegate; revoke it first")
    NotSubscriber = error("This account is not the subscriber")
    NotMerchant = error("This account is not the subscription's merchant")
    SubscriptionMismatch = error(
        "This account is not the subscription's mint or rent payer, or not another subscription of its subscriber"
    )
    NotDue = error("The next charge is not due yet")
    SubscriptionExpired = error("The subscription has expired")
    SubscriptionCancelled = error("The subscription is cancelled")
    ChargesUsedUp = error("The subscriber agreed to no more charges")
    StillRunning = error("The subscription or its paid time has not ended yet")
    Overflow = error("A sum is too large")
    AllowanceLeft = error(
        "The program still has an allowance for this subscription; the subscriber can cancel to take it back"
    )

    # --- channels -----------------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x01")
    def open(
        self,
        payer: Mut[Payer, otherwise(signer=MissingRequiredSignature)],
        rent_payer: Mut[Payer, otherwise(signer=MissingRequiredSignature)],
        payee: Unchecked,
        mint: Unchecked,
        authorized_signer: Unchecked,
        channel: Mut[
            Channel,
            init(payer="rent_payer"),
            seeds(
                b"channel",
                "payer",
                "payee",
                "mint",
                "authorized_signer",
                "salt",
                "open_slot",
                bump="bump",
                error=ChannelAddressMismatch,
            ),
        ],
        payer_token_account: Mut[
            Unchecked,
            seeds(
                "payer",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=PayerAccountMismatch,
            ),
        ],
        channel_token_account: Mut[
            Unchecked,
            seeds(
                "channel",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=ChannelAccountMismatch,
            ),
        ],
        token_program: Ref[TokenInterface, otherwise(address=InvalidMintTokenProgram)],
        system_program: SystemProgram,
        rent: Rent,
        associated_token_program: AssociatedTokenProgram,
        event_authority: Ref[
            Unchecked, seeds(b"event_authority", error=InvalidEventAuthority)
        ],
        self_program: Ref[ProgramAccount, address(ADDRESS)],
        salt: u64,
        deposit: u64,
        grace_period: u32,
        open_slot: u64,
        recipients: list[DistributionEntry],
    ) -> None:
        """Open a channel: put tokens into escrow, from which vouchers of the authorized signer pay the payee.

        When to use:
            Before many small payments to one payee: each then needs a signed voucher instead of a transaction.

        Args:
            payer: The wallet that puts the tokens in.
            rent_payer: The wallet that pays for the accounts; may be the payer.
            payee: The wallet that gets what the entries leave.
            mint: The mint of the tokens.
            authorized_signer: The Ed25519 key that signs vouchers.
            channel: The new channel.
            payer_token_account: The payer's associated token account.
            channel_token_account: The channel's associated token account; it is created.
            salt: Any number. Another number gives another channel of the same parties.
            deposit (base units): Number of tokens.
            grace_period (seconds): Time that the payee has for a last voucher after the payer asks to close.
            open_slot: One of the last 1,500 slots.
            recipients: Recipients of shares of what the payee earns. Without any, the payee gets all.
        """
        require(payer.address != payee.address, self.PayerPayeeMustDiffer)
        require(deposit > 0, self.DepositMustBeNonZero)
        require(grace_period > 0, self.GracePeriodMustBeNonZero)
        require(is_on_curve(authorized_signer.address), self.InvalidAuthorizedSigner)
        with overflow(self.OpenSlotOutOfWindow):
            age = Clock.get().slot - open_slot
        require(age <= WINDOW, self.OpenSlotOutOfWindow)
        need_entries(recipients, channel.address)
        decimals = mint_to_hold(mint, token_program)
        need_payer(flaw_of(payer_token_account, payer.address, mint, token_program))
        channel.version = VERSION
        channel.status = OPEN
        channel.salt = salt
        channel.deposit = deposit
        channel.grace_period = grace_period
        channel.distribution_hash = sha256(recipients)
        channel.payer = payer.address
        channel.payee = payee.address
        channel.authorized_signer = authorized_signer.address
        channel.mint = mint.address
        channel.rent_payer = rent_payer.address
        channel.open_slot = open_slot
        # an existing account is used: nobody can block an opening by creating it first
        associated_token_program.create_idempotent(
            payer=rent_payer,
            account=channel_token_account,
            owner=channel,
            mint=mint,
            system_program=system_program,
            token_program=token_program,
        )
        token_program.transfer_checked(
            source=payer_token_account,
            mint=mint,
            destination=channel_token_account,
            authority=payer,
            amount=deposit,
            decimals=decimals,
        )
        emit_cpi(
            self.Opened(channel=channel.address, open_slot=open_slot),
            authority=event_authority,
            program=self_program,
        )

    @instruction(discriminator=b"\x02")
    def settle(
        self, channel: Mut[Channel, ...], instructions_sysvar: Instructions
    ) -> None:
        """Settle a voucher, which the Ed25519 instruction directly before this one proves. Anyone may call it.

        Args:
            channel: The channel of the voucher.
        """
        need_status(channel, OPEN)
        index = index_before(instructions_sysvar.current_index)
        verifier = instructions_sysvar.program_at(index)
        proof = instructions_sysvar.data_at(index)
        channel.settled = proven(verifier, proof, channel.address, channel)
        emit(self.Settled(channel=channel.address, settled=channel.settled))

    @instruction(discriminator=b"\x03")
    def top_up(
        self,
        payer: Mut[Payer, otherwise(signer=MissingRequiredSignature)],
        channel: Mut[
            Channel,
            has_one("payer", error=InvalidChannelPayer),
            has_one("mint", error=InvalidChannelMint),
        ],
        payer_token_account: Mut[
            Unchecked,
            seeds(
                "payer",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=PayerAccountMismatch,
            ),
        ],
        channel_token_account: Mut[
            Unchecked,
            seeds(
                "channel",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=ChannelAccountMismatch,
            ),
        ],
        mint: Unchecked,
        token_program: Ref[TokenInterface, otherwise(address=InvalidMintTokenProgram)],
        amount: u64,
    ) -> None:
        """Put more tokens into an open channel.

        Args:
            payer: The channel's payer.
            channel: The channel.
            amount (base units): Number of tokens.
        """
        require(amount > 0, self.DepositMustBeNonZero)
        need_status(channel, OPEN)
        decimals = mint_to_hold(mint, token_program)
        need_escrow(
            flaw_of(channel_token_account, channel.address, mint, token_program)
        )
        need_payer(flaw_of(payer_token_account, payer.address, mint, token_program))
        with overflow(self.TopUpDepositOverflow):
            deposit = channel.deposit + amount
        channel.deposit = deposit
        token_program.transfer_checked(
            source=payer_token_account,
            mint=mint,
            destination=channel_token_account,
            authority=payer,
            amount=amount,
            decimals=decimals,
        )
        emit(self.ToppedUp(channel=channel.address, deposit=deposit))

    @instruction(discriminator=b"\x04")
    def settle_and_seal(
        self,
        payee: Ref[Signer, otherwise(signer=MissingRequiredSignature)],
        channel: Mut[Channel, has_one("payee", error=InvalidChannelPayee)],
        instructions_sysvar: Instructions,
        has_voucher: u8,
    ) -> None:
        """Seal a channel as its payee, with a last voucher or without one. It accepts no more vouchers.

        Args:
            payee: The channel's payee.
            channel: The channel.
            has_voucher: 0 without a voucher. Otherwise the Ed25519 instruction directly before this one proves one.
        """
        need_version(channel)
        require(accepts_vouchers(channel), self.InvalidChannelStatus)
        if has_voucher != 0:
            index = index_before(instructions_sysvar.current_index)
            verifier = instructions_sysvar.program_at(index)
            proof = instructions_sysvar.data_at(index)
            channel.settled = proven(verifier, proof, channel.address, channel)
        channel.status = SEALED
        channel.closure_started_at = i64(0)
        emit(self.Sealed(channel=channel.address, settled=channel.settled))

    @instruction(discriminator=b"\x05")
    def request_close(
        self,
        payer: Ref[Signer, otherwise(signer=MissingRequiredSignature)],
        channel: Mut[Channel, has_one("payer", error=InvalidChannelPayer)],
    ) -> None:
        """Ask to close a channel as its payer. The payee then has the grace period for a last voucher.

        Args:
            payer: The channel's payer.
            channel: The channel.
        """
        need_status(channel, OPEN)
        channel.status = CLOSING
        channel.closure_started_at = Clock.get().unix_timestamp
        emit(
            self.CloseRequested(channel=channel.address, seal_at=seal_deadline(channel))
        )

    @instruction(discriminator=b"\x06")
    def seal(self, channel: Mut[Channel, ...]) -> None:
        """Seal a closing channel after its grace period. Anyone may call it.

        Args:
            channel: The channel.
        """
        need_status(channel, CLOSING)
        require(
            Clock.get().unix_timestamp >= seal_deadline(channel),
            self.SealGracePeriodNotElapsed,
        )
        channel.status = SEALED
        channel.closure_started_at = i64(0)
        emit(self.Sealed(channel=channel.address, settled=channel.settled))

    @instruction(discriminator=b"\x07")
    def distribute(
        self,
        channel: Mut[
            Channel,
            has_one("payer", error=InvalidChannelPayer),
            has_one("rent_payer", error=InvalidChannelRentPayer),
            has_one("mint", error=InvalidChannelMint),
            seeds(
                b"channel",
                "channel.payer",
                "channel.payee",
                "channel.mint",
                "channel.authorized_signer",
                "channel.salt",
                "channel.open_slot",
                bump="bump",
                error=ChannelAddressMismatch,
            ),
        ],
        payer: Mut[Unchecked, ...],
        rent_payer: Mut[Unchecked, ...],
        channel_token_account: Mut[
            Unchecked,
            seeds(
                "channel",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=ChannelAccountMismatch,
            ),
        ],
        payer_token_account: Mut[
            Unchecked,
            seeds(
                "payer",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=PayerAccountMismatch,
            ),
        ],
        payee_token_account: Mut[
            Unchecked,
            seeds(
                "channel.payee",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=PayeeAccountMismatch,
            ),
        ],
        treasury_token_account: Mut[
            Unchecked,
            seeds(
                TREASURY,
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=TreasuryAccountMismatch,
            ),
        ],
        mint: Unchecked,
        token_program: Ref[TokenInterface, otherwise(address=InvalidMintTokenProgram)],
        event_authority: Ref[
            Unchecked, seeds(b"event_authority", error=InvalidEventAuthority)
        ],
        self_program: Ref[ProgramAccount, address(ADDRESS)],
        *recipient_token_accounts: Mut[Unchecked, ...],
        recipients: list[DistributionEntry],
    ) -> None:
        """Pay out what vouchers proved. If the channel is sealed, also refund the payer and close the escrow. Anyone
        may call it. What a missing or frozen token account cannot take stays in the channel.

        Args:
            channel: The channel.
            payer: The channel's payer.
            rent_payer: The wallet that paid for the channel's accounts.
            treasury_token_account: Gets rounding remainders, and the share of a recipient whose account is frozen.
            recipient_token_accounts: The recipients' associated token accounts, in the order of the entries, writable.
            recipients: The entries that the channel was opened with.
        """
        # Anyone can choose the moment. So what a token account cannot take at that moment stays in the escrow, and a
        # sealed channel stays sealed. Only a recipient that keeps others waiting loses its share.
        need_version(channel)
        is_sealed = channel.status == SEALED
        require(is_sealed or channel.status == OPEN, self.ChannelNotDistributable)
        is_same = sha256(recipients) == channel.distribution_hash
        require(is_same, self.InvalidDistributionHash)
        settled = channel.settled
        paid = channel.payout_watermark
        require(paid <= settled, self.DistributePoolOverflow)
        require(is_sealed or paid < settled, self.NothingToDistribute)
        # nothing of an open channel, or after the payer withdrew
        refund = u64(0)
        if is_sealed and channel.payer_withdrawn_at == 0:
            with overflow(self.RefundCalculationOverflow):
                refund = channel.deposit - settled
        payee = channel.payee
        open_slot = channel.open_slot
        is_whole = len(recipient_token_accounts) == len(recipients)
        require(is_whole, self.RecipientAccountCountMismatch)
        decimals = mint_to_hold(mint, token_program)
        need_escrow(
            flaw_of(channel_token_account, channel.address, mint, token_program)
        )
        for account, entry in zip(recipient_token_accounts, recipients, strict=True):
            wanted = find_program_address(
                entry.recipient,
                token_program.address,
                mint.address,
                program=ASSOCIATED_TOKEN,
            )
            require(account.address == wanted, self.RecipientAccountMismatch)
        with overflow(self.DistributePoolOverflow):
            pool = settled - paid + refund
        balance = channel_token_account.data.u64(64)
        require(balance >= pool, self.DistributeBalanceCalculationOverflow)

        # Look at the account of every share, before any is paid. One that does not exist holds all shares back, since
        # anyone can create it. Any other flaw can only be mended by the account's owner or the mint's freeze authority:
        # then the treasury gets the share, unless nobody else is waiting for one.
        total = share(paid, settled, payee_bps(recipients))
        payee_share = total
        payee_flaw = USABLE
        if payee_share > 0:
            payee_flaw = flaw_of(payee_token_account, payee, mint, token_program)
        is_waiting = payee_share > 0 and payee_flaw == USABLE
        is_absent = False
        recipient_flaw = USABLE
        for account, entry in zip(recipient_token_accounts, recipients, strict=True):
            amount = share(paid, settled, u64(entry.bps))
            if amount > 0:
                with overflow(self.DistributePoolOverflow):
                    total += amount
                flaw = flaw_of(account, entry.recipient, mint, token_program)
                if flaw == USABLE:
                    is_waiting = True
                elif flaw == NOT_A_TOKEN_ACCOUNT:
                    is_absent = True
                else:
                    is_read = flaw != MALFORMED_EXTENSIONS
                    require(is_read, self.InvalidRecipientTokenExtensions)
                    if recipient_flaw == USABLE:
                        recipient_flaw = flaw
        is_read = payee_flaw != MALFORMED_EXTENSIONS
        require(is_read, self.InvalidPayeeTokenExtensions)
        has_flaw = recipient_flaw != USABLE or payee_flaw > NOT_A_TOKEN_ACCOUNT
        is_held = is_absent or payee_flaw == NOT_A_TOKEN_ACCOUNT
        if has_flaw and not is_waiting:
            is_held = True
        # Remainders of division, and what strangers sent to the escrow. The payer gets them if the treasury cannot.
        rest = u64(0)
        if is_sealed:
            rest = balance.saturating_sub(total).saturating_sub(refund)
        treasury_flaw = USABLE
        if has_flaw or rest > 0:
            treasury_flaw = flaw_of(
                treasury_token_account, self.TREASURY_OWNER, mint, token_program
            )
        payer_flaw = USABLE
        if refund > 0 or treasury_flaw != USABLE:
            payer_flaw = flaw_of(
                payer_token_account, payer.address, mint, token_program
            )
        if has_flaw and treasury_flaw != USABLE:
            is_held = True
        keeps_shares = total > 0 and is_held
        keeps_refund = refund > 0 and payer_flaw != USABLE
        keeps_rest = rest > 0 and treasury_flaw != USABLE and payer_flaw != USABLE
        pays_shares = total > 0 and not keeps_shares
        pays_refund = refund > 0 and not keeps_refund
        if not pays_shares and not pays_refund:
            # nothing can be paid: say why
            if keeps_shares:
                require(not is_absent, self.InvalidRecipientTokenAccount)
                is_there = payee_flaw != NOT_A_TOKEN_ACCOUNT
                require(is_there, self.InvalidPayeeTokenAccount)
                if not is_waiting:
                    need_recipient(recipient_flaw)
                    need_payee(payee_flaw)
                need_treasury(treasury_flaw)
            if keeps_refund:
                need_payer(payer_flaw)
            if keeps_rest:
                need_treasury(treasury_flaw)
        is_drained = is_sealed and not (keeps_shares or keeps_refund or keeps_rest)
        # shares that are rounded to nothing are paid too
        watermark = paid if keeps_shares else settled

        # all is checked: the state first, then the tokens
        if is_drained:
            # the sums stay as they were before the last payout, as the audited program leaves them
            channel.status = DISTRIBUTED
        else:
            channel.payout_watermark = watermark
            if pays_refund:
                channel.payer_withdrawn_at = Clock.get().unix_timestamp
        to_payer = refund if pays_refund else u64(0)
        to_treasury = u64(0)
        if is_drained:
            if treasury_flaw == USABLE:
                to_treasury = rest
            else:
                with overflow(self.DistributePoolOverflow):
                    to_payer += rest
        if pays_shares:
            for account, entry in zip(
                recipient_token_accounts, recipients, strict=True
            ):
                amount = share(paid, settled, u64(entry.bps))
                flaw = USABLE
                if has_flaw and amount > 0:
                    flaw = flaw_of(account, entry.recipient, mint, token_program)
                if flaw != USABLE:
                    with overflow(self.DistributePoolOverflow):
                        to_treasury += amount
                    emit_cpi(
                        self.PayoutRedirected(
                            channel=channel.address,
                            owner=entry.recipient,
                            amount=amount,
                            beneficiary=PayoutBeneficiary.Recipient,
                            reason=reason_of(flaw),
                        ),
                        authority=event_authority,
                        program=self_program,
                    )
                elif amount > 0:
                    token_program.transfer_checked(
                        source=channel_token_account,
                        mint=mint,
                        destination=account,
                        authority=channel,
                        amount=amount,
                        decimals=decimals,
                    )
            if payee_flaw != USABLE:
                with overflow(self.DistributePoolOverflow):
                    to_treasury += payee_share
                emit_cpi(
                    self.PayoutRedirected(
                        channel=channel.address,
                        owner=payee,
                        amount=payee_share,
                        beneficiary=PayoutBeneficiary.Payee,
                        reason=reason_of(payee_flaw),
                    ),
                    authority=event_authority,
                    program=self_program,
                )
            elif payee_share > 0:
                token_program.transfer_checked(
                    source=channel_token_account,
                    mint=mint,
                    destination=payee_token_account,
                    authority=channel,
                    amount=payee_share,
                    decimals=decimals,
                )
        if to_payer > 0:
            token_program.transfer_checked(
                source=channel_token_account,
                mint=mint,
                destination=payer_token_account,
                authority=channel,
                amount=to_payer,
                decimals=decimals,
            )
        if to_treasury > 0:
            token_program.transfer_checked(
                source=channel_token_account,
                mint=mint,
                destination=treasury_token_account,
                authority=channel,
                amount=to_treasury,
                decimals=decimals,
            )
        if is_drained:
            token_program.close_account(
                account=channel_token_account, destination=rent_payer, authority=channel
            )
            if Clock.get().slot >= reclaim_slot(open_slot):
                close(channel, rent_payer)
        emit(
            self.Distributed(
                channel=channel.address, watermark=watermark, drained=is_drained
            )
        )

    @instruction(discriminator=b"\x08")
    def withdraw_payer(
        self,
        payer: Ref[Signer, otherwise(signer=MissingRequiredSignature)],
        channel: Mut[
            Channel,
            has_one("payer", error=InvalidChannelPayer),
            has_one("mint", error=InvalidChannelMint),
            seeds(
                b"channel",
                "channel.payer",
                "channel.payee",
                "channel.mint",
                "channel.authorized_signer",
                "channel.salt",
                "channel.open_slot",
                bump="bump",
                error=ChannelAddressMismatch,
            ),
        ],
        channel_token_account: Mut[
            Unchecked,
            seeds(
                "channel",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=ChannelAccountMismatch,
            ),
        ],
        payer_token_account: Mut[
            Unchecked,
            seeds(
                "payer",
                "token_program",
                "mint",
                program=ATA_PROGRAM,
                error=PayerAccountMismatch,
            ),
        ],
        mint: Unchecked,
        token_program: Ref[TokenInterface, otherwise(address=InvalidMintTokenProgram)],
    ) -> None:
        """Take the rest out of a sealed channel as its payer, once: the tokens that no voucher proved.

        Args:
            payer: The channel's payer.
            channel: The channel.
        """
        need_status(channel, SEALED)
        require(channel.payer_withdrawn_at == 0, self.PayerAlreadyWithdrawn)
        with overflow(self.RefundCalculationOverflow):
            amount = channel.deposit - channel.settled
        decimals = mint_to_hold(mint, token_program)
        need_escrow(
            flaw_of(channel_token_account, channel.address, mint, token_program)
        )
        need_payer(flaw_of(payer_token_account, payer.address, mint, token_program))
        channel.payer_withdrawn_at = Clock.get().unix_timestamp
        if amount > 0:
            token_program.transfer_checked(
                source=channel_token_account,
                mint=mint,
                destination=payer_token_account,
                authority=channel,
                amount=amount,
                decimals=decimals,
            )
        emit(self.PayerWithdrew(channel=channel.address, amount=amount))

    @instruction(discriminator=b"\x09")
    def reclaim(
        self,
        channel: Mut[Channel, has_one("rent_payer", error=InvalidChannelRentPayer)],
        rent_payer: Mut[Unchecked, ...],
    ) -> None:
        """Close the account of a drained channel after its window of 1,500 slots. Anyone may call it.

        Args:
            channel: The channel.
            rent_payer: The wallet that paid for it, and gets its lamports.
        """
        need_status(channel, DISTRIBUTED)
        require(
            Clock.get().slot >= reclaim_slot(channel.open_slot),
            self.ChannelCloseTooEarly,
        )
        close(channel, rent_payer)
        emit(self.Reclaimed(channel=channel.address))

    @instruction(discriminator=b"\xe4")
    def emit_event(
        self,
        event_authority: Ref[
            Signer,
            seeds(b"event_authority", error=InvalidEventAuthority),
            otherwise(signer=MissingRequiredSignature),
        ],
        event: RemainingBytes,
    ) -> None:
        """Carries an event, as a call of the program to itself. Only the program can call it.

        Args:
            event: The event's bytes.
        """
        # The event is the instruction's data. The constraints have checked that the event authority signed.
        return

    # --- exact payments -----------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x10")
    def pay(
        self,
        authority: Signer,
        rent_payer: Payer,
        payer: Unchecked,
        payee: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[
            TokenAccount, token(mint="mint", authority="payer", program="token_program")
        ],
        destination: Mut[
            TokenAccount, associated("mint", "payee", program="token_program")
        ],
        receipt: Mut[
            Unchecked,
            seeds(
                b"receipt",
                "payer",
                "payee",
                "mint",
                "payment_id",
                error=ReceiptAddressMismatch,
            ),
        ],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        system_program: SystemProgram,
        payment_id: Array[u8, 32],
        call_hash: Array[u8, 32],
        amount: u64,
        expires_at: i64,
    ) -> None:
        """Pay for one call and leave a receipt. A payment id is never paid twice.

        When to use:
            For one payment of a known amount. Put it into the transaction of the call that it pays for, or show the
            receipt. A repeated call fails with AlreadyPaid and moves no tokens.

        Args:
            authority: The owner of the source, or its delegate.
            rent_payer: The wallet that pays for the receipt. It gets the rent back when the receipt is closed.
            payer: The owner of the source.
            payee: The wallet that is paid.
            mint: The mint of the tokens.
            source: The token account that pays.
            destination: The payee's associated token account, which must exist.
            receipt: The new receipt.
            payment_id: The payment's id. Its first 8 bytes are expires_at, big-endian.
            call_hash: Hash of the resource or the tool call.
            amount (base units): Number of tokens.
            expires_at (seconds since 1970): The time from which the payment is refused; at most 30 days away.
        """
        if not is_new(receipt):
            first = load(self.Receipt, receipt)
            if first.amount != amount or first.call_hash != call_hash:
                raise self.PaymentIdReused.carrying(first)
            raise self.AlreadyPaid.carrying(first)
        clock = Clock.get()
        now = clock.unix_timestamp
        require(amount > 0, self.ZeroAmount)
        require(payer.address != payee.address, self.SelfPayment)
        expiry = Data(payment_id).i64(0, big_endian=True)
        require(expiry == expires_at, self.PaymentIdWithoutExpiry)
        require(now < expires_at, self.PaymentExpired)
        with overflow(self.ExpiryTooFar):
            require(expires_at - now <= self.MAX_PAYMENT_TIME, self.ExpiryTooFar)
        need_to_pass(mint)
        new = create(self.Receipt, receipt, payer=rent_payer)
        new.bump = receipt.bump
        new.payer = payer.address
        new.payee = payee.address
        new.mint = mint.address
        new.rent_payer = rent_payer.address
        new.payment_id = payment_id
        new.call_hash = call_hash
        new.amount = amount
        new.paid_at = now
        new.paid_slot = clock.slot
        new.expires_at = expires_at
        before = may_move(source, destination, authority.address, payer.address, amount)
        token_program.transfer_checked(
            source=source,
            mint=mint,
            destination=destination,
            authority=authority,
            amount=amount,
            decimals=mint.decimals,
        )
        need_exact(destination, before, amount)
        emit(
            self.Paid(
                receipt=receipt.address,
                payer=payer.address,
                payee=payee.address,
                mint=mint.address,
                amount=amount,
                payment_id=payment_id,
                call_hash=call_hash,
            )
        )

    @instruction(discriminator=b"\x11")
    def close_receipt(
        self,
        receipt: Mut[
            Receipt,
            has_one("rent_payer", error=NotReceiptRentPayer),
            close("rent_payer"),
        ],
        rent_payer: Mut[Unchecked, ...],
    ) -> None:
        """Close a receipt and return its rent, 7 days after its expiry or later. Anyone may call it.

        Args:
            receipt: The receipt.
            rent_payer: The wallet that paid for it.
        """
        with overflow(self.Overflow):
            until = receipt.expires_at + self.RECEIPT_RETENTION
        require(Clock.get().unix_timestamp >= until, self.ReceiptRetained)
        emit(self.ReceiptClosed(receipt=receipt.address, payment_id=receipt.payment_id))

    # --- subscriptions ------------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x20")
    def create_plan(
        self,
        plan: Mut[
            Plan,
            init(payer="merchant"),
            seeds(b"plan", "merchant", "plan_id", bump="bump"),
        ],
        merchant: Payer,
        mint: Ref[Mint, mint(program="token_program")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        system_program: SystemProgram,
        plan_id: u64,
        price: u64,
        period: u32,
        trial: u32,
        grace: u32,
        max_charges: u32,
    ) -> None:
        """Create a plan, to which others can subscribe.

        Args:
            plan: The new plan.
            merchant: The wallet that is paid. It pays the rent.
            mint: The mint of the tokens.
            plan_id: Any number. Another number gives another plan.
            price (base units): Tokens for each period.
            period (seconds): Length of a period.
            trial (seconds): Time before the first charge; 0 charges at once.
            grace (seconds): Time after a charge is due within which it can still be made; no longer than the period.
            max_charges: The most charges that a subscriber can agree to.
        """
        is_complete = price > 0 and period > 0 and grace > 0 and max_charges > 0
        require(is_complete, self.InvalidPlan)
        # a longer one would let a charge come after the period that it is for
        require(grace <= period, self.InvalidPlan)
        need_to_pass(mint)
        plan.open = True
        plan.merchant = merchant.address
        plan.mint = mint.address
        plan.plan_id = plan_id
        plan.price = price
        plan.period = period
        plan.trial = trial
        plan.grace = grace
        plan.max_charges = max_charges
        emit(
            self.PlanCreated(
                plan=plan.address,
                merchant=merchant.address,
                mint=mint.address,
                price=price,
                period=period,
            )
        )

    @instruction(discriminator=b"\x21")
    def set_plan_open(
        self,
        plan: Mut[Plan, has_one("merchant", error=PlanMismatch)],
        merchant: Signer,
        open: bool,
    ) -> None:
        """Open a plan to new subscribers, or close it to them.

        Args:
            plan: The plan.
            merchant: The plan's merchant.
            open: Whether the plan accepts new subscribers.
        """
        plan.open = open
        emit(self.PlanOpened(plan=plan.address, open=open))

    @instruction(discriminator=b"\x22")
    def close_plan(
        self,
        plan: Mut[Plan, has_one("merchant", error=PlanMismatch), close("merchant")],
        merchant: Payer,
    ) -> None:
        """Close a plan and return its rent. Its subscriptions keep their terms.

        Args:
            plan: The plan.
            merchant: The plan's merchant.
        """
        emit(self.PlanClosed(plan=plan.address))

    @instruction(discriminator=b"\x23")
    def subscribe(
        self,
        subscription: Mut[
            Subscription,
            init(payer="rent_payer"),
            seeds(b"subscription", "plan", "subscriber", bump="bump"),
        ],
        plan: Ref[
            Plan,
            has_one("merchant", error=PlanMismatch),
            has_one("mint", error=PlanMismatch),
        ],
        subscriber: Signer,
        rent_payer: Payer,
        merchant: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[
            TokenAccount, associated("mint", "subscriber", program="token_program")
        ],
        destination: Mut[
            TokenAccount, associated("mint", "merchant", program="token_program")
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        system_program: SystemProgram,
        price: u64,
        period: u32,
        trial: u32,
        grace: u32,
        periods: u32,
    ) -> None:
        """Subscribe to a plan. Without a trial, the first period is charged at once. Later charges can take no more
        than the agreed number of periods.

        Args:
            subscription: The new subscription.
            plan: The plan.
            subscriber: The wallet that pays.
            rent_payer: The wallet that pays for the account; may be the subscriber.
            merchant: The plan's merchant.
            mint: The plan's mint.
            source: The subscriber's associated token account.
            destination: The merchant's associated token account.
            delegate: The program's delegate for this subscriber.
            price (base units): The agreed price. It must be the plan's.
            period (seconds): The agreed period. It must be the plan's.
            trial (seconds): The agreed trial. It must be the plan's.
            grace (seconds): The agreed grace period. It must be the plan's.
            periods: The most charges.
        """
        now = Clock.get().unix_timestamp
        require(merchant.address != subscriber.address, self.SelfPayment)
        need_to_pass(mint)
        agree(plan, price, period, grace, periods)
        require(plan.trial == trial, self.TermsChanged)
        subscription.plan = plan.address
        subscription.terms = plan.address
        subscription.merchant = merchant.address
        subscription.subscriber = subscriber.address
        subscription.mint = mint.address
        subscription.rent_payer = rent_payer.address
        subscription.price = price
        subscription.period = period
        subscription.grace = grace
        subscription.max_charges = periods
        if trial == 0:
            count(subscription, now)
        else:
            with overflow(self.Overflow):
                subscription.due_at = now + i64(trial)
        due_at = subscription.due_at
        later = outstanding(subscription)
        if trial == 0:
            need_thawed(source, destination)
            before = may_take(source, destination, price)
            token_program.transfer_checked(
                source=source,
                mint=mint,
                destination=destination,
                authority=subscriber,
                amount=price,
                decimals=mint.decimals,
            )
            need_exact(destination, before, price)
        allowance = changed_allowance(source, delegate.address, u64(0), later)
        if allowance == 0:
            token_program.revoke(source=source, authority=subscriber)
        else:
            token_program.approve(
                source=source, delegate=delegate, owner=subscriber, amount=allowance
            )
        emit(
            self.Subscribed(
                subscription=subscription.address,
                plan=plan.address,
                subscriber=subscriber.address,
                price=price,
                max_charges=periods,
                due_at=due_at,
            )
        )
        if trial == 0:
            emit(
                self.Charged(
                    subscription=subscription.address,
                    amount=price,
                    charges=u32(1),
                    due_at=due_at,
                )
            )

    @instruction(discriminator=b"\x24")
    def charge(
        self,
        subscription: Mut[
            Subscription,
            has_one("subscriber", error=NotSubscriber),
            has_one("merchant", error=NotMerchant),
            has_one("mint", error=SubscriptionMismatch),
        ],
        subscriber: Unchecked,
        merchant: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[
            TokenAccount, associated("mint", "subscriber", program="token_program")
        ],
        destination: Mut[
            TokenAccount, associated("mint", "merchant", program="token_program")
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
    ) -> None:
        """Charge a subscription that is due, once a period. Anyone may call it. Missed periods are not charged.

        Args:
            subscription: The subscription.
            source: The subscriber's associated token account.
            destination: The merchant's associated token account.
        """
        now = Clock.get().unix_timestamp
        need_to_pass(mint)
        require(subscription.cancelled_at == 0, self.SubscriptionCancelled)
        require(now >= subscription.due_at, self.NotDue)
        require(subscription.charges < subscription.max_charges, self.ChargesUsedUp)
        require(now < expires_at(subscription), self.SubscriptionExpired)
        count(subscription, current_period(subscription, now))
        price = subscription.price
        charges = subscription.charges
        due_at = subscription.due_at
        before = may_move(
            source, destination, delegate.address, subscriber.address, price
        )
        token_program.transfer_checked(
            source=source,
            mint=mint,
            destination=destination,
            authority=delegate,
            amount=price,
            decimals=mint.decimals,
        )
        need_exact(destination, before, price)
        emit(
            self.Charged(
                subscription=subscription.address,
                amount=price,
                charges=charges,
                due_at=due_at,
            )
        )

    @instruction(discriminator=b"\x25")
    def change_plan(
        self,
        subscription: Mut[
            Subscription,
            has_one("subscriber", error=NotSubscriber),
            has_one("merchant", error=NotMerchant),
            has_one("mint", error=SubscriptionMismatch),
        ],
        plan: Ref[
            Plan,
            has_one("merchant", error=PlanMismatch),
            has_one("mint", error=PlanMismatch),
        ],
        subscriber: Signer,
        merchant: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[
            TokenAccount, associated("mint", "subscriber", program="token_program")
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        price: u64,
        period: u32,
        grace: u32,
        periods: u32,
    ) -> None:
        """Agree to another plan of the same merchant and mint, or to more periods of the same plan, from the next
        charge on.

        Args:
            subscription: The subscription.
            plan: The plan with the new terms.
            subscriber: The subscriber.
            price (base units): The agreed price. It must be the plan's.
            period (seconds): The agreed period. It must be the plan's.
            grace (seconds): The agreed grace period. It must be the plan's.
            periods: The most charges from now on.
        """
        need_to_pass(mint)
        agree(plan, price, period, grace, periods)
        state = state_of_subscription(subscription, Clock.get().unix_timestamp)
        require(state != SubscriptionState.Cancelled, self.SubscriptionCancelled)
        require(state != SubscriptionState.Expired, self.SubscriptionExpired)
        less = outstanding(subscription)
        subscription.terms = plan.address
        subscription.price = price
        subscription.period = period
        subscription.grace = grace
        subscription.charges = u32(0)
        subscription.max_charges = periods
        more = outstanding(subscription)
        allowance = changed_allowance(source, delegate.address, less, more)
        if allowance == 0:
            token_program.revoke(source=source, authority=subscriber)
        else:
            token_program.approve(
                source=source, delegate=delegate, owner=subscriber, amount=allowance
            )
        emit(
            self.PlanChanged(
                subscription=subscription.address,
                terms=plan.address,
                price=price,
                max_charges=periods,
            )
        )

    @instruction(discriminator=b"\x26")
    def cancel(
        self,
        subscription: Mut[
            Subscription,
            has_one("subscriber", error=NotSubscriber),
            has_one("mint", error=SubscriptionMismatch),
        ],
        subscriber: Signer,
        mint: Unchecked,
        source: Mut[
            Unchecked, seeds("subscriber", "token_program", "mint", program=ATA_PROGRAM)
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
    ) -> None:
        """Cancel a subscription as its subscriber, at any time. Nothing more is charged, and nothing is refunded.

        Args:
            subscription: The subscription.
            subscriber: The subscriber.
            source: The subscriber's associated token account. The program's allowance on it is lowered.
        """
        need_mint_or_gone(mint, token_program)
        left = outstanding(subscription)
        # a subscription that the merchant cancelled, or that was cancelled while the account was frozen, may still have
        # an allowance
        is_running = subscription.cancelled_at == 0
        require(is_running or left > 0, self.SubscriptionCancelled)
        if is_running:
            subscription.cancelled_at = Clock.get().unix_timestamp
        # The state alone stops all charges. The allowance is tidied up where that is possible: a frozen or closed token
        # account, one that refuses approvals by programs, one of another owner, or another delegate on it must not keep
        # anyone subscribed.
        allowed = allowance_of(
            source, subscriber.address, delegate.address, token_program
        )
        if allowed == 0:
            end(subscription)
        elif is_token_account(source, token_program) and can_change_allowance(source):
            allowance = changed_allowance(source, delegate.address, left, u64(0))
            if allowance == 0:
                token_program.revoke(source=source, authority=subscriber)
            else:
                token_program.approve(
                    source=source, delegate=delegate, owner=subscriber, amount=allowance
                )
            end(subscription)
        emit(
            self.Cancelled(
                subscription=subscription.address, by_merchant=False, refunded=u64(0)
            )
        )

    @instruction(discriminator=b"\x27")
    def merchant_cancel(
        self,
        subscription: Mut[
            Subscription,
            has_one("subscriber", error=NotSubscriber),
            has_one("merchant", error=NotMerchant),
            has_one("mint", error=SubscriptionMismatch),
        ],
        merchant: Signer,
        subscriber: Unchecked,
        mint: Unchecked,
        source: Mut[
            Unchecked, seeds("merchant", "token_program", "mint", program=ATA_PROGRAM)
        ],
        destination: Mut[
            Unchecked, seeds("subscriber", "token_program", "mint", program=ATA_PROGRAM)
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
    ) -> None:
        """Cancel a subscription as its merchant, and refund the unused part of the paid period. If the subscriber's
        account cannot take a refund, the subscriber keeps the paid time instead.

        Args:
            subscription: The subscription.
            merchant: The merchant.
            source: The merchant's associated token account.
            destination: The subscriber's associated token account.
        """
        now = Clock.get().unix_timestamp
        need_mint_or_gone(mint, token_program)
        can_refund = can_arrive(destination, subscriber.address, mint, token_program)
        require(subscription.cancelled_at == 0, self.SubscriptionCancelled)
        owed = unused(subscription, now)
        subscription.cancelled_at = now
        # What was paid ends here. Without a refund the subscriber keeps the time: otherwise the merchant would choose a
        # moment at which there is none.
        ends_now = owed == 0 or can_refund
        refunded = owed if ends_now else u64(0)
        if ends_now and now < subscription.due_at:
            subscription.due_at = now
        left = outstanding(subscription)
        if refunded > 0:
            if not is_token_account(source, token_program):
                raise self.BalanceTooSmall
            if not is_token_account(destination, token_program):
                raise self.AccountFrozen
            if not is_mint(mint, token_program):
                raise self.WrongTokenProgram
            need_thawed(source, destination)
            before = may_take(source, destination, refunded)
            token_program.transfer_checked(
                source=source,
                mint=mint,
                destination=destination,
                authority=merchant,
                amount=refunded,
                decimals=mint.decimals,
            )
            need_exact(destination, before, refunded)
        # without the subscriber, a delegate can only give up its whole allowance
        allowed = allowance_of(
            destination, subscriber.address, delegate.address, token_program
        )
        if allowed == 0:
            end(subscription)
        elif (
            allowed <= left
            and is_token_account(destination, token_program)
            and not destination.is_frozen
        ):
            token_program.revoke(source=destination, authority=delegate)
            end(subscription)
        emit(
            self.Cancelled(
                subscription=subscription.address, by_merchant=True, refunded=refunded
            )
        )

    @instruction(discriminator=b"\x28")
    def close_subscription(
        self,
        subscription: Mut[
            Subscription,
            has_one("rent_payer", error=SubscriptionMismatch),
            has_one("subscriber", error=NotSubscriber),
            has_one("mint", error=SubscriptionMismatch),
            close("rent_payer"),
        ],
        rent_payer: Mut[Unchecked, ...],
        subscriber: Unchecked,
        mint: Unchecked,
        source: Mut[
            Unchecked, seeds("subscriber", "token_program", "mint", program=ATA_PROGRAM)
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        *ended_subscriptions: Subscription,
    ) -> None:
        """Close a cancelled or expired subscription after its paid time, and return its rent. Anyone may call it. The
        program's allowance for it is taken back first.

        Args:
            subscription: The subscription.
            rent_payer: The wallet that paid for it.
            subscriber: The subscriber.
            source: The subscriber's associated token account.
            ended_subscriptions: Other ended subscriptions of this subscriber and mint, in the order of their addresses.
        """
        need_mint_or_gone(mint, token_program)
        now = Clock.get().unix_timestamp
        own = left_of_ended(subscription, now)
        total = own
        last = FIRST_ADDRESS
        for other in ended_subscriptions:
            # ordered by address, so that none counts twice
            is_next = (
                is_before(last, other.address) and other.address != subscription.address
            )
            is_theirs = (
                other.subscriber == subscriber.address and other.mint == mint.address
            )
            require(is_next and is_theirs, self.SubscriptionMismatch)
            last = other.address
            left = left_of_ended(other, now)
            with overflow(self.Overflow):
                total += left
        allowed = u64(0)
        if own > 0:
            allowed = allowance_of(
                source, subscriber.address, delegate.address, token_program
            )
        if allowed > 0:
            # a delegate can only give up its whole allowance
            if not is_token_account(source, token_program) or source.is_frozen:
                raise self.AllowanceLeft
            require(allowed <= total, self.AllowanceLeft)
            token_program.revoke(source=source, authority=delegate)
        emit(self.SubscriptionClosed(subscription=subscription.address))

    # --- views --------------------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x30")
    def quote(self, plan: Ref[Plan, ...], periods: u32) -> Quote:
        """Return the price of subscribing to a plan for some periods. Changes nothing.

        Args:
            plan: The plan.
            periods: Number of charges.
        """
        require(periods > 0 and periods <= plan.max_charges, self.TooManyPeriods)
        has_trial = plan.trial > 0
        later = periods if has_trial else periods.saturating_sub(1)
        wait = plan.trial if has_trial else plan.period
        with overflow(self.Overflow):
            return Quote(
                price=plan.price,
                first_charge=u64(0) if has_trial else plan.price,
                allowance=plan.price * u64(later),
                first_due=Clock.get().unix_timestamp + i64(wait),
                period=plan.period,
                mint=plan.mint,
                open=plan.open,
            )

    @instruction(discriminator=b"\x31")
    def channel_status(self, channel: Ref[Channel, ...]) -> ChannelReport:
        """Return the state of a channel. Changes nothing.

        Args:
            channel: The channel.
        """
        need_version(channel)
        is_over = channel.status == DISTRIBUTED or channel.payer_withdrawn_at != 0
        state = state_of_channel(channel.status)
        with overflow(self.DistributePoolOverflow):
            undistributed = channel.settled - channel.payout_watermark
        with overflow(self.RefundCalculationOverflow):
            unspent = u64(0) if is_over else channel.deposit - channel.settled
        return ChannelReport(
            state=state,
            deposit=channel.deposit,
            settled=channel.settled,
            undistributed=undistributed,
            unspent=unspent,
            seal_at=seal_deadline(channel) if channel.status == CLOSING else i64(0),
            reclaim_slot=reclaim_slot(channel.open_slot),
        )

    @instruction(discriminator=b"\x32")
    def subscription_status(
        self, subscription: Ref[Subscription, ...]
    ) -> SubscriptionReport:
        """Return the state of a subscription. Changes nothing.

        Args:
            subscription: The subscription.
        """
        state = state_of_subscription(subscription, Clock.get().unix_timestamp)
        return SubscriptionReport(
            state=state,
            chargeable=state == SubscriptionState.PastDue,
            price=subscription.price,
            charges=subscription.charges,
            max_charges=subscription.max_charges,
            due_at=subscription.due_at,
            expires_at=expires_at(subscription),
        )


# --- the rules of channels --------------------------------------------------------------------------------------------


def need_version(channel: X402.Channel) -> None:
    """An account of zeros is no channel: the program checks its discriminator before its status, in which 0 is open."""
    require(channel.version == VERSION, X402.UnsupportedChannelVersion)


def need_status(channel: X402.Channel, status: u8) -> None:
    """The channel has this version and this status."""
    need_version(channel)
    require(channel.status == status, X402.InvalidChannelStatus)


def state_of_channel(status: u8) -> ChannelState:
    """The name of a status."""
    match status:
        case 0:
            return ChannelState.Open
        case 1:
            return ChannelState.Sealed
        case 2:
            return ChannelState.Closing
        case 3:
            return ChannelState.Distributed
        case _:
            raise X402.InvalidChannelStatus


def seal_deadline(channel: X402.Channel) -> i64:
    """The time from which anyone may seal a closing channel."""
    with overflow(X402.SealDeadlineOverflow):
        return channel.closure_started_at + i64(channel.grace_period)


def accepts_vouchers(channel: X402.Channel) -> bool:
    """The channel is open, or closing and in its grace period."""
    if channel.status == CLOSING:
        return Clock.get().unix_timestamp < seal_deadline(channel)
    return channel.status == OPEN


def index_before(index: u16) -> u16:
    """The index of the instruction directly before this one."""
    with overflow(X402.MissingEd25519Verification):
        return index - 1


def proven(
    verifier: Pubkey, proof: Data, address: Pubkey, channel: X402.Channel
) -> u64:
    """The sum of the voucher that an Ed25519 instruction proves.

    Its data has a head of 16 bytes, the key, the signature, and at byte 112 the voucher: two bytes of magic, the
    channel, the sum, and the time at which it expires, or 0.
    """
    require(verifier == ED25519_PROGRAM, X402.MissingEd25519Verification)
    is_whole = len(proof) == VOUCHER_SIZE and proof[:16] == VOUCHER_HEAD
    require(is_whole, X402.MalformedEd25519Instruction)
    require(proof[112:114] == MAGIC, X402.VoucherBadMagic)
    require(proof.pubkey(114) == address, X402.VoucherChannelMismatch)
    expires_at = proof.i64(154)
    is_fresh = expires_at == 0 or Clock.get().unix_timestamp < expires_at
    require(is_fresh, X402.VoucherExpired)
    settled = proof.u64(146)
    require(settled <= channel.deposit, X402.VoucherOverDeposit)
    require(settled > channel.settled, X402.VoucherWatermarkNotMonotonic)
    require(proof.pubkey(16) == channel.authorized_signer, X402.VoucherSignerMismatch)
    return settled


def reclaim_slot(open_slot: u64) -> u64:
    """The first slot at which the account can be closed: from then on no channel can be opened at its address."""
    return open_slot + WINDOW + 1


def part_of(amount: u64, bps: u64) -> u64:
    """The whole part of this share of an amount. It is divided first, so that nothing overflows up to 10,000."""
    return amount // WHOLE * bps + amount % WHOLE * bps // WHOLE


def share(start: u64, end: u64, bps: u64) -> u64:
    """The share of what was settled between two sums.

    Rounded shares of both sums are subtracted, so that no remainder is lost between two distributions.
    """
    with overflow(X402.DistributePoolOverflow):
        return part_of(end, bps) - part_of(start, bps)


def payee_bps(entries: list[DistributionEntry]) -> u64:
    """The share that the entries leave for the payee."""
    left = WHOLE
    for entry in entries:
        require(entry.bps > 0, X402.InvalidSplitConfig)
        with overflow(X402.InvalidSplitConfig):
            left -= u64(entry.bps)
    return left


def need_entries(entries: list[DistributionEntry], channel: Pubkey) -> None:
    """There are at most 32, each with a share, together at most the whole, none twice, and none is the channel."""
    require(len(entries) <= MOST_RECIPIENTS, X402.InvalidRecipientCount)
    left = payee_bps(entries)
    require(left <= WHOLE, X402.InvalidSplitConfig)
    for i, entry in enumerate(entries):
        for j, before in enumerate(entries):
            if j == i:
                break
            require(before.recipient != entry.recipient, X402.DuplicateRecipient)
    is_apart = all(entry.recipient != channel for entry in entries)
    require(is_apart, X402.InvalidSplitConfig)


# --- the rules of tokens ----------------------------------------------------------------------------------------------


def need_to_pass(mint: Mint) -> None:
    """The mint is one of tokens that only pass from one wallet to another.

    A transfer either moves exactly the amount, which is measured, or fails. So what concerns custody does not matter:
    1 TransferFeeConfig (with a fee of 0; more is FeeTaken), 3 MintCloseAuthority, 4 ConfidentialTransferMint,
    6 DefaultAccountState, 10 InterestBearingConfig, 12 PermanentDelegate, 16 ConfidentialTransferFeeConfig, 18 to 23
    pointers and metadata, 25 ScaledUiAmount, 26 Pausable, and 14 TransferHook as long as no program is set. All others
    are refused, such as 9 NonTransferable and future ones.
    """
    for extension in extensions(mint):
        match extension.kind:
            case 1 | 3 | 4 | 6 | 10 | 12 | 16 | 18 | 19 | 20 | 21 | 22 | 23 | 25 | 26:
                pass
            case 14:
                # the hook's authority, then its program
                require(extension.is_zero(32, 64), X402.UnsupportedMintExtension)
            case _:
                raise X402.UnsupportedMintExtension


def can_arrive(
    to: Unchecked, owner: Pubkey, coin: Unchecked, token_program: TokenInterface
) -> bool:
    """Whether a transfer of a mint's tokens to the owner's account would arrive whole now."""
    if not is_token_account(to, token_program) or not is_mint(coin, token_program):
        return False
    return (
        to.owner == owner
        and not to.is_frozen
        and takes_transfers(to)
        and is_untaxed(coin)
    )


def takes_transfers(to: TokenAccount) -> bool:
    """Whether a token account takes transfers without a memo or a proof.

    2 TransferFeeAmount, 7 ImmutableOwner, 8 MemoTransfer while it is off, 11 CpiGuard, 15 TransferHookAccount, 27
    PausableAccount.
    """
    for extension in extensions(to):
        match extension.kind:
            case 2 | 7 | 11 | 15 | 27:
                pass
            case 8:
                if not extension.is_zero(0, 1):
                    return False
            case _:
                return False
    return True


def is_untaxed(coin: Mint) -> bool:
    """Whether the mint is one that `need_to_pass` takes, and nothing of it stops or taxes a transfer at the moment.

    The fee of 1 TransferFeeConfig is 0 in both epochs that it names, and 26 Pausable is not paused.
    """
    for extension in extensions(coin):
        match extension.kind:
            case 1:
                # two authorities, the withheld amount, then twice: the epoch, the largest fee, the basis points
                if not (extension.is_zero(88, 90) and extension.is_zero(106, 108)):
                    return False
            case 14:
                if not extension.is_zero(32, 64):
                    return False
            case 26:
                if not extension.is_zero(32, 33):
                    return False
            case 3 | 4 | 6 | 10 | 12 | 16 | 18 | 19 | 20 | 21 | 22 | 23 | 25:
                pass
            case _:
                return False
    return True


def need_mint_or_gone(coin: Unchecked, token_program: TokenInterface) -> None:
    """The mint is of the token program that was given, or it was closed."""
    is_gone = not is_owned(coin, TOKEN) and not is_owned(coin, TOKEN_2022)
    require(is_gone or is_owned(coin, token_program.address), X402.WrongTokenProgram)


def may_move(
    source: TokenAccount,
    to: TokenAccount,
    authority: Pubkey,
    owner: Pubkey,
    amount: u64,
) -> u64:
    """A transfer by this authority can be made: what would go wrong in the token program is named here first.

    Returns the tokens in the account that gets them.
    """
    need_thawed(source, to)
    if authority != owner:
        require(source.delegate == authority, X402.NotOwnerNorDelegate)
        require(source.delegated_amount >= amount, X402.AllowanceTooSmall)
    return may_take(source, to, amount)


def need_thawed(source: TokenAccount, to: TokenAccount) -> None:
    """Neither account is frozen."""
    require(not source.is_frozen and not to.is_frozen, X402.AccountFrozen)


def may_take(source: TokenAccount, to: TokenAccount, amount: u64) -> u64:
    """The account holds the amount. Returns the tokens in the account that gets them."""
    require(source.amount >= amount, X402.BalanceTooSmall)
    return to.amount


def need_exact(to: TokenAccount, before: u64, amount: u64) -> None:
    """The account got exactly the amount."""
    require(to.amount.saturating_sub(before) == amount, X402.FeeTaken)


# --- the allowance of the program's delegate: what all subscriptions of a token account have left ---------------------


def changed_allowance(
    source: TokenAccount, delegate: Pubkey, less: u64, more: u64
) -> u64:
    """The allowance after a change. Another delegate with an allowance of its own is not pushed aside."""
    current = u64(0)
    if source.delegate == delegate:
        current = source.delegated_amount
    else:
        is_free = source.delegate is None or source.delegated_amount == 0
        require(is_free, X402.OtherDelegate)
    with overflow(X402.Overflow):
        return current.saturating_sub(less) + more


def allowance_of(
    source: Unchecked,
    subscriber: Pubkey,
    delegate: Pubkey,
    token_program: TokenInterface,
) -> u64:
    """What the delegate may take now, if the account is the subscriber's.

    0 for an account that is closed, was given to another owner, or has another delegate.
    """
    if not is_token_account(source, token_program) or source.owner != subscriber:
        return u64(0)
    return source.delegated_amount if source.delegate == delegate else u64(0)


def can_change_allowance(source: TokenAccount) -> bool:
    """Whether the token program lets a program change what is approved: Token-2022's 11 CpiGuard can forbid it."""
    if source.is_frozen:
        return False
    for extension in extensions(source):
        is_guard = extension.kind == 11 and not extension.is_zero(0, 1)
        if is_guard or extension.kind == 65_535:
            return False
    return True


# --- tokens in escrow -------------------------------------------------------------------------------------------------


def mint_to_hold(mint: Unchecked, token_program: TokenInterface) -> u8:
    """The decimals of a mint whose tokens the program may hold."""
    require(mint.program == token_program.address, X402.MintAccountMismatch)
    data = mint.data
    if len(data) != MINT_SIZE:
        is_extended = len(data) > ACCOUNT_SIZE and data[ACCOUNT_SIZE] == 1
        is_new = token_program.address != TOKEN
        require(is_new and is_extended, X402.MintAccountMismatch)
        require(
            data[MINT_SIZE:ACCOUNT_SIZE] == PADDING, X402.MalformedMintTokenAccountData
        )
        # pointers and metadata: all else can take, freeze, tax or block what is in escrow
        is_allowed = scan(data, u16(18), u16(23)) == USABLE
        require(is_allowed, X402.MalformedMintTokenExtensions)
    require(data[45] == 1, X402.MintAccountMismatch)
    return data[44]


def flaw_of(
    account: Unchecked, owner: Pubkey, mint: Unchecked, token_program: TokenInterface
) -> u8:
    """Why the program cannot pay from or to the account at an address that is checked; USABLE if it can."""
    data = account.data
    is_plain = len(data) == ACCOUNT_SIZE
    is_new = token_program.address != TOKEN and len(data) > ACCOUNT_SIZE
    is_kind = is_plain or (is_new and data[ACCOUNT_SIZE] == 2)
    if account.program != token_program.address or not is_kind:
        return NOT_A_TOKEN_ACCOUNT
    if data[108] != 1:
        return NOT_INITIALIZED
    if data.pubkey(0) != mint.address or data.pubkey(32) != owner:
        return OTHER_OWNER
    return scan(
        data, u16(7), u16(7)
    )  # 7 is ImmutableOwner, which associated token accounts have


def scan(data: Data, first: u16, last: u16) -> u8:
    """Look at the extensions of a mint or a token account. All but those from *first* to *last* are refused.

    Each is two bytes of kind, two of length, and its data. Kind 0 ends them.
    """
    size = u64(len(data))
    at = u64(166)
    for _ in range(size):
        if at + 2 > size:
            break
        kind = data.u16(at)
        if kind == 0:
            return USABLE
        if at + 4 > size:
            return MALFORMED_EXTENSIONS
        if not first <= kind <= last:
            return REFUSED_EXTENSION
        at += 4 + u64(data.u16(at + 2))
        if at > size:
            return MALFORMED_EXTENSIONS
    return MALFORMED_EXTENSIONS if at < size and data[at] != 0 else USABLE


def need_recipient(flaw: u8) -> None:
    """A recipient's token account can be used."""
    require(flaw != NOT_A_TOKEN_ACCOUNT, X402.InvalidRecipientTokenAccount)
    require(flaw < REFUSED_EXTENSION, X402.InvalidRecipientTokenExtensions)
    require(flaw == USABLE, X402.RecipientAccountMismatch)


def need_payee(flaw: u8) -> None:
    """The payee's token account can be used."""
    require(flaw != NOT_A_TOKEN_ACCOUNT, X402.InvalidPayeeTokenAccount)
    require(flaw < REFUSED_EXTENSION, X402.InvalidPayeeTokenExtensions)
    require(flaw == USABLE, X402.PayeeAccountMismatch)


def need_treasury(flaw: u8) -> None:
    """The treasury's token account can be used."""
    require(flaw != NOT_A_TOKEN_ACCOUNT, X402.InvalidTreasuryTokenAccount)
    require(flaw < REFUSED_EXTENSION, X402.InvalidTreasuryTokenExtensions)
    require(flaw == USABLE, X402.TreasuryAccountMismatch)


def reason_of(flaw: u8) -> RedirectReason:
    """Why a share goes to the treasury."""
    match flaw:
        case 2:  # NOT_INITIALIZED
            return RedirectReason.NotInitialized
        case 3:  # OTHER_OWNER
            return RedirectReason.ReassignedAuthority
        case _:
            return RedirectReason.UnsupportedExtension


def need_escrow(flaw: u8) -> None:
    """The channel's token account can be used."""
    require(flaw != NOT_A_TOKEN_ACCOUNT, X402.InvalidChannelTokenAccount)
    require(flaw < REFUSED_EXTENSION, X402.InvalidChannelTokenExtensions)
    require(flaw == USABLE, X402.ChannelAccountMismatch)


def need_payer(flaw: u8) -> None:
    """The payer's token account can be used."""
    require(flaw != NOT_A_TOKEN_ACCOUNT, X402.InvalidPayerTokenAccount)
    require(flaw < REFUSED_EXTENSION, X402.InvalidPayerTokenExtensions)
    require(flaw == USABLE, X402.PayerAccountMismatch)


# --- the rules of subscriptions ---------------------------------------------------------------------------------------


def state_of_subscription(
    subscription: X402.Subscription, now: i64
) -> SubscriptionState:
    """The state that follows from the times and the clock, so that no transaction is needed to expire."""
    if subscription.cancelled_at != 0:
        return SubscriptionState.Cancelled
    if now < subscription.due_at:
        if subscription.paid_from == 0:
            return SubscriptionState.Pending
        return SubscriptionState.Active
    if subscription.charges >= subscription.max_charges or now >= expires_at(
        subscription
    ):
        return SubscriptionState.Expired
    return SubscriptionState.PastDue


def expires_at(subscription: X402.Subscription) -> i64:
    """The time from which on an unpaid subscription is expired."""
    with overflow(X402.Overflow):
        return subscription.due_at + i64(subscription.grace)


def agree(plan: X402.Plan, price: u64, period: u32, grace: u32, periods: u32) -> None:
    """The terms are those that the subscriber agreed to, and the plan still takes subscribers.

    A plan can be closed, and created again with other terms, before the agreement lands.
    """
    require(plan.open, X402.PlanNotOpen)
    is_same = plan.price == price and plan.period == period and plan.grace == grace
    require(is_same, X402.TermsChanged)
    require(periods > 0 and periods <= plan.max_charges, X402.TooManyPeriods)


def outstanding(subscription: X402.Subscription) -> u64:
    """Tokens that the charges which are left would take."""
    left = subscription.max_charges.saturating_sub(subscription.charges)
    with overflow(X402.Overflow):
        return subscription.price * u64(left)


def left_of_ended(subscription: X402.Subscription, now: i64) -> u64:
    """Tokens that the charges which are left of an ended subscription would take."""
    state = state_of_subscription(subscription, now)
    is_over = state == SubscriptionState.Cancelled and now >= subscription.due_at
    require(is_over or state == SubscriptionState.Expired, X402.StillRunning)
    return outstanding(subscription)


def end(subscription: Mut[X402.Subscription, ...]) -> None:
    """Nothing is allowed any more."""
    subscription.max_charges = subscription.charges


def count(subscription: Mut[X402.Subscription, ...], start: i64) -> None:
    """Count a charge for the period that starts then."""
    with overflow(X402.Overflow):
        subscription.charges += 1
        subscription.due_at = start + i64(subscription.period)
    subscription.last_price = subscription.price
    subscription.paid_from = start


def current_period(subscription: X402.Subscription, now: i64) -> i64:
    """The start of the period in which now is, so that periods which nobody charged are gone."""
    with overflow(X402.Overflow):
        late = u64(now - subscription.due_at)
        period = u64(subscription.period)
        return subscription.due_at + i64(late // period * period)


def unused(subscription: X402.Subscription, now: i64) -> u64:
    """What a merchant who cancels now owes of the last charge: the unused part of its period, rounded up."""
    start = subscription.paid_from
    until = subscription.due_at
    if start == 0 or now >= until:
        return u64(0)
    with overflow(X402.Overflow):
        left = u128(until - max(now, start))
        whole = u128(until - start)
        product = u128(subscription.last_price) * left
        return u64((product + whole.saturating_sub(1)) // whole)
