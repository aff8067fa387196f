// Rendered by idl2mcp from spec.py; edit the source. [8a666bff20448253]
//! Errors: the program's own, and those of the generated checks. Each is logged with its name
//! where it becomes a ProgramError.

use crate::log::log;
use pinocchio::error::ProgramError;

/// The program's own errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum X402Error {
    /// A required signature is missing
    MissingRequiredSignature = 1,
    /// The channel's status does not allow this
    InvalidChannelStatus = 2,
    /// The channel is of another version
    UnsupportedChannelVersion = 4,
    /// That is not the channel's payer
    InvalidChannelPayer = 5,
    /// That is not the channel's payee
    InvalidChannelPayee = 6,
    /// That is not the channel's mint
    InvalidChannelMint = 7,
    /// That is not the program's event authority
    InvalidEventAuthority = 8,
    /// That is not who paid the channel's rent
    InvalidChannelRentPayer = 10,
    /// The escrow is not the channel's associated token account, or cannot be used
    ChannelAccountMismatch = 50,
    /// The escrow holds no token account
    InvalidChannelTokenAccount = 51,
    /// The escrow has an extension that is not allowed
    InvalidChannelTokenExtensions = 52,
    /// That is no mint of this token program
    MintAccountMismatch = 53,
    /// The token program is neither SPL Token nor Token-2022
    InvalidMintTokenProgram = 54,
    /// The mint's data is malformed
    MalformedMintTokenAccountData = 55,
    /// The mint has an extension that is not allowed, or malformed ones
    MalformedMintTokenExtensions = 56,
    /// That is not the payer's associated token account, or it cannot be used
    PayerAccountMismatch = 57,
    /// The payer's account holds no token account
    InvalidPayerTokenAccount = 58,
    /// The payer's account has an extension that is not allowed
    InvalidPayerTokenExtensions = 59,
    /// That is not the payee's associated token account
    PayeeAccountMismatch = 60,
    /// The payee's account has malformed extensions
    InvalidPayeeTokenExtensions = 62,
    /// The deposit must be more than zero
    DepositMustBeNonZero = 200,
    /// The grace period must be more than zero
    GracePeriodMustBeNonZero = 201,
    /// No Ed25519 instruction stands right before this one
    MissingEd25519Verification = 230,
    /// The Ed25519 instruction is not one plain signature over 50 bytes
    MalformedEd25519Instruction = 231,
    /// The voucher is for another channel
    VoucherChannelMismatch = 232,
    /// The voucher has expired
    VoucherExpired = 233,
    /// The voucher is for no more than what is settled already
    VoucherWatermarkNotMonotonic = 234,
    /// The voucher is for more than the deposit
    VoucherOverDeposit = 235,
    /// The voucher is signed by another key
    VoucherSignerMismatch = 237,
    /// The signed bytes are no voucher
    VoucherBadMagic = 238,
    /// There are more than 32 recipients
    InvalidRecipientCount = 260,
    /// A part is zero, the parts are over 10,000, or the channel pays itself
    InvalidSplitConfig = 261,
    /// A recipient is named twice
    DuplicateRecipient = 263,
    /// The channel stands at another address than its seeds give
    ChannelAddressMismatch = 2000,
    /// Payer and payee must differ
    PayerPayeeMustDiffer = 2001,
    /// The authorized signer is no Ed25519 public key
    InvalidAuthorizedSigner = 2002,
    /// The open slot is in the future, or too long ago
    OpenSlotOutOfWindow = 2003,
    /// The deposit would go over 18446744073709551615
    TopUpDepositOverflow = 2100,
    /// The time to seal cannot be counted
    SealDeadlineOverflow = 2200,
    /// The payee still has time for a last voucher
    SealGracePeriodNotElapsed = 2201,
    /// The payer has taken the rest already
    PayerAlreadyWithdrawn = 2300,
    /// More is settled than was put in
    RefundCalculationOverflow = 2301,
    /// The channel is neither open nor sealed
    ChannelNotDistributable = 2400,
    /// That is not the treasury's associated token account, or it cannot be used
    TreasuryAccountMismatch = 2401,
    /// The treasury's account holds no token account
    InvalidTreasuryTokenAccount = 2402,
    /// The treasury's account has an extension that is not allowed
    InvalidTreasuryTokenExtensions = 2403,
    /// That is not the recipient's associated token account
    RecipientAccountMismatch = 2404,
    /// The recipient's account has malformed extensions
    InvalidRecipientTokenExtensions = 2406,
    /// These are not the entries that the channel was opened with
    InvalidDistributionHash = 2407,
    /// Nothing was settled since the last distribution
    NothingToDistribute = 2408,
    /// There must be one token account for each entry
    RecipientAccountCountMismatch = 2409,
    /// More is paid out than is settled
    DistributePoolOverflow = 2410,
    /// The escrow holds less than must be paid
    DistributeBalanceCalculationOverflow = 2411,
    /// The channel's account must stay until its window has passed
    ChannelCloseTooEarly = 2414,
    /// This payment was made already; the return data is its receipt
    AlreadyPaid = 6000,
    /// This payment id was used for another amount, call or mint; the return data is its receipt
    PaymentIdReused = 6001,
    /// The amount must be more than zero
    ZeroAmount = 6002,
    /// The payment has expired
    PaymentExpired = 6003,
    /// The expiry is more than 30 days away
    ExpiryTooFar = 6004,
    /// The first 8 bytes of a payment id are its expiry, big-endian
    PaymentIdWithoutExpiry = 6005,
    /// The receipt stands at another address than payer, payee and payment id give
    ReceiptAddressMismatch = 6006,
    /// The receipt must be kept until 7 days after its expiry
    ReceiptRetained = 6007,
    /// That is not who paid for the receipt
    NotReceiptRentPayer = 6008,
    /// Payer and payee are the same
    SelfPayment = 6009,
    /// The authority is neither the token account's owner nor its delegate
    NotOwnerNorDelegate = 6010,
    /// The delegate may take less than that
    AllowanceTooSmall = 6011,
    /// The token account holds less than that
    BalanceTooSmall = 6012,
    /// The token account is frozen
    AccountFrozen = 6013,
    /// The mint has an extension that payments do not allow
    UnsupportedMintExtension = 6014,
    /// The payee would get less than was paid
    FeeTaken = 6015,
    /// The token program is neither SPL Token nor Token-2022
    WrongTokenProgram = 6016,
    /// A plan needs a price, a period, a grace period and a number of charges, all more than zero
    InvalidPlan = 6017,
    /// The plan takes no new subscribers
    PlanNotOpen = 6018,
    /// That is not the plan's merchant or mint
    PlanMismatch = 6019,
    /// The plan's terms are not what the subscriber agreed to
    TermsChanged = 6020,
    /// The plan allows fewer charges, or none was asked for
    TooManyPeriods = 6021,
    /// The token account has another delegate; revoke it first
    OtherDelegate = 6022,
    /// That is not the subscriber
    NotSubscriber = 6023,
    /// That is not the subscription's merchant
    NotMerchant = 6024,
    /// That is not the subscription's mint, or not who paid its rent
    SubscriptionMismatch = 6025,
    /// The next charge is not due yet
    NotDue = 6026,
    /// The subscription has expired
    SubscriptionExpired = 6027,
    /// The subscription is cancelled
    SubscriptionCancelled = 6028,
    /// All charges that the subscriber agreed to were made
    ChargesUsedUp = 6029,
    /// What is paid for has not ended yet
    StillRunning = 6030,
    /// A sum is too large
    Overflow = 6031,
}

