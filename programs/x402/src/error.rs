// Rendered by idl2mcp from spec.py; edit the source. [f61862b756835e1c]
//! Errors of the program and of its generated checks.

use {crate::log::log, pinocchio::error::ProgramError};

/// Declares errors: name = code, message. Each logs its name, code and message when it becomes a
/// `ProgramError`.
macro_rules! errors {
    ($(#[$attribute:meta])* $kind:ident { $($name:ident = $code:literal, $message:literal;)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[repr(u32)]
        pub enum $kind {
            $($name = $code,)*
        }

        impl $kind {
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => concat!(stringify!($name), " (", $code, "): ", $message),)*
                }
            }

            #[cold]
            #[inline(never)]
            fn report(self) {
                log(self.text());
            }
        }

        impl From<$kind> for ProgramError {
            #[inline(always)]
            fn from(error: $kind) -> Self {
                error.report();
                Self::Custom(error as u32)
            }
        }
    };
}

errors! {
    /// The program's own errors.
    X402Error {
        MissingRequiredSignature = 1, "A required signature is missing";
        InvalidChannelStatus = 2, "The channel's status does not allow this";
        UnsupportedChannelVersion = 4, "The channel has another version";
        InvalidChannelPayer = 5, "This account is not the channel's payer";
        InvalidChannelPayee = 6, "This account is not the channel's payee";
        InvalidChannelMint = 7, "This account is not the channel's mint";
        InvalidEventAuthority = 8, "This account is not the program's event authority";
        InvalidChannelRentPayer = 10, "This account did not pay the channel's rent";
        ChannelAccountMismatch = 50, "The escrow is not the channel's associated token account, or it cannot be used";
        InvalidChannelTokenAccount = 51, "The escrow is not a token account";
        InvalidChannelTokenExtensions = 52, "The escrow has an extension that channels do not allow";
        MintAccountMismatch = 53, "This account is not a mint of the token program";
        InvalidMintTokenProgram = 54, "The token program is neither SPL Token nor Token-2022";
        MalformedMintTokenAccountData = 55, "The mint's data is malformed";
        MalformedMintTokenExtensions = 56, "The mint has an extension that channels do not allow, or malformed ones";
        PayerAccountMismatch = 57, "This account is not the payer's associated token account, or it cannot be used";
        InvalidPayerTokenAccount = 58, "The payer has no token account yet; anyone can create it";
        InvalidPayerTokenExtensions = 59, "The payer's token account has an extension that channels do not allow";
        PayeeAccountMismatch = 60, "This account is not the payee's associated token account, or it cannot be used";
        InvalidPayeeTokenAccount = 61, "The payee has no token account yet; anyone can create it";
        InvalidPayeeTokenExtensions = 62, "The payee's token account has an extension that channels do not allow";
        DepositMustBeNonZero = 200, "The deposit must be more than zero";
        GracePeriodMustBeNonZero = 201, "The grace period must be more than zero";
        MissingEd25519Verification = 230, "There is no Ed25519 instruction directly before this one";
        MalformedEd25519Instruction = 231, "Expected one Ed25519 signature over 50 bytes, in the standard layout";
        VoucherChannelMismatch = 232, "The voucher is for another channel";
        VoucherExpired = 233, "The voucher has expired";
        VoucherWatermarkNotMonotonic = 234, "The voucher's sum must be higher than the settled sum";
        VoucherOverDeposit = 235, "The voucher's sum is higher than the deposit";
        VoucherSignerMismatch = 237, "The voucher is signed by another key";
        VoucherBadMagic = 238, "The signed bytes are not a voucher";
        InvalidRecipientCount = 260, "Expected at most 32 recipients";
        InvalidSplitConfig = 261, "A share is zero, the shares exceed 10,000, or the channel pays itself";
        DuplicateRecipient = 263, "A recipient is listed twice";
        ChannelAddressMismatch = 2000, "The channel's address is not the one derived from its seeds";
        PayerPayeeMustDiffer = 2001, "Payer and payee must differ";
        InvalidAuthorizedSigner = 2002, "The authorized signer is not an Ed25519 public key";
        OpenSlotOutOfWindow = 2003, "The open slot is in the future, or more than 1,500 slots ago";
        TopUpDepositOverflow = 2100, "The deposit would exceed 18446744073709551615";
        SealDeadlineOverflow = 2200, "The end of the grace period is not a valid time";
        SealGracePeriodNotElapsed = 2201, "The grace period is not over yet";
        PayerAlreadyWithdrawn = 2300, "The payer already has the rest";
        RefundCalculationOverflow = 2301, "The settled sum exceeds the deposit";
        ChannelNotDistributable = 2400, "The channel is neither open nor sealed";
        TreasuryAccountMismatch = 2401, "This account is not the treasury's associated token account, or it cannot be used";
        InvalidTreasuryTokenAccount = 2402, "The treasury has no token account yet; anyone can create it";
        InvalidTreasuryTokenExtensions = 2403, "The treasury's token account has an extension that channels do not allow";
        RecipientAccountMismatch = 2404, "This account is not the recipient's associated token account, or it cannot be used";
        InvalidRecipientTokenAccount = 2405, "The recipient has no token account yet; anyone can create it";
        InvalidRecipientTokenExtensions = 2406, "The recipient's token account has an extension that channels do not allow";
        InvalidDistributionHash = 2407, "The entries differ from those that the channel was opened with";
        NothingToDistribute = 2408, "Nothing was settled after the last distribution";
        RecipientAccountCountMismatch = 2409, "Expected one token account for each entry";
        DistributePoolOverflow = 2410, "The paid-out sum exceeds the settled sum";
        DistributeBalanceCalculationOverflow = 2411, "The escrow holds less than the channel owes";
        ChannelCloseTooEarly = 2414, "The channel's account can only be closed after its window of 1,500 slots";
        AlreadyPaid = 6000, "This payment was made before; the return data is its receipt";
        PaymentIdReused = 6001, "This payment id was used for another amount or call; the return data is its receipt";
        ZeroAmount = 6002, "The amount must be more than zero";
        PaymentExpired = 6003, "The payment has expired";
        ExpiryTooFar = 6004, "The expiry is more than 30 days away";
        PaymentIdWithoutExpiry = 6005, "The first 8 bytes of a payment id are its expiry, big-endian";
        ReceiptAddressMismatch = 6006, "The receipt's address is not the one derived from payer, payee, mint and payment id";
        ReceiptRetained = 6007, "The receipt can be closed 7 days after its expiry";
        NotReceiptRentPayer = 6008, "This account did not pay for the receipt";
        SelfPayment = 6009, "Payer and payee are the same";
        NotOwnerNorDelegate = 6010, "The authority is neither the token account's owner nor its delegate";
        AllowanceTooSmall = 6011, "The amount exceeds the delegate's allowance";
        BalanceTooSmall = 6012, "The amount exceeds the token account's balance";
        AccountFrozen = 6013, "The token account is frozen";
        UnsupportedMintExtension = 6014, "The mint has an extension that payments do not allow";
        FeeTaken = 6015, "The payee would get less than the amount";
        WrongTokenProgram = 6016, "The token program is neither SPL Token nor Token-2022";
        InvalidPlan = 6017, "Price, period, grace period and charges must be more than zero, and the grace period no longer than the period";
        PlanNotOpen = 6018, "The plan takes no new subscribers";
        PlanMismatch = 6019, "This account is not the plan's merchant or mint";
        TermsChanged = 6020, "The plan's terms differ from those that the subscriber agreed to";
        TooManyPeriods = 6021, "Expected at least one charge, and no more than the plan allows";
        OtherDelegate = 6022, "The token account has another delegate; revoke it first";
        NotSubscriber = 6023, "This account is not the subscriber";
        NotMerchant = 6024, "This account is not the subscription's merchant";
        SubscriptionMismatch = 6025, "This account is not the subscription's mint or rent payer, or not another subscription of its subscriber";
        NotDue = 6026, "The next charge is not due yet";
        SubscriptionExpired = 6027, "The subscription has expired";
        SubscriptionCancelled = 6028, "The subscription is cancelled";
        ChargesUsedUp = 6029, "The subscriber agreed to no more charges";
        StillRunning = 6030, "The subscription or its paid time has not ended yet";
        Overflow = 6031, "A sum is too large";
        AllowanceLeft = 6032, "The program still has an allowance for this subscription; the subscriber can cancel to take it back";
    }
}

