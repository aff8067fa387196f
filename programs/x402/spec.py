"""Payments for x402: exact ones that leave a receipt, channels with vouchers, and subscriptions.

The channel instructions (1 to 9, and 228) speak the wire format of the audited payment-channels program: the same
discriminators, account lists, account layout, voucher bytes, error codes and events, so that one client speaks to both.
docs/x402-program.md has the state machines and what each actor can do at worst.
"""

from mcpsol_py.spec import (
    Account,
    Array,
    AssociatedTokenProgram,
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
    error,
    has_one,
    i64,
    init,
    instruction,
    mint,
    otherwise,
    program,
    seeds,
    token,
    u8,
    u16,
    u32,
    u64,
    variant,
)

ADDRESS = "8nQhkjXpoGbhdNGys4oBbMT926kyNa5SsDoxjWXWnicz"
ATA_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
#: Who gets what no beneficiary can get: 0xBEEF sixteen times, as local builds of the audited program have it. Whoever
#: deploys this puts a wallet of theirs here.
TREASURY = bytes([0xBE, 0xEF]) * 16


class DistributionEntry(Struct):
    """A part of what a channel's payee gets, for someone else.

    Attributes:
        recipient: The wallet; its associated token account gets the tokens.
        bps: Its part in hundredths of a percent, 1 to 10,000.
    """

    recipient: Pubkey
    bps: u16


class PayoutBeneficiary(Enum):
    """Whose payout went to the treasury."""

    Recipient = variant()
    Payee = variant()
    Payer = variant()


class RedirectReason(Enum):
    """Why it did: what is wrong with the beneficiary's token account."""

    UnsupportedExtension = variant()
    ClosedOrMalformed = variant()
    NotInitialized = variant()
    ReassignedAuthority = variant()


class ChannelState(Enum):
    """Where a channel stands."""

    Open = variant()
    Sealed = variant()
    Closing = variant()
    Distributed = variant()


class SubscriptionState(Enum):
    """Where a subscription stands."""

    Pending = variant()
    Active = variant()
    PastDue = variant()
    Cancelled = variant()
    Expired = variant()