impl X402Error {
    #[cold]
    #[inline(never)]
    fn tell(self) {
        log(self.text());
    }

    /// What the log says.
    pub const fn text(self) -> &'static str {
        match self {
            Self::MissingRequiredSignature => "MissingRequiredSignature (1): A required signature is missing",
            Self::InvalidChannelStatus => "InvalidChannelStatus (2): The channel's status does not allow this",
            Self::UnsupportedChannelVersion => "UnsupportedChannelVersion (4): The channel is of another version",
            Self::InvalidChannelPayer => "InvalidChannelPayer (5): That is not the channel's payer",
            Self::InvalidChannelPayee => "InvalidChannelPayee (6): That is not the channel's payee",
            Self::InvalidChannelMint => "InvalidChannelMint (7): That is not the channel's mint",
            Self::InvalidEventAuthority => "InvalidEventAuthority (8): That is not the program's event authority",
            Self::InvalidChannelRentPayer => "InvalidChannelRentPayer (10): That is not who paid the channel's rent",
            Self::ChannelAccountMismatch => "ChannelAccountMismatch (50): The escrow is not the channel's associated token account, or cannot be used",
            Self::InvalidChannelTokenAccount => "InvalidChannelTokenAccount (51): The escrow holds no token account",
            Self::InvalidChannelTokenExtensions => "InvalidChannelTokenExtensions (52): The escrow has an extension that is not allowed",
            Self::MintAccountMismatch => "MintAccountMismatch (53): That is no mint of this token program",
            Self::InvalidMintTokenProgram => "InvalidMintTokenProgram (54): The token program is neither SPL Token nor Token-2022",
            Self::MalformedMintTokenAccountData => "MalformedMintTokenAccountData (55): The mint's data is malformed",
            Self::MalformedMintTokenExtensions => "MalformedMintTokenExtensions (56): The mint has an extension that is not allowed, or malformed ones",
            Self::PayerAccountMismatch => "PayerAccountMismatch (57): That is not the payer's associated token account, or it cannot be used",
            Self::InvalidPayerTokenAccount => "InvalidPayerTokenAccount (58): The payer's account holds no token account",
            Self::InvalidPayerTokenExtensions => "InvalidPayerTokenExtensions (59): The payer's account has an extension that is not allowed",
            Self::PayeeAccountMismatch => "PayeeAccountMismatch (60): That is not the payee's associated token account",
            Self::InvalidPayeeTokenExtensions => "InvalidPayeeTokenExtensions (62): The payee's account has malformed extensions",
            Self::DepositMustBeNonZero => "DepositMustBeNonZero (200): The deposit must be more than zero",
            Self::GracePeriodMustBeNonZero => "GracePeriodMustBeNonZero (201): The grace period must be more than zero",
            Self::MissingEd25519Verification => "MissingEd25519Verification (230): No Ed25519 instruction stands right before this one",
            Self::MalformedEd25519Instruction => "MalformedEd25519Instruction (231): The Ed25519 instruction is not one plain signature over 50 bytes",
            Self::VoucherChannelMismatch => "VoucherChannelMismatch (232): The voucher is for another channel",
            Self::VoucherExpired => "VoucherExpired (233): The voucher has expired",
            Self::VoucherWatermarkNotMonotonic => "VoucherWatermarkNotMonotonic (234): The voucher is for no more than what is settled already",
            Self::VoucherOverDeposit => "VoucherOverDeposit (235): The voucher is for more than the deposit",
            Self::VoucherSignerMismatch => "VoucherSignerMismatch (237): The voucher is signed by another key",
            Self::VoucherBadMagic => "VoucherBadMagic (238): The signed bytes are no voucher",
            Self::InvalidRecipientCount => "InvalidRecipientCount (260): There are more than 32 recipients",
            Self::InvalidSplitConfig => "InvalidSplitConfig (261): A part is zero, the parts are over 10,000, or the channel pays itself",
            Self::DuplicateRecipient => "DuplicateRecipient (263): A recipient is named twice",
            Self::ChannelAddressMismatch => "ChannelAddressMismatch (2000): The channel stands at another address than its seeds give",
            Self::PayerPayeeMustDiffer => "PayerPayeeMustDiffer (2001): Payer and payee must differ",
            Self::InvalidAuthorizedSigner => "InvalidAuthorizedSigner (2002): The authorized signer is no Ed25519 public key",
            Self::OpenSlotOutOfWindow => "OpenSlotOutOfWindow (2003): The open slot is in the future, or too long ago",
            Self::TopUpDepositOverflow => "TopUpDepositOverflow (2100): The deposit would go over 18446744073709551615",
            Self::SealDeadlineOverflow => "SealDeadlineOverflow (2200): The time to seal cannot be counted",
            Self::SealGracePeriodNotElapsed => "SealGracePeriodNotElapsed (2201): The payee still has time for a last voucher",
            Self::PayerAlreadyWithdrawn => "PayerAlreadyWithdrawn (2300): The payer has taken the rest already",
            Self::RefundCalculationOverflow => "RefundCalculationOverflow (2301): More is settled than was put in",
            Self::ChannelNotDistributable => "ChannelNotDistributable (2400): The channel is neither open nor sealed",
            Self::TreasuryAccountMismatch => "TreasuryAccountMismatch (2401): That is not the treasury's associated token account, or it cannot be used",
            Self::InvalidTreasuryTokenAccount => "InvalidTreasuryTokenAccount (2402): The treasury's account holds no token account",
            Self::InvalidTreasuryTokenExtensions => "InvalidTreasuryTokenExtensions (2403): The treasury's account has an extension that is not allowed",
            Self::RecipientAccountMismatch => "RecipientAccountMismatch (2404): That is not the recipient's associated token account",
            Self::InvalidRecipientTokenExtensions => "InvalidRecipientTokenExtensions (2406): The recipient's account has malformed extensions",
            Self::InvalidDistributionHash => "InvalidDistributionHash (2407): These are not the entries that the channel was opened with",
            Self::NothingToDistribute => "NothingToDistribute (2408): Nothing was settled since the last distribution",
            Self::RecipientAccountCountMismatch => "RecipientAccountCountMismatch (2409): There must be one token account for each entry",
            Self::DistributePoolOverflow => "DistributePoolOverflow (2410): More is paid out than is settled",
            Self::DistributeBalanceCalculationOverflow => "DistributeBalanceCalculationOverflow (2411): The escrow holds less than must be paid",
            Self::ChannelCloseTooEarly => "ChannelCloseTooEarly (2414): The channel's account must stay until its window has passed",
            Self::AlreadyPaid => "AlreadyPaid (6000): This payment was made already; the return data is its receipt",
            Self::PaymentIdReused => "PaymentIdReused (6001): This payment id was used for another amount, call or mint; the return data is its receipt",
            Self::ZeroAmount => "ZeroAmount (6002): The amount must be more than zero",
            Self::PaymentExpired => "PaymentExpired (6003): The payment has expired",
            Self::ExpiryTooFar => "ExpiryTooFar (6004): The expiry is more than 30 days away",
            Self::PaymentIdWithoutExpiry => "PaymentIdWithoutExpiry (6005): The first 8 bytes of a payment id are its expiry, big-endian",
            Self::ReceiptAddressMismatch => "ReceiptAddressMismatch (6006): The receipt stands at another address than payer, payee and payment id give",
            Self::ReceiptRetained => "ReceiptRetained (6007): The receipt must be kept until 7 days after its expiry",
            Self::NotReceiptRentPayer => "NotReceiptRentPayer (6008): That is not who paid for the receipt",
            Self::SelfPayment => "SelfPayment (6009): Payer and payee are the same",
            Self::NotOwnerNorDelegate => "NotOwnerNorDelegate (6010): The authority is neither the token account's owner nor its delegate",
            Self::AllowanceTooSmall => "AllowanceTooSmall (6011): The delegate may take less than that",
            Self::BalanceTooSmall => "BalanceTooSmall (6012): The token account holds less than that",
            Self::AccountFrozen => "AccountFrozen (6013): The token account is frozen",
            Self::UnsupportedMintExtension => "UnsupportedMintExtension (6014): The mint has an extension that payments do not allow",
            Self::FeeTaken => "FeeTaken (6015): The payee would get less than was paid",
            Self::WrongTokenProgram => "WrongTokenProgram (6016): The token program is neither SPL Token nor Token-2022",
            Self::InvalidPlan => "InvalidPlan (6017): A plan needs a price, a period, a grace period and a number of charges, all more than zero",
            Self::PlanNotOpen => "PlanNotOpen (6018): The plan takes no new subscribers",
            Self::PlanMismatch => "PlanMismatch (6019): That is not the plan's merchant or mint",
            Self::TermsChanged => "TermsChanged (6020): The plan's terms are not what the subscriber agreed to",
            Self::TooManyPeriods => "TooManyPeriods (6021): The plan allows fewer charges, or none was asked for",
            Self::OtherDelegate => "OtherDelegate (6022): The token account has another delegate; revoke it first",
            Self::NotSubscriber => "NotSubscriber (6023): That is not the subscriber",
            Self::NotMerchant => "NotMerchant (6024): That is not the subscription's merchant",
            Self::SubscriptionMismatch => "SubscriptionMismatch (6025): That is not the subscription's mint, or not who paid its rent",
            Self::NotDue => "NotDue (6026): The next charge is not due yet",
            Self::SubscriptionExpired => "SubscriptionExpired (6027): The subscription has expired",
            Self::SubscriptionCancelled => "SubscriptionCancelled (6028): The subscription is cancelled",
            Self::ChargesUsedUp => "ChargesUsedUp (6029): All charges that the subscriber agreed to were made",
            Self::StillRunning => "StillRunning (6030): What is paid for has not ended yet",
            Self::Overflow => "Overflow (6031): A sum is too large",
        }
    }
}

