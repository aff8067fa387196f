"""Names and descriptions of errors: the runtime's, System's, Token's and those of Anchor's framework."""

from __future__ import annotations

from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = [
    "ANCHOR_DESCRIPTIONS",
    "ANCHOR_ERRORS",
    "BUILTIN_ERRORS",
    "DESCRIPTIONS",
    "NOT_ANCHOR",
]


def _numbered(start: int, names: str) -> dict[int, str]:
    return {start + place: name for place, name in enumerate(names.split())}


#: Anchor's framework codes (anchor-lang's error.rs).
ANCHOR_ERRORS: dict[int, str] = {
    **_numbered(
        100,
        "InstructionMissing InstructionFallbackNotFound InstructionDidNotDeserialize InstructionDidNotSerialize",
    ),
    **_numbered(
        1000, "IdlInstructionStub IdlInstructionInvalidProgram IdlAccountNotEmpty"
    ),
    1500: "EventInstructionStub",
    **_numbered(
        2000,
        "ConstraintMut ConstraintHasOne ConstraintSigner ConstraintRaw ConstraintOwner ConstraintRentExempt "
        "ConstraintSeeds ConstraintExecutable ConstraintState ConstraintAssociated ConstraintAssociatedInit "
        "ConstraintClose ConstraintAddress ConstraintZero ConstraintTokenMint ConstraintTokenOwner "
        "ConstraintMintMintAuthority ConstraintMintFreezeAuthority ConstraintMintDecimals ConstraintSpace "
        "ConstraintAccountIsNone ConstraintTokenTokenProgram ConstraintMintTokenProgram "
        "ConstraintAssociatedTokenTokenProgram ConstraintMintGroupPointerExtension "
        "ConstraintMintGroupPointerExtensionAuthority ConstraintMintGroupPointerExtensionGroupAddress "
        "ConstraintMintGroupMemberPointerExtension ConstraintMintGroupMemberPointerExtensionAuthority "
        "ConstraintMintGroupMemberPointerExtensionMemberAddress ConstraintMintMetadataPointerExtension "
        "ConstraintMintMetadataPointerExtensionAuthority ConstraintMintMetadataPointerExtensionMetadataAddress "
        "ConstraintMintCloseAuthorityExtension ConstraintMintCloseAuthorityExtensionAuthority "
        "ConstraintMintPermanentDelegateExtension ConstraintMintPermanentDelegateExtensionDelegate "
        "ConstraintMintTransferHookExtension ConstraintMintTransferHookExtensionAuthority "
        "ConstraintMintTransferHookExtensionProgramId",
    ),
    **_numbered(
        2500,
        "RequireViolated RequireEqViolated RequireKeysEqViolated RequireNeqViolated RequireKeysNeqViolated "
        "RequireGtViolated RequireGteViolated",
    ),
    **_numbered(
        3000,
        "AccountDiscriminatorAlreadySet AccountDiscriminatorNotFound AccountDiscriminatorMismatch "
        "AccountDidNotDeserialize AccountDidNotSerialize AccountNotEnoughKeys AccountNotMutable "
        "AccountOwnedByWrongProgram InvalidProgramId InvalidProgramExecutable AccountNotSigner AccountNotSystemOwned "
        "AccountNotInitialized AccountNotProgramData AccountNotAssociatedTokenAccount AccountSysvarMismatch "
        "AccountReallocExceedsLimit AccountDuplicateReallocs",
    ),
    **_numbered(
        4100,
        "DeclaredProgramIdMismatch TryingToInitPayerAsProgramAccount InvalidNumericConversion",
    ),
    5000: "Deprecated",
}

#: Descriptions of the codes that callers meet.
ANCHOR_DESCRIPTIONS: dict[int, str] = {
    101: "the program has no instruction with this discriminator",
    102: "the instruction's data are not what the program reads: an argument has another type",
    2000: "an account must be writable",
    2001: "an account names another account than the given one",
    2002: "an account must sign",
    2003: "a condition of the program does not hold",
    2004: "an account belongs to another program",
    2006: "an account's address is not the one that its seeds give",
    2009: "a token account is not the associated one of its mint and owner",
    2012: "an account is not the one that the program requires",
    2014: "a token account is of another mint",
    2015: "a token account belongs to another owner",
    2016: "a mint's authority is another",
    3001: "an account's data has no discriminator",
    3002: "an account is of another type",
    3003: "an account's data cannot be read as its type",
    3005: "the instruction needs more accounts",
    3006: "an account must be writable",
    3007: "an account belongs to another program than it should",
    3008: "a program account is another program",
    3009: "an account that must be a program is not executable",
    3010: "an account must sign",
    3011: "an account must belong to the System program",
    3012: "an account does not exist yet",
    3014: "an account is not the associated token account",
    4100: "the program was built for another address",
}

