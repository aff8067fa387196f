"""The errors of generated checks: codes and names are those of the Anchor framework (100 to 5000).

Clients that know Anchor's codes can name these failures without the program's IDL. All targets use the same ones.
"""

from __future__ import annotations

from mcpsol_py.model.program import Constraints
from mcpsol_py.solana import ids

__all__ = ["CHECKS", "address_check", "owner_check", "seeds_check"]

#: (code, name, message)
CHECKS: tuple[tuple[int, str, str], ...] = (
    (101, "InstructionFallbackNotFound", "No instruction has this discriminator"),
    (
        102,
        "InstructionDidNotDeserialize",
        "Arguments are too short, too long or malformed",
    ),
    (103, "InstructionDidNotSerialize", "Return value is larger than 1,024 bytes"),
    (2000, "ConstraintMut", "Account is not writable"),
    (2001, "ConstraintHasOne", "Account does not match a field of the state"),
    (2004, "ConstraintOwner", "Account has the wrong owner"),
    (2006, "ConstraintSeeds", "Account address does not match its seeds"),
    (
        2009,
        "ConstraintAssociated",
        "Account is not the wallet's associated token account",
    ),
    (2011, "ConstraintClose", "Account cannot be closed into itself"),
    (2012, "ConstraintAddress", "Account does not have the expected address"),
    (2014, "ConstraintTokenMint", "Token account has another mint"),
    (2015, "ConstraintTokenOwner", "Token account has another authority"),
    (2016, "ConstraintMintMintAuthority", "Mint has another mint authority"),
    (2018, "ConstraintMintDecimals", "Mint has other decimals"),
    (2020, "ConstraintAccountIsNone", "Account that a constraint names is left out"),
    (
        2040,
        "ConstraintDuplicateMutableAccount",
        "Two writable accounts are the same account",
    ),
    (3000, "AccountDiscriminatorAlreadySet", "Account to create already exists"),
    (3001, "AccountDiscriminatorNotFound", "Account is too short for a discriminator"),
    (3002, "AccountDiscriminatorMismatch", "Account is of another type"),
    (3003, "AccountDidNotDeserialize", "Account data is too short or malformed"),
    (3005, "AccountNotEnoughKeys", "Too few accounts"),
    (3007, "AccountOwnedByWrongProgram", "Account is owned by another program"),
    (3008, "InvalidProgramId", "Account is not the expected program"),
    (3009, "InvalidProgramExecutable", "Account is not executable"),
    (3010, "AccountNotSigner", "Account did not sign"),
    (3011, "AccountNotSystemOwned", "Account is not owned by the system program"),
    (3012, "AccountNotInitialized", "Account does not exist"),
    (3015, "AccountSysvarMismatch", "Account is not the expected sysvar"),
    (3016, "AccountReallocExceedsLimit", "Account grows by more than 10,240 bytes"),
    (5998, "TooManyAccounts", "More accounts than the program reads"),
    (5999, "InstructionNotWritten", "Handler is not written yet"),
)


def address_check(constraints: Constraints) -> str:
    """The name of the check that refuses another address."""
    if constraints.sysvar:
        return "AccountSysvarMismatch"
    return "InvalidProgramId" if constraints.executable else "ConstraintAddress"


def owner_check(constraints: Constraints) -> str:
    """The name of the check that refuses another owner."""
    is_system = constraints.owner == ids.SYSTEM_PROGRAM
    return "AccountNotSystemOwned" if is_system else "ConstraintOwner"


def seeds_check(constraints: Constraints) -> str:
    """The name of the check that refuses an address with other seeds."""
    is_associated = constraints.token_kind == "associated"
    return "ConstraintAssociated" if is_associated else "ConstraintSeeds"
