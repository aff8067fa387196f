"""On-chain failures, named: whose error it is, what it is called there, and which program of the call stack raised it.

The error in a transaction's result is a number and the index of an instruction. The logs tell the rest: the first
program that "failed" is the innermost one, and a number means what that program says it means. So the name comes
from, in this order: the failing program's own model, the tables of System and Token, the log line that Anchor or a
program of ours writes, Anchor's framework codes, and else the number stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from solders.pubkey import Pubkey

from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import ProgramFailed
from mcpsol_py.model.program import ErrorCode
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET,
    PROGRAM_NAMES,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = ["ANCHOR_ERRORS", "Errors", "anchor_error", "explain", "failing_stack"]

#: program id -> its own errors by number (`Program.error`)
Errors: TypeAlias = Mapping[str, Callable[[int], ErrorCode | None]]


def _numbered(start: int, names: str) -> dict[int, str]:
    return {start + place: name for place, name in enumerate(names.split())}


#: Anchor's framework codes (anchor-lang's error.rs).
ANCHOR_ERRORS: dict[int, str] = {
    **_numbered(
        100,
        "InstructionMissing InstructionFallbackNotFound InstructionDidNotDeserialize InstructionDidNotSerialize",
    ),
    **_numbered(1000, "IdlInstructionStub IdlInstructionInvalidProgram IdlAccountNotEmpty"),
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
        4100, "DeclaredProgramIdMismatch TryingToInitPayerAsProgramAccount InvalidNumericConversion"
    ),
    5000: "Deprecated",
}

#: the ones that callers meet, in words
_ANCHOR_WORDS: dict[int, str] = {
    101: "the program has no instruction with this discriminator",
    102: "the instruction's data are not what the program reads: an argument has another type",
    2000: "an account must be writable",
    2001: "an account names another account than the one that was given",
    2002: "an account must sign",
    2003: "a condition of the program does not hold",
    2004: "an account belongs to another program",
    2006: "an account's address is not the one that its seeds give",
    2009: "a token account is not the associated one of its mint and owner",
    2012: "an account is not the one that the program demands",
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
    3009: "a program account is no program",
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
_BUILTIN: dict[str, dict[int, str]] = {
    str(SYSTEM_PROGRAM): _SYSTEM_ERRORS,
    str(TOKEN_PROGRAM): _TOKEN_ERRORS,
    str(TOKEN_2022_PROGRAM): _TOKEN_2022_ERRORS,
    str(ASSOCIATED_TOKEN_PROGRAM): {0: "InvalidOwner"},
}
#: Programs that are no Anchor programs, whatever the number is.
_NOT_ANCHOR = frozenset((*_BUILTIN, str(COMPUTE_BUDGET)))

#: Errors of the transaction itself, in words.
_WORDS = {
    "AccountNotFound": "the fee payer has no account on this cluster; fund it, or name a funded payer",
    "InsufficientFundsForFee": "the fee payer cannot pay the fee; fund it",
    "BlockhashNotFound": "the blockhash is unknown or expired; build the transaction again",
    "AlreadyProcessed": "this very transaction has landed already",
    "ProgramAccountNotFound": "there is no program at the instruction's program id on this cluster",
    "InvalidProgramForExecution": "what the instruction calls is no program",
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

_INVOKE = re.compile(r"Program ([1-9A-HJ-NP-Za-km-z]{32,44}) invoke \[(\d{1,4})\]")
_END = re.compile(r"Program ([1-9A-HJ-NP-Za-km-z]{32,44}) (success|failed: (.*))")
_ANCHOR = re.compile(
    r"AnchorError .*?Error Code: (\w+)\. Error Number: (\d{1,10})\. Error Message: (.*?)\.?$"
)
#: what rendered programs log of a check that refused (templates/pinocchio/src/error.rs.jinja)
_RENDERED = re.compile(r"Program log: (\w{1,64}) \((\d{1,10})\): (.+)")
_ANCHOR_ACCOUNT = re.compile(r"AnchorError caused by account: (\w+)\.")


def anchor_error(code: int) -> tuple[str, str] | None:
    """The name and meaning of an error of the Anchor framework, None for a number that is none of its."""
    return (ANCHOR_ERRORS[code], _ANCHOR_WORDS.get(code, "")) if code in ANCHOR_ERRORS else None


def failing_stack(logs: Sequence[str]) -> tuple[str, ...]:
    """The program ids from the outermost to the one that failed, as the logs tell; empty where they do not."""
    stack: list[str] = []
    for line in logs:
        begun = _INVOKE.fullmatch(line)
        if begun is not None:
            stack = [*stack[: int(begun[2]) - 1], begun[1]]
            continue
        ended = _END.match(line)
        if ended is None:
            continue
        if ended[2] == "success":
            if stack and stack[-1] == ended[1]:
                stack.pop()
        else:
            return tuple(stack) if stack and stack[-1] == ended[1] else (ended[1],)
    return ()


def explain(
    outcome: Outcome,
    *,
    programs: Sequence[Pubkey] = (),
    own: Errors | None = None,
) -> ProgramFailed | None:
    """What went wrong, or None where nothing did.

    *programs*: the program of each top-level instruction, for results without logs. *own*: program id -> its errors
    by number (`Program.error`).
    """
    err = outcome.err
    if err is None:
        return None
    stack = failing_stack(outcome.logs)
    if not isinstance(err, dict) or "InstructionError" not in err:
        name = err if isinstance(err, str) else next(iter(err), "unknown")
        details = "" if isinstance(err, str) else f" {next(iter(err.values()))}"
        where = stack[-1] if stack else str(programs[0]) if programs else "transaction"
        return ProgramFailed(
            where, name, _WORDS.get(name, "") + details, logs=outcome.logs, stack=stack
        )
    index, inner = err["InstructionError"]
    if not stack and index < len(programs):
        stack = (str(programs[index]),)
    where = stack[-1] if stack else "unknown"
    code = inner.get("Custom") if isinstance(inner, dict) else None
    if code is None:
        name = inner if isinstance(inner, str) else next(iter(inner), "unknown")
        message = _WORDS.get(name, "")
    else:
        name, message = _custom(where, code, outcome.logs, own or {})
    reason = _failure_line(outcome.logs)
    if not message and code is None and reason:
        message = reason
    return ProgramFailed(
        where, name, message, code=code, logs=outcome.logs, stack=stack, instruction_index=index
    )


def _custom(program: str, code: int, logs: Sequence[str], own: Errors) -> tuple[str, str]:
    """The name and text of a custom error of *program*."""
    known = own[program](code) if program in own else None
    if known is not None:
        return known.name, known.message
    if program in _BUILTIN:
        return _BUILTIN[program].get(
            code, "Custom"
        ), f"an error of the {PROGRAM_NAMES[program]} program"
    if program in _NOT_ANCHOR:
        return "Custom", ""
    for line in reversed(logs):
        said = _ANCHOR.search(line)
        if said is not None and int(said[2]) == code:
            account = _ANCHOR_ACCOUNT.search(line)
            return said[1], said[3] + (f" (account {account[1]})" if account is not None else "")
        said = _RENDERED.fullmatch(line)
        if said is not None and int(said[2]) == code:
            return said[1], said[3]
    if code in ANCHOR_ERRORS:
        words = _ANCHOR_WORDS.get(code)
        whose = "an error of the Anchor framework, if this is an Anchor program"
        return ANCHOR_ERRORS[code], f"{words} ({whose})" if words else whose
    return "Custom", ""


def _failure_line(logs: Sequence[str]) -> str:
    """The runtime's own words about the first failure."""
    for line in logs:
        ended = _END.match(line)
        if ended is not None and ended[3]:
            return ended[3]
    return ""


def details(failure: ProgramFailed) -> dict[str, Any]:
    """The failure as JSON, with the names of the programs on the stack."""
    return {**failure.details(), "programs": [PROGRAM_NAMES.get(key, key) for key in failure.stack]}
