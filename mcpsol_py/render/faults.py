"""What generated code refuses, by the numbers and names that Anchor's framework uses for the same (its error codes 100
to 5000).

Clients that know Anchor's codes name these failures without the program's IDL; all render targets give the same ones.
"""

from __future__ import annotations

__all__ = ["CHECKS"]

#: (code, name, message)
CHECKS: tuple[tuple[int, str, str], ...] = (
    (101, "InstructionFallbackNotFound", "No instruction has this discriminator"),
    (
        102,
        "InstructionDidNotDeserialize",
        "The instruction's arguments are too short, too long or not of their types",
    ),
    (103, "InstructionDidNotSerialize", "The return value is larger than 1,024 bytes"),
    (2000, "ConstraintMut", "An account that is written was not marked as writable"),
    (
        2001,
        "ConstraintHasOne",
        "A field of an account's state names another account than the one given",
    ),
    (2004, "ConstraintOwner", "An account is owned by another program than it must be"),
    (2006, "ConstraintSeeds", "An account stands at another address than its seeds give"),
    (
        2009,
        "ConstraintAssociated",
        "An account is not the associated token account of this mint and wallet",
    ),
    (2011, "ConstraintClose", "An account cannot be closed into itself"),
    (2012, "ConstraintAddress", "An account is not the one that it must be"),
    (2014, "ConstraintTokenMint", "A token account is of another mint"),
    (2015, "ConstraintTokenOwner", "A token account has another authority"),
    (2016, "ConstraintMintMintAuthority", "A mint has another mint authority"),
    (2018, "ConstraintMintDecimals", "A mint has other decimals"),
    (
        2040,
        "ConstraintDuplicateMutableAccount",
        "Two accounts that are both written are the same one",
    ),
    (3000, "AccountDiscriminatorAlreadySet", "The account to create exists already"),
    (3001, "AccountDiscriminatorNotFound", "An account is too short to hold a discriminator"),
    (3002, "AccountDiscriminatorMismatch", "An account holds another type than it must"),
    (3003, "AccountDidNotDeserialize", "An account's data is too short or not of its type"),
    (3005, "AccountNotEnoughKeys", "Too few accounts were given"),
    (3007, "AccountOwnedByWrongProgram", "An account is owned by another program"),
    (3008, "InvalidProgramId", "An account is not the program that it must be"),
    (3009, "InvalidProgramExecutable", "An account that must be a program is none"),
    (3010, "AccountNotSigner", "An account that must sign did not"),
    (3011, "AccountNotSystemOwned", "An account is not owned by the system program"),
    (3012, "AccountNotInitialized", "An account does not exist yet"),
    (3015, "AccountSysvarMismatch", "An account is not the sysvar that it must be"),
    (3016, "AccountReallocExceedsLimit", "An account may grow by 10,240 bytes in one instruction"),
    (5999, "InstructionNotWritten", "This instruction's handler is not written yet"),
)