errors! {
    /// Errors of the generated checks. Names and codes are Anchor's, which clients know.
    Check {
        InstructionFallbackNotFound = 101, "No instruction has this discriminator";
        InstructionDidNotDeserialize = 102, "Arguments are too short, too long or malformed";
        ConstraintMut = 2000, "Account is not writable";
        ConstraintSeeds = 2006, "Account address does not match its seeds";
        ConstraintAssociated = 2009, "Account is not the wallet's associated token account";
        ConstraintClose = 2011, "Account cannot be closed into itself";
        ConstraintTokenMint = 2014, "Token account has another mint";
        ConstraintTokenOwner = 2015, "Token account has another authority";
        ConstraintMintMintAuthority = 2016, "Mint has another mint authority";
        ConstraintMintDecimals = 2018, "Mint has other decimals";
        ConstraintDuplicateMutableAccount = 2040, "Two writable accounts are the same account";
        AccountDiscriminatorAlreadySet = 3000, "Account to create already exists";
        AccountDiscriminatorNotFound = 3001, "Account is too short for a discriminator";
        AccountDiscriminatorMismatch = 3002, "Account is of another type";
        AccountDidNotDeserialize = 3003, "Account data is too short or malformed";
        AccountNotEnoughKeys = 3005, "Too few accounts";
        AccountOwnedByWrongProgram = 3007, "Account is owned by another program";
        InvalidProgramId = 3008, "Account is not the expected program";
        AccountNotSigner = 3010, "Account did not sign";
        AccountNotInitialized = 3012, "Account does not exist";
        AccountSysvarMismatch = 3015, "Account is not the expected sysvar";
        TooManyAccounts = 5998, "More accounts than the program reads";
    }
}