impl From<X402Error> for ProgramError {
    /// Only what is logged is looked up; the number is known where it is returned.
    #[inline(always)]
    fn from(error: X402Error) -> Self {
        error.tell();
        Self::Custom(error as u32)
    }
}

/// What the generated code refuses. Numbers and names are those by which Anchor programs say the
/// same, so that clients know them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub enum Check {
    /// No instruction has this discriminator
    InstructionFallbackNotFound = 101,
    /// The instruction's arguments are too short, too long or not of their types
    InstructionDidNotDeserialize = 102,
    /// The return value is larger than 1,024 bytes
    InstructionDidNotSerialize = 103,
    /// An account that is written was not marked as writable
    ConstraintMut = 2000,
    /// A field of an account's state names another account than the one given
    ConstraintHasOne = 2001,
    /// An account is owned by another program than it must be
    ConstraintOwner = 2004,
    /// An account stands at another address than its seeds give
    ConstraintSeeds = 2006,
    /// An account is not the associated token account of this mint and wallet
    ConstraintAssociated = 2009,
    /// An account cannot be closed into itself
    ConstraintClose = 2011,
    /// An account is not the one that it must be
    ConstraintAddress = 2012,
    /// A token account is of another mint
    ConstraintTokenMint = 2014,
    /// A token account has another authority
    ConstraintTokenOwner = 2015,
    /// A mint has another mint authority
    ConstraintMintMintAuthority = 2016,
    /// A mint has other decimals
    ConstraintMintDecimals = 2018,
    /// Two accounts that are both written are the same one
    ConstraintDuplicateMutableAccount = 2040,
    /// The account to create exists already
    AccountDiscriminatorAlreadySet = 3000,
    /// An account is too short to hold a discriminator
    AccountDiscriminatorNotFound = 3001,
    /// An account holds another type than it must
    AccountDiscriminatorMismatch = 3002,
    /// An account's data is too short or not of its type
    AccountDidNotDeserialize = 3003,
    /// Too few accounts were given
    AccountNotEnoughKeys = 3005,
    /// An account is owned by another program
    AccountOwnedByWrongProgram = 3007,
    /// An account is not the program that it must be
    InvalidProgramId = 3008,
    /// An account that must be a program is none
    InvalidProgramExecutable = 3009,
    /// An account that must sign did not
    AccountNotSigner = 3010,
    /// An account is not owned by the system program
    AccountNotSystemOwned = 3011,
    /// An account does not exist yet
    AccountNotInitialized = 3012,
    /// An account is not the sysvar that it must be
    AccountSysvarMismatch = 3015,
    /// An account may grow by 10,240 bytes in one instruction
    AccountReallocExceedsLimit = 3016,
    /// This instruction's handler is not written yet
    InstructionNotWritten = 5999,
}