_SYSTEM_ERRORS = _numbered(
    0,
    "AccountAlreadyInUse ResultWithNegativeLamports InvalidProgramId InvalidAccountDataLength MaxSeedLengthExceeded "
    "AddressWithSeedMismatch NonceNoRecentBlockhashes NonceBlockhashNotExpired NonceUnexpectedBlockhashValue",
)
_TOKEN_ERRORS = _numbered(
    0,
    "NotRentExempt InsufficientFunds InvalidMint MintMismatch OwnerMismatch FixedSupply AlreadyInUse "
    "InvalidNumberOfProvidedSigners InvalidNumberOfRequiredSigners UninitializedState NativeNotSupported "
    "NonNativeHasBalance InvalidInstruction InvalidState Overflow AuthorityTypeNotSupported MintCannotFreeze "
    "AccountFrozen MintDecimalsMismatch NonNativeNotSupported",
)
_TOKEN_2022_ERRORS = {
    **_TOKEN_ERRORS,
    **_numbered(
        20,
        "ExtensionTypeMismatch ExtensionBaseMismatch ExtensionAlreadyInitialized ConfidentialTransferAccountHasBalance "
        "ConfidentialTransferAccountNotApproved ConfidentialTransferDepositsAndTransfersDisabled "
        "ConfidentialTransferElGamalPubkeyMismatch ConfidentialTransferBalanceMismatch MintHasSupply NoAuthorityExists "
        "TransferFeeExceedsMaximum MintRequiredForTransfer FeeMismatch FeeParametersMismatch ImmutableOwner "
        "AccountHasWithheldTransferFees NoMemo NonTransferable",
    ),
}
BUILTIN_ERRORS: dict[str, dict[int, str]] = {
    str(SYSTEM_PROGRAM): _SYSTEM_ERRORS,
    str(TOKEN_PROGRAM): _TOKEN_ERRORS,
    str(TOKEN_2022_PROGRAM): _TOKEN_2022_ERRORS,
    str(ASSOCIATED_TOKEN_PROGRAM): {0: "InvalidOwner"},
}
#: Programs without Anchor's framework codes.
NOT_ANCHOR = frozenset((*BUILTIN_ERRORS, str(COMPUTE_BUDGET)))

#: Descriptions of errors of the transaction, and of the runtime.
DESCRIPTIONS = {
    "AccountNotFound": "the fee payer has no account on this cluster; fund it, or name a funded payer",
    "AccountLoadedTwice": "an account appears twice in the transaction; name it once",
    "InsufficientFundsForFee": "the fee payer cannot pay the fee; fund it",
    "InvalidAccountForFee": "the fee payer must be a wallet: an account of the System program without data",
    "BlockhashNotFound": "the blockhash is unknown or expired; build the transaction again",
    "AlreadyProcessed": "this transaction has already landed",
    "CallChainTooDeep": "programs call one another too deep",
    "MissingSignatureForFee": "the fee payer has not signed",
    "InvalidAccountIndex": "an instruction names an account that the transaction does not have",
    "SignatureFailure": "a signature does not sign this message; sign it again after every change",
    "SanitizeFailure": "the transaction is malformed: its counts of signatures and accounts do not agree",
    "ClusterMaintenance": "the cluster takes no transactions now; try again later",
    "UnsupportedVersion": "this cluster does not know the transaction's version",
    "InvalidWritableAccount": "the transaction writes an account that nobody may write, such as a program or sysvar",
    "TooManyAccountLocks": "the transaction has too many accounts; a cluster locks at most 64, or 128",
    "AddressLookupTableNotFound": "a lookup table of the transaction does not exist on this cluster",
    "InvalidAddressLookupTableOwner": "an account given as lookup table does not belong to the lookup table program",
    "InvalidAddressLookupTableData": "an account given as lookup table has no table in it; it may be deactivated",
    "InvalidAddressLookupTableIndex": "the transaction names an entry that its lookup table does not have (yet)",
    "InvalidRentPayingAccount": "an account would keep less than the rent-exempt minimum",
    "InsufficientFundsForRent": "an account would keep less SOL than the rent-exempt minimum; leave more, or nothing",
    "DuplicateInstruction": "an instruction of the compute budget program appears twice; leave one out",
    "MaxLoadedAccountsDataSizeExceeded": "the accounts are larger than the limit of loaded data; raise the limit",
    "InvalidLoadedAccountsDataSizeLimit": "the limit of loaded account data must not be zero",
    "ProgramExecutionTemporarilyRestricted": "the cluster does not run this program for now",
    "UnbalancedTransaction": "the lamports before and after the transaction do not add up",
    "WouldExceedMaxBlockCostLimit": "the block was full; try again",
    "WouldExceedMaxAccountCostLimit": "an account was written too often in the block; try again",
    "WouldExceedMaxVoteCostLimit": "the block was full of votes; try again",
    "WouldExceedAccountDataBlockLimit": "the block had no room for new account data; try again",
    "WouldExceedAccountDataTotalLimit": "the cluster has no room for new account data",
    "ProgramAccountNotFound": "this cluster has no program at the instruction's program id",
    "InvalidProgramForExecution": "the account that the instruction calls is not a program",
    "AccountInUse": "an account is locked by another transaction; try again",
    "MissingRequiredSignature": "an account that must sign did not",
    "ComputationalBudgetExceeded": "it ran out of compute units; raise the limit",
    "InvalidAccountData": "an account's data is not what the program wants",
    "UninitializedAccount": "an account is not initialised yet",
    "IncorrectProgramId": "an account belongs to another program than it should",
    "NotEnoughAccountKeys": "the instruction needs more accounts",
    "PrivilegeEscalation": "a program passed on an account as signer or writable that it was not given as such",
    "ExternalAccountLamportSpend": "a program took lamports from an account that is not its own",
    "ReadonlyDataModified": "a program wrote to an account that the instruction marks read-only",
    "ReadonlyLamportChange": "a program changed the lamports of an account that the instruction marks read-only",
}