class Quote(Struct):
    """What subscribing to a plan costs.

    Attributes:
        price: Tokens for each period, in base units.
        first_charge: Tokens taken at once: 0 when there is a trial.
        allowance: Tokens that later charges can take together at most.
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
    """A channel as it stands now.

    Attributes:
        state: Open, Sealed, Closing or Distributed.
        deposit: Tokens that the payer put in, in base units.
        settled: Tokens that vouchers proved, in base units.
        undistributed: Tokens that are proved and not paid out yet.
        unspent: Tokens that no voucher proved: a new voucher can be for them, or the payer gets them back.
        seal_at: When anyone may seal a closing channel, in seconds since 1970; else 0.
        reclaim_slot: From this slot on the account itself can be given back.
    """

    state: ChannelState
    deposit: u64
    settled: u64
    undistributed: u64
    unspent: u64
    seal_at: i64
    reclaim_slot: u64


class SubscriptionReport(Struct):
    """A subscription as it stands now.

    Attributes:
        state: Pending (trial), Active, PastDue, Cancelled or Expired.
        chargeable: A charge would be right now.
        price: Tokens for each charge, in base units.
        charges: How many charges were made under these terms.
        max_charges: How many may be made.
        due_at: When the next charge is due, or what is paid ends, in seconds since 1970.
        expires_at: When it expires without a charge, in seconds since 1970.
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
        Pubkey, "DrLViEZBgqj6TgP8vKqu22uvLgV6p3tfkvCYfG8yqSUn", "Gets what nobody else can."
    )
    OPEN_SLOT_WINDOW = constant(
        u64, 1_500, "Slots in which a channel must be opened, and before which it stays."
    )
    MAX_RECIPIENTS = constant(u32, 32, "Entries of a channel's distribution at most.")
    MAX_PAYMENT_TIME = constant(
        i64, 2_592_000, "Seconds from a payment to its expiry at most: 30 days."
    )
    RECEIPT_RETENTION = constant(
        i64, 604_800, "Seconds that a receipt is kept after its expiry: 7 days."
    )

    # --- state --------------------------------------------------------------------------------------------------------

    class Channel(Account, discriminator=b"\x01"):
        """A channel: tokens of a payer, which vouchers give to a payee bit by bit.

        Attributes:
            version: 1.
            bump: The bump of the channel's address.
            status: 0 open, 1 sealed, 2 closing, 3 distributed.
            salt: Tells channels of the same parties apart.
            deposit: Tokens that were put in, in base units.
            settled: Tokens that vouchers proved so far, in base units.
            payout_watermark: Tokens of these that were accounted for by distributions.
            closure_started_at: When the payer asked to close, in seconds since 1970; 0 when not closing.
            payer_withdrawn_at: When the payer took the rest out, in seconds since 1970; 0 before.
            grace_period: Seconds that the payee has for a last voucher after the payer asked to close.
            distribution_hash: SHA-256 of the distribution entries.
            payer: Who put the tokens in, and gets back what is left.
            payee: Who gets what the distribution entries leave.
            authorized_signer: Whose signature makes a voucher.
            mint: The mint of the tokens.
            rent_payer: Who paid for the accounts, and gets their lamports back.
            open_slot: The slot named when it was opened.
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
            payer: Whose tokens paid.
            payee: Whose wallet was paid.
            mint: The mint of the tokens.
            rent_payer: Who paid for this account, and gets its lamports back.
            payment_id: The payment's id; its first 8 bytes are the expiry, big-endian.
            call_hash: Hash of the resource or the tool call that was paid for.
            amount: Tokens paid, in base units.
            paid_at: When, in seconds since 1970.
            paid_slot: In which slot.
            expires_at: Until when the payment could be made, in seconds since 1970.
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
        """What a merchant offers to subscribers. Only `open` ever changes.

        Attributes:
            bump: The bump of the plan's address.
            open: The plan takes new subscribers.
            merchant: Who is paid.
            mint: The mint of the tokens.
            plan_id: Tells the merchant's plans apart.
            price: Tokens for each period, in base units.
            period: Seconds in a period.
            trial: Seconds before the first charge; 0 charges at once.
            grace: Seconds after a charge is due in which it can still be made.
            max_charges: Charges that a subscriber can agree to at most.
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
        """A subscriber's agreement, with the terms of the day on which it was made.

        Attributes:
            bump: The bump of the subscription's address.
            plan: The plan that was subscribed to first.
            terms: The plan whose terms hold now.
            merchant: Who is paid.
            subscriber: Who pays.
            mint: The mint of the tokens.
            rent_payer: Who paid for this account, and gets its lamports back.
            price: Tokens for each charge, in base units.
            last_price: Tokens that the last charge took.
            period: Seconds in a period.
            grace: Seconds after a charge is due in which it can still be made.
            charges: Charges made under these terms.
            max_charges: Charges that the subscriber agreed to.
            paid_from: Start of the period that was paid last, in seconds since 1970; 0 before the first charge.
            due_at: When the next charge is due, in seconds since 1970: the end of the trial or of the paid period.
            cancelled_at: When it was cancelled, in seconds since 1970; else 0.
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
        """A payout went to the treasury, since the beneficiary's token account cannot be used (emitted by CPI)."""

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
        """The payer asked to close; from `seal_at` on anyone may seal."""

        channel: Pubkey
        seal_at: i64

    class Sealed(Event):
        """No voucher counts any more."""

        channel: Pubkey
        settled: u64

    class Distributed(Event):
        """What vouchers proved was paid out, up to `watermark`; after the last one the channel is drained."""

        channel: Pubkey
        watermark: u64
        drained: bool

    class PayerWithdrew(Event):
        """The payer took out what no voucher proved."""

        channel: Pubkey
        amount: u64

    class Reclaimed(Event):
        """A channel's account was given back."""

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
        """A receipt was given back after its retention time."""

        receipt: Pubkey
        payment_id: Array[u8, 32]

    class PlanCreated(Event):
        """A merchant offers a plan."""

        plan: Pubkey
        merchant: Pubkey
        mint: Pubkey
        price: u64
        period: u32

    class PlanOpened(Event):
        """A plan takes new subscribers, or not any more."""

        plan: Pubkey
        open: bool

    class PlanClosed(Event):
        """A plan was given back; subscriptions go on with the terms that they have."""

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
        """A subscriber agreed to other terms."""

        subscription: Pubkey
        terms: Pubkey
        price: u64
        max_charges: u32

    class Cancelled(Event):
        """A subscription takes no more charges."""

        subscription: Pubkey
        by_merchant: bool
        refunded: u64

    class SubscriptionClosed(Event):
        """A subscription's account was given back."""

        subscription: Pubkey

    # --- errors: channels, numbered as the audited program numbers them -----------------------------------------------

    MissingRequiredSignature = error("A required signature is missing", 1)
    InvalidChannelStatus = error("The channel's status does not allow this", 2)
    UnsupportedChannelVersion = error("The channel is of another version", 4)
    InvalidChannelPayer = error("That is not the channel's payer", 5)
    InvalidChannelPayee = error("That is not the channel's payee", 6)
    InvalidChannelMint = error("That is not the channel's mint", 7)
    InvalidEventAuthority = error("That is not the program's event authority", 8)
    InvalidChannelRentPayer = error("That is not who paid the channel's rent", 10)
    ChannelAccountMismatch = error(
        "The escrow is not the channel's associated token account, or cannot be used", 50
    )
    InvalidChannelTokenAccount = error("The escrow holds no token account", 51)
    InvalidChannelTokenExtensions = error("The escrow has an extension that is not allowed", 52)
    MintAccountMismatch = error("That is no mint of this token program", 53)
    InvalidMintTokenProgram = error("The token program is neither SPL Token nor Token-2022", 54)
    MalformedMintTokenAccountData = error("The mint's data is malformed", 55)
    MalformedMintTokenExtensions = error(
        "The mint has an extension that is not allowed, or malformed ones", 56
    )
    PayerAccountMismatch = error(
        "That is not the payer's associated token account, or it cannot be used", 57
    )
    InvalidPayerTokenAccount = error("The payer's account holds no token account", 58)
    InvalidPayerTokenExtensions = error(
        "The payer's account has an extension that is not allowed", 59
    )
    PayeeAccountMismatch = error("That is not the payee's associated token account", 60)
    InvalidPayeeTokenAccount = error("The payee has no token account yet; anyone can create it", 61)
    InvalidPayeeTokenExtensions = error(
        "The payee's token account has an extension that channels do not allow", 62
    )
    DepositMustBeNonZero = error("The deposit must be more than zero", 200)
    GracePeriodMustBeNonZero = error("The grace period must be more than zero", 201)
    MissingEd25519Verification = error("No Ed25519 instruction stands right before this one", 230)
    MalformedEd25519Instruction = error(
        "The Ed25519 instruction is not one plain signature over 50 bytes", 231
    )
    VoucherChannelMismatch = error("The voucher is for another channel", 232)
    VoucherExpired = error("The voucher has expired", 233)
    VoucherWatermarkNotMonotonic = error(
        "The voucher is for no more than what is settled already", 234
    )
    VoucherOverDeposit = error("The voucher is for more than the deposit", 235)
    VoucherSignerMismatch = error("The voucher is signed by another key", 237)
    VoucherBadMagic = error("The signed bytes are no voucher", 238)
    InvalidRecipientCount = error("There are more than 32 recipients", 260)
    InvalidSplitConfig = error(
        "A part is zero, the parts are over 10,000, or the channel pays itself", 261
    )
    DuplicateRecipient = error("A recipient is named twice", 263)
    ChannelAddressMismatch = error(
        "The channel stands at another address than its seeds give", 2000
    )
    PayerPayeeMustDiffer = error("Payer and payee must differ", 2001)
    InvalidAuthorizedSigner = error("The authorized signer is no Ed25519 public key", 2002)
    OpenSlotOutOfWindow = error("The open slot is in the future, or too long ago", 2003)
    TopUpDepositOverflow = error("The deposit would go over 18446744073709551615", 2100)
    SealDeadlineOverflow = error("The time to seal cannot be counted", 2200)
    SealGracePeriodNotElapsed = error("The payee still has time for a last voucher", 2201)
    PayerAlreadyWithdrawn = error("The payer has taken the rest already", 2300)
    RefundCalculationOverflow = error("More is settled than was put in", 2301)
    ChannelNotDistributable = error("The channel is neither open nor sealed", 2400)
    TreasuryAccountMismatch = error(
        "That is not the treasury's associated token account, or it cannot be used", 2401
    )
    InvalidTreasuryTokenAccount = error("The treasury's account holds no token account", 2402)
    InvalidTreasuryTokenExtensions = error(
        "The treasury's account has an extension that is not allowed", 2403
    )
    RecipientAccountMismatch = error("That is not the recipient's associated token account", 2404)
    InvalidRecipientTokenAccount = error(
        "The recipient has no token account yet; anyone can create it", 2405
    )
    InvalidRecipientTokenExtensions = error(
        "The recipient's token account has an extension that channels do not allow", 2406
    )
    InvalidDistributionHash = error(
        "These are not the entries that the channel was opened with", 2407
    )
    NothingToDistribute = error("Nothing was settled since the last distribution", 2408)
    RecipientAccountCountMismatch = error("There must be one token account for each entry", 2409)
    DistributePoolOverflow = error("More is paid out than is settled", 2410)
    DistributeBalanceCalculationOverflow = error("The escrow holds less than must be paid", 2411)
    ChannelCloseTooEarly = error(
        "The channel's account must stay until its window has passed", 2414
    )

    # --- errors: payments and subscriptions ---------------------------------------------------------------------------

    AlreadyPaid = error("This payment was made already; the return data is its receipt", 6000)
    PaymentIdReused = error(
        "This payment id was used for another amount, call or mint; the return data is its receipt"
    )
    ZeroAmount = error("The amount must be more than zero")
    PaymentExpired = error("The payment has expired")
    ExpiryTooFar = error("The expiry is more than 30 days away")
    PaymentIdWithoutExpiry = error("The first 8 bytes of a payment id are its expiry, big-endian")
    ReceiptAddressMismatch = error(
        "The receipt stands at another address than payer, payee and payment id give"
    )
    ReceiptRetained = error("The receipt must be kept until 7 days after its expiry")
    NotReceiptRentPayer = error("That is not who paid for the receipt")
    SelfPayment = error("Payer and payee are the same")
    NotOwnerNorDelegate = error(
        "The authority is neither the token account's owner nor its delegate"
    )
    AllowanceTooSmall = error("The delegate may take less than that")
    BalanceTooSmall = error("The token account holds less than that")
    AccountFrozen = error("The token account is frozen")
    UnsupportedMintExtension = error("The mint has an extension that payments do not allow")
    FeeTaken = error("The payee would get less than was paid")
    WrongTokenProgram = error("The token program is neither SPL Token nor Token-2022")
    InvalidPlan = error(
        "A plan needs a price, a period, a grace period and a number of charges, all more than zero"
    )
    PlanNotOpen = error("The plan takes no new subscribers")
    PlanMismatch = error("That is not the plan's merchant or mint")
    TermsChanged = error("The plan's terms are not what the subscriber agreed to")
    TooManyPeriods = error("The plan allows fewer charges, or none was asked for")
    OtherDelegate = error("The token account has another delegate; revoke it first")
    NotSubscriber = error("That is not the subscriber")
    NotMerchant = error("That is not the subscription's merchant")
    SubscriptionMismatch = error("That is not the subscription's mint, or not who paid its rent")
    NotDue = error("The next charge is not due yet")
    SubscriptionExpired = error("The subscription has expired")
    SubscriptionCancelled = error("The subscription is cancelled")
    ChargesUsedUp = error("All charges that the subscriber agreed to were made")
    StillRunning = error("What is paid for has not ended yet")
    Overflow = error("A sum is too large")
    AllowanceLeft = error(
        "The program's allowance for this subscription is not taken back yet; the subscriber can cancel to do so"
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
                "payer", "token_program", "mint", program=ATA_PROGRAM, error=PayerAccountMismatch
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
        event_authority: Ref[Unchecked, seeds(b"event_authority", error=InvalidEventAuthority)],
        self_program: Ref[ProgramAccount, address(ADDRESS)],
        salt: u64,
        deposit: u64,
        grace_period: u32,
        open_slot: u64,
        recipients: list[DistributionEntry],
    ) -> None:
        """Open a channel: put tokens in that vouchers of the authorized signer give to the payee bit by bit.

        When to use:
            Before many small payments to one payee, so that each needs only a signed voucher and no transaction.

        Args:
            payer: Who puts the tokens in.
            rent_payer: Who pays for the accounts; may be the payer.
            payee: Who gets what the entries leave.
            mint: The mint of the tokens.
            authorized_signer: Whose Ed25519 signature makes a voucher.
            channel: The new channel.
            payer_token_account: The payer's associated token account.
            channel_token_account: The channel's associated token account; it is created.
            salt: Any number; another one gives another channel of the same parties.
            deposit (base units): How many tokens.
            grace_period (seconds): How long the payee has for a last voucher after the payer asks to close.
            open_slot: A recent slot, not in the future.
            recipients: Who gets parts of what the payee earns; empty gives the payee all.
        """

    @instruction(discriminator=b"\x02")
    def settle(self, channel: Mut[Channel, ...], instructions_sysvar: Instructions) -> None:
        """Settle a voucher: the Ed25519 instruction right before this one proves it. Anyone may.

        Args:
            channel: The channel of the voucher.
        """

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
                "payer", "token_program", "mint", program=ATA_PROGRAM, error=PayerAccountMismatch
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
            amount (base units): How many tokens.
        """

    @instruction(discriminator=b"\x04")
    def settle_and_seal(
        self,
        payee: Ref[Signer, otherwise(signer=MissingRequiredSignature)],
        channel: Mut[Channel, has_one("payee", error=InvalidChannelPayee)],
        instructions_sysvar: Instructions,
        has_voucher: u8,
    ) -> None:
        """Seal a channel as its payee, after a last voucher or without one: no voucher counts any more.

        Args:
            payee: The channel's payee.
            channel: The channel.
            has_voucher: 0 without a voucher; else the Ed25519 instruction right before this one proves it.
        """

    @instruction(discriminator=b"\x05")
    def request_close(
        self,
        payer: Ref[Signer, otherwise(signer=MissingRequiredSignature)],
        channel: Mut[Channel, has_one("payer", error=InvalidChannelPayer)],
    ) -> None:
        """Ask to close a channel as its payer: the payee has the grace period for a last voucher.

        Args:
            payer: The channel's payer.
            channel: The channel.
        """

    @instruction(discriminator=b"\x06")
    def seal(self, channel: Mut[Channel, ...]) -> None:
        """Seal a closing channel after its grace period. Anyone may.

        Args:
            channel: The channel.
        """

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
                "payer", "token_program", "mint", program=ATA_PROGRAM, error=PayerAccountMismatch
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
        event_authority: Ref[Unchecked, seeds(b"event_authority", error=InvalidEventAuthority)],
        self_program: Ref[ProgramAccount, address(ADDRESS)],
        *recipient_token_accounts: Unchecked,
        recipients: list[DistributionEntry],
    ) -> None:
        """Pay out what vouchers proved. Of a sealed channel the payer gets the rest, and the escrow is closed. Anyone
        may.

        Args:
            channel: The channel.
            payer: The channel's payer.
            rent_payer: Who paid for the channel's accounts.
            treasury_token_account: Gets rounding remainders, and what a beneficiary cannot get.
            recipient_token_accounts: The associated token account of each entry's recipient, in order, writable.
            recipients: The entries that the channel was opened with.
        """

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
                "payer", "token_program", "mint", program=ATA_PROGRAM, error=PayerAccountMismatch
            ),
        ],
        mint: Unchecked,
        token_program: Ref[TokenInterface, otherwise(address=InvalidMintTokenProgram)],
    ) -> None:
        """Take out of a sealed channel, as its payer, what no voucher proved. Once.

        Args:
            payer: The channel's payer.
            channel: The channel.
        """

    @instruction(discriminator=b"\x09")
    def reclaim(
        self,
        channel: Mut[Channel, has_one("rent_payer", error=InvalidChannelRentPayer)],
        rent_payer: Mut[Unchecked, ...],
    ) -> None:
        """Give the account of a drained channel back, once its window has passed. Anyone may.

        Args:
            channel: The channel.
            rent_payer: Who paid for it.
        """

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
        """The program's own call to itself that carries an event. Nobody else can make it.

        Args:
            event: The event's bytes.
        """

    # --- exact payments -----------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x10")
    def pay(
        self,
        authority: Signer,
        rent_payer: Payer,
        payer: Unchecked,
        payee: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[TokenAccount, token(mint="mint", authority="payer", program="token_program")],
        destination: Mut[TokenAccount, associated("mint", "payee", program="token_program")],
        receipt: Mut[
            Unchecked,
            seeds(b"receipt", "payer", "payee", "mint", "payment_id", error=ReceiptAddressMismatch),
        ],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        system_program: SystemProgram,
        payment_id: Array[u8, 32],
        call_hash: Array[u8, 32],
        amount: u64,
        expires_at: i64,
    ) -> None:
        """Pay for one call, and leave a receipt: the same payment id is never paid twice.

        When to use:
            For one payment of a known amount; put it into the same transaction as the call that it pays for, or show
            the receipt. A repeated call fails with AlreadyPaid and moves nothing.

        Args:
            authority: The owner of the source, or its delegate.
            rent_payer: Who pays for the receipt; gets it back when the receipt is closed.
            payer: The owner of the source.
            payee: The wallet that is paid.
            mint: The mint of the tokens.
            source: The token account that pays.
            destination: The payee's associated token account, which must exist.
            receipt: The new receipt.
            payment_id: The payment's id; its first 8 bytes are expires_at, big-endian.
            call_hash: Hash of the resource or the tool call.
            amount (base units): How many tokens.
            expires_at (seconds since 1970): From then on the payment cannot be made; at most 30 days away.
        """

    @instruction(discriminator=b"\x11")
    def close_receipt(
        self,
        receipt: Mut[
            Receipt, has_one("rent_payer", error=NotReceiptRentPayer), close("rent_payer")
        ],
        rent_payer: Mut[Unchecked, ...],
    ) -> None:
        """Give a receipt's rent back, 7 days after its expiry. Anyone may.

        Args:
            receipt: The receipt.
            rent_payer: Who paid for it.
        """

    # --- subscriptions ------------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x20")
    def create_plan(
        self,
        plan: Mut[Plan, init(payer="merchant"), seeds(b"plan", "merchant", "plan_id", bump="bump")],
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
        """Offer a plan that others can subscribe to.

        Args:
            plan: The new plan.
            merchant: Who is paid; pays the rent.
            mint: The mint of the tokens.
            plan_id: Any number; another one gives another plan.
            price (base units): Tokens for each period.
            period (seconds): Length of a period.
            trial (seconds): Time before the first charge; 0 charges at once.
            grace (seconds): How long after it is due a charge can still be made.
            max_charges: How many charges a subscriber can agree to at most.
        """

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
            open: Takes new subscribers.
        """

    @instruction(discriminator=b"\x22")
    def close_plan(
        self,
        plan: Mut[Plan, has_one("merchant", error=PlanMismatch), close("merchant")],
        merchant: Payer,
    ) -> None:
        """Give a plan's rent back. Subscriptions go on with the terms that they have.

        Args:
            plan: The plan.
            merchant: The plan's merchant.
        """

    @instruction(discriminator=b"\x23")
    def subscribe(
        self,
        subscription: Mut[
            Subscription,
            init(payer="rent_payer"),
            seeds(b"subscription", "plan", "subscriber", bump="bump"),
        ],
        plan: Ref[
            Plan, has_one("merchant", error=PlanMismatch), has_one("mint", error=PlanMismatch)
        ],
        subscriber: Signer,
        rent_payer: Payer,
        merchant: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[TokenAccount, associated("mint", "subscriber", program="token_program")],
        destination: Mut[TokenAccount, associated("mint", "merchant", program="token_program")],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        system_program: SystemProgram,
        price: u64,
        period: u32,
        trial: u32,
        grace: u32,
        periods: u32,
    ) -> None:
        """Subscribe to a plan: charges the first period at once unless there is a trial, and lets later charges take
        no more than the agreed number of periods.

        Args:
            subscription: The new subscription.
            plan: The plan.
            subscriber: Who pays.
            rent_payer: Who pays for the account; may be the subscriber.
            merchant: The plan's merchant.
            mint: The plan's mint.
            source: The subscriber's associated token account.
            destination: The merchant's associated token account.
            delegate: The program's delegate for this subscriber.
            price (base units): The price that was agreed to; another one fails.
            period (seconds): The period that was agreed to; another one fails.
            trial (seconds): The trial that was agreed to; another one fails.
            grace (seconds): The grace period that was agreed to; another one fails.
            periods: How many charges at most.
        """

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
        source: Mut[TokenAccount, associated("mint", "subscriber", program="token_program")],
        destination: Mut[TokenAccount, associated("mint", "merchant", program="token_program")],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
    ) -> None:
        """Charge a subscription that is due. Anyone may; once a period, and missed periods do not pile up.

        Args:
            subscription: The subscription.
            source: The subscriber's associated token account.
            destination: The merchant's associated token account.
        """

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
            Plan, has_one("merchant", error=PlanMismatch), has_one("mint", error=PlanMismatch)
        ],
        subscriber: Signer,
        merchant: Unchecked,
        mint: Ref[Mint, mint(program="token_program")],
        source: Mut[TokenAccount, associated("mint", "subscriber", program="token_program")],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        price: u64,
        period: u32,
        grace: u32,
        periods: u32,
    ) -> None:
        """Agree to the terms of another plan of the same merchant, from the next charge on; or to more periods of the
        same plan.

        Args:
            subscription: The subscription.
            plan: The plan with the new terms.
            subscriber: The subscriber.
            price (base units): The price that was agreed to; another one fails.
            period (seconds): The period that was agreed to; another one fails.
            grace (seconds): The grace period that was agreed to; another one fails.
            periods: How many charges at most from now on.
        """

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
        source: Mut[Unchecked, seeds("subscriber", "token_program", "mint", program=ATA_PROGRAM)],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
    ) -> None:
        """Cancel a subscription as its subscriber, at any time. What is paid stays paid; nothing more is charged.

        Args:
            subscription: The subscription.
            subscriber: The subscriber.
            source: The subscriber's associated token account; the program's allowance on it is reduced.
        """

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
        source: Mut[Unchecked, seeds("merchant", "token_program", "mint", program=ATA_PROGRAM)],
        destination: Mut[
            Unchecked, seeds("subscriber", "token_program", "mint", program=ATA_PROGRAM)
        ],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
    ) -> None:
        """Cancel a subscription as its merchant: the unused part of the paid period goes back to the subscriber.

        Args:
            subscription: The subscription.
            merchant: The merchant.
            source: The merchant's associated token account.
            destination: The subscriber's associated token account.
        """

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
        source: Mut[Unchecked, seeds("subscriber", "token_program", "mint", program=ATA_PROGRAM)],
        delegate: Ref[Unchecked, seeds(b"delegate", "subscriber")],
        token_program: Ref[TokenInterface, otherwise(address=WrongTokenProgram)],
        *ended_subscriptions: Unchecked,
    ) -> None:
        """Give the rent of a subscription back that is cancelled or expired, once what is paid has ended. Anyone may.

        Args:
            subscription: The subscription.
            rent_payer: Who paid for it.
        """

    # --- views --------------------------------------------------------------------------------------------------------

    @instruction(discriminator=b"\x30", returns=Quote)
    def quote(self, plan: Ref[Plan, ...], periods: u32) -> None:
        """What subscribing to a plan for some periods would cost now. Changes nothing.

        Args:
            plan: The plan.
            periods: How many charges.
        """

    @instruction(discriminator=b"\x31", returns=ChannelReport)
    def channel_status(self, channel: Ref[Channel, ...]) -> None:
        """How a channel stands now. Changes nothing.

        Args:
            channel: The channel.
        """

    @instruction(discriminator=b"\x32", returns=SubscriptionReport)
    def subscription_status(self, subscription: Ref[Subscription, ...]) -> None:
        """How a subscription stands now. Changes nothing.

        Args:
            subscription: The subscription.
        """