impl Check {
    #[cold]
    #[inline(never)]
    fn tell(self) {
        log(self.text());
    }

    /// What the log says.
    pub const fn text(self) -> &'static str {
        match self {
            Self::InstructionFallbackNotFound => "InstructionFallbackNotFound (101): No instruction has this discriminator",
            Self::InstructionDidNotDeserialize => "InstructionDidNotDeserialize (102): The instruction's arguments are too short, too long or not of their types",
            Self::InstructionDidNotSerialize => "InstructionDidNotSerialize (103): The return value is larger than 1,024 bytes",
            Self::ConstraintMut => "ConstraintMut (2000): An account that is written was not marked as writable",
            Self::ConstraintHasOne => "ConstraintHasOne (2001): A field of an account's state names another account than the one given",
            Self::ConstraintOwner => "ConstraintOwner (2004): An account is owned by another program than it must be",
            Self::ConstraintSeeds => "ConstraintSeeds (2006): An account stands at another address than its seeds give",
            Self::ConstraintAssociated => "ConstraintAssociated (2009): An account is not the associated token account of this mint and wallet",
            Self::ConstraintClose => "ConstraintClose (2011): An account cannot be closed into itself",
            Self::ConstraintAddress => "ConstraintAddress (2012): An account is not the one that it must be",
            Self::ConstraintTokenMint => "ConstraintTokenMint (2014): A token account is of another mint",
            Self::ConstraintTokenOwner => "ConstraintTokenOwner (2015): A token account has another authority",
            Self::ConstraintMintMintAuthority => "ConstraintMintMintAuthority (2016): A mint has another mint authority",
            Self::ConstraintMintDecimals => "ConstraintMintDecimals (2018): A mint has other decimals",
            Self::ConstraintDuplicateMutableAccount => "ConstraintDuplicateMutableAccount (2040): Two accounts that are both written are the same one",
            Self::AccountDiscriminatorAlreadySet => "AccountDiscriminatorAlreadySet (3000): The account to create exists already",
            Self::AccountDiscriminatorNotFound => "AccountDiscriminatorNotFound (3001): An account is too short to hold a discriminator",
            Self::AccountDiscriminatorMismatch => "AccountDiscriminatorMismatch (3002): An account holds another type than it must",
            Self::AccountDidNotDeserialize => "AccountDidNotDeserialize (3003): An account's data is too short or not of its type",
            Self::AccountNotEnoughKeys => "AccountNotEnoughKeys (3005): Too few accounts were given",
            Self::AccountOwnedByWrongProgram => "AccountOwnedByWrongProgram (3007): An account is owned by another program",
            Self::InvalidProgramId => "InvalidProgramId (3008): An account is not the program that it must be",
            Self::InvalidProgramExecutable => "InvalidProgramExecutable (3009): An account that must be a program is none",
            Self::AccountNotSigner => "AccountNotSigner (3010): An account that must sign did not",
            Self::AccountNotSystemOwned => "AccountNotSystemOwned (3011): An account is not owned by the system program",
            Self::AccountNotInitialized => "AccountNotInitialized (3012): An account does not exist yet",
            Self::AccountSysvarMismatch => "AccountSysvarMismatch (3015): An account is not the sysvar that it must be",
            Self::AccountReallocExceedsLimit => "AccountReallocExceedsLimit (3016): An account may grow by 10,240 bytes in one instruction",
            Self::InstructionNotWritten => "InstructionNotWritten (5999): This instruction's handler is not written yet",
        }
    }
}

impl From<Check> for ProgramError {
    /// Only what is logged is looked up; the number is known where it is returned.
    #[inline(always)]
    fn from(error: Check) -> Self {
        error.tell();
        Self::Custom(error as u32)
    }
}
