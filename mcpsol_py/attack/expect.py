"""By which name an attack must be refused, and by which one it was.

The names are those of the generated checks (render/faults.py), or the program's own where the spec says `error=` or
`otherwise(…)`. One change can break several constraints: then the name of any of them will do, since the order in which
a target checks is its own.
"""

from __future__ import annotations

import re

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.baseline import (
    Baseline,
    constraints_of,
    has_address,
    pda_of,
    token_program_of,
)
from mcpsol_py.attack.sandbox import Outcome
from mcpsol_py.client.svm import error_json
from mcpsol_py.model.program import AccountSeed, ArgSeed, ProgramModel
from mcpsol_py.render.faults import CHECKS
from mcpsol_py.solana.addresses import PROGRAM_NAMES, SYSTEM_PROGRAM

__all__ = ["Names", "failure_name"]

#: By kind of attack, where Anchor's framework refuses by another name: it leaves some checks to the programs that it
#: calls or to the SVM, reads each account before it compares two, and has no error of one's own for seeds.
ANCHOR_SAYS: dict[str, tuple[str, ...]] = {
    "missing-signer": ("PrivilegeEscalation",),  # of a new account that signs for itself
    "not-writable": ("PrivilegeEscalation",),  # of an account that is created, or pays for one
    "wrong-address": (
        "ConstraintSeeds",
        "MissingAccount",
    ),  # the latter from the associated token program
    "other-bump": ("ConstraintSeeds", "MissingAccount"),
    "fake-program": ("ConstraintMintTokenProgram", "ConstraintTokenTokenProgram"),
    "other-program": ("ConstraintMintTokenProgram", "ConstraintTokenTokenProgram"),
    "duplicate": (
        "AccountOwnedByWrongProgram",
        "ConstraintSeeds",
        "MissingAccount",
    ),  # of two types
    "not-a-mint": ("UninitializedAccount", "InvalidAccountData"),  # the token program's
    "not-a-token-account": ("UninitializedAccount", "InvalidAccountData"),
    "re-init": ("already in use", "Associated Token: Provided owner is not allowed"),
    "revival": ("AccountOwnedByWrongProgram",),  # of a closed account that holds lamports again
    "bad-value": (
        "ProgramFailedToComplete",
    ),  # borsh makes room for a length that nothing can have
}

_OURS = re.compile(r"^Program log: (\w+) \(\d+\)")
_ANCHORS = re.compile(r"Error Code: (\w+)\.")
_IN_USE = re.compile(r"account .* already in use$")
_FAILED = re.compile(r"^Program (\w{32,44}) failed: (.*)$")


class Names:
    """The names of errors by which the constraints of one instruction refuse."""

    def __init__(self, base: Baseline) -> None:
        self.base = base

    def own(self, leaf: Leaf, check: str, otherwise: str) -> str:
        """The program's own error for a check, else the framework's."""
        return dict(constraints_of(leaf).errors).get(check, otherwise)

    def signer(self, leaf: Leaf) -> str:
        return self.own(leaf, "signer", "AccountNotSigner")

    def address(self, leaf: Leaf) -> str:
        c = constraints_of(leaf)
        kind = (
            "AccountSysvarMismatch"
            if c.sysvar
            else "InvalidProgramId"
            if c.executable
            else "ConstraintAddress"
        )
        return self.own(leaf, "address", kind)

    def owner(self, leaf: Leaf) -> str:
        system = constraints_of(leaf).owner == str(SYSTEM_PROGRAM)
        return self.own(leaf, "owner", "AccountNotSystemOwned" if system else "ConstraintOwner")

    def has_one(self, leaf: Leaf, field: str) -> str:
        return self.own(leaf, f"has_one:{field}", "ConstraintHasOne")

    def seeds(self, leaf: Leaf) -> str:
        token = constraints_of(leaf).token
        associated = token is not None and token.kind == "associated"
        return self.own(leaf, "seeds", "ConstraintAssociated" if associated else "ConstraintSeeds")

    def depending_on(self, leaf: Leaf) -> set[str]:
        """What refuses when another account stands in *leaf*'s place: all constraints of others that name it."""
        found: set[str] = set()
        for other in self.base.present:
            if other.index == leaf.index:
                continue
            c = constraints_of(other)
            found |= {
                self.has_one(other, f) for f, target in c.has_one if self._is(target, other, leaf)
            }
            if c.token is not None and c.init is None:
                mint = c.token.kind == "mint"
                if self._is(c.token.mint, other, leaf):
                    found.add("ConstraintTokenMint")
                if self._is(c.token.authority, other, leaf):
                    found.add("ConstraintMintMintAuthority" if mint else "ConstraintTokenOwner")
                if token_program_of(other, self.base.instruction) == leaf:
                    found.add("AccountOwnedByWrongProgram")
            if c.owner and self._is(c.owner, other, leaf):
                found.add(self.owner(other))
            if self.seeds_use(other, leaf):
                found.add(self.seeds(other))
        return found

    def seeds_use(self, leaf: Leaf, other: Leaf, field: str | None = None) -> bool:
        """Do the seeds of *leaf* have the address of *other*, or with *field* that field of its state?"""
        if not has_address(leaf):
            return False
        wanted = () if field is None else (field,)
        locate = self.base.instruction.plan.locate
        return any(
            isinstance(seed, AccountSeed)
            and seed.field == wanted
            and locate(seed.account, leaf) == other.index
            for seed in pda_of(leaf, self.base.instruction).seeds
        )

    def seeds_use_argument(self, leaf: Leaf, name: str) -> bool:
        """Do the seeds of *leaf* have that argument?"""
        pda = leaf.account.pda
        return pda is not None and any(
            isinstance(s, ArgSeed) and s.path[0] == name for s in pda.seeds
        )

    def _is(self, name: str | None, beside: Leaf, leaf: Leaf) -> bool:
        found = self.base.find(name, beside)
        return found is not None and found.index == leaf.index


def failure_name(model: ProgramModel, program_id: str, outcome: Outcome) -> str:
    """The name of the error by which a call was refused; "" if it went through.

    A name that the program logged, or Anchor's; else the code's name; else what the program that it called said; else
    the SVM's own error ("ProgramFailedToComplete")."""
    if outcome.ok:
        return ""
    for line in outcome.logs:
        for pattern in (_OURS, _ANCHORS):
            found = pattern.search(line)
            if found:
                return found.group(1)
        if _IN_USE.search(line):
            return "already in use"
    for line in outcome.logs:
        called = _FAILED.match(line)
        if called and called.group(1) != program_id:
            return f"{PROGRAM_NAMES.get(called.group(1), called.group(1))}: {called.group(2)}"
    error = error_json(outcome.error)
    inner = error.get("InstructionError") if isinstance(error, dict) else None
    if not isinstance(inner, list):
        return str(error)
    if isinstance(inner[1], dict) and "Custom" in inner[1]:
        code = inner[1]["Custom"]
        own = {e.code: e.name for e in model.errors} | {c: n for c, n, _ in CHECKS}
        return own.get(code, f"Custom({code})")
    return str(inner[1])
