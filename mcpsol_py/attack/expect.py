"""The names of the errors that must refuse an attack, and the name of the error that did.

The names are those of the generated checks (render/faults.py), or the program's own if the spec has `error=` or
`otherwise(…)`. If one change breaks several constraints, the name of any of them counts, because targets check in
different orders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    constraints_of,
    has_address,
    is_created,
    is_mint,
    pda_of,
    token_program_of,
)
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.sandbox import Outcome
from mcpsol_py.client.svm import error_json
from mcpsol_py.model.program import AccountSeed, ArgSeed, ProgramModel, TokenConstraint
from mcpsol_py.render.faults import CHECKS, address_check, owner_check, seeds_check
from mcpsol_py.solana.addresses import PROGRAM_NAMES

__all__ = ["Names", "failure_name"]

#: Other names by which Anchor refuses, by kind of attack. Anchor leaves some checks to the programs that it calls or to
#: the SVM, reads each account before it compares two, and has no custom error for seeds.
ANCHOR_SAYS: dict[str, tuple[str, ...]] = {
    # Of a new account that signs for itself.
    "missing-signer": ("PrivilegeEscalation",),
    # Of an account that is created, or pays for one.
    "not-writable": ("PrivilegeEscalation",),
    # The latter from the associated token program.
    "wrong-address": ("ConstraintSeeds", "MissingAccount"),
    "other-bump": ("ConstraintSeeds", "MissingAccount"),
    "wrong-owner": (
        "ConstraintMintTokenProgram",
        "ConstraintTokenTokenProgram",
        "ConstraintAssociatedTokenTokenProgram",
    ),
    "fake-program": ("ConstraintMintTokenProgram", "ConstraintTokenTokenProgram"),
    "other-program": ("ConstraintMintTokenProgram", "ConstraintTokenTokenProgram"),
    # Of two types.
    "duplicate": ("AccountOwnedByWrongProgram", "ConstraintSeeds", "MissingAccount"),
    "not-a-mint": ("UninitializedAccount", "InvalidAccountData"),  # the token program's
    "not-a-token-account": ("UninitializedAccount", "InvalidAccountData"),
    "remaining": ("UninitializedAccount", "InvalidAccountData"),
    "re-init": ("already in use", "Associated Token: Provided owner is not allowed"),
    # Of a closed account that holds lamports again.
    "revival": ("AccountOwnedByWrongProgram",),
    # Borsh makes room for a length that nothing can have.
    "bad-value": ("ProgramFailedToComplete",),
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
        """Return the program's own error for a check, else the framework's."""
        return dict(constraints_of(leaf).errors).get(check, otherwise)

    def signer(self, leaf: Leaf) -> str:
        return self.own(leaf, "signer", "AccountNotSigner")

    def address(self, leaf: Leaf) -> str:
        return self.own(leaf, "address", address_check(constraints_of(leaf)))

    def owner(self, leaf: Leaf) -> str:
        return self.own(leaf, "owner", owner_check(constraints_of(leaf)))

    def has_one(self, leaf: Leaf, field: str) -> str:
        return self.own(leaf, f"has_one:{field}", "ConstraintHasOne")

    def seeds(self, leaf: Leaf) -> str:
        return self.own(leaf, "seeds", seeds_check(constraints_of(leaf)))

    def depending_on(self, leaf: Leaf) -> set[str]:
        """Return the errors of all other accounts whose constraints name *leaf*."""
        found: set[str] = set()
        for other in self.base.present:
            if other.index != leaf.index:
                found.update(self._naming(leaf, other))
        return found

    def _naming(self, leaf: Leaf, other: Leaf) -> Iterator[str]:
        """Yield the errors of those constraints of *other* that name *leaf*."""
        token = None if is_created(other) else constraints_of(other).token
        named = self._named(other)
        if token is not None:
            named += _token_names(other, token)
        for error, target in named:
            if self._is(target, other, leaf):
                yield error
        if token is not None and token_program_of(other, self.base.instruction) == leaf:
            yield "AccountOwnedByWrongProgram"
        if self.seeds_use(other, leaf):
            yield self.seeds(other)

    def _named(self, leaf: Leaf) -> list[tuple[str, str | None]]:
        """Return the accounts that `has_one` and the owner of *leaf* name, each with its error."""
        constraints = constraints_of(leaf)
        named: list[tuple[str, str | None]] = [
            (self.owner(leaf), constraints.owner or None)
        ]
        for field, target in constraints.has_one:
            named.append((self.has_one(leaf, field), target))
        return named

    def seeds_use(self, leaf: Leaf, other: Leaf, field: str | None = None) -> bool:
        """Do the seeds of *leaf* have the address of *other*, or with *field* that field of its state?"""
        if not has_address(leaf):
            return False
        wanted = () if field is None else (field,)
        seeds = pda_of(leaf, self.base.instruction).seeds_of(AccountSeed)
        named = [seed.account for seed in seeds if seed.field == wanted]
        locate = self.base.instruction.plan.locate
        return any(locate(path, leaf) == other.index for path in named)

    def seeds_use_argument(self, leaf: Leaf, name: str) -> bool:
        """Do the seeds of *leaf* have that argument?"""
        pda = leaf.account.pda
        return pda is not None and name in {
            seed.path[0] for seed in pda.seeds_of(ArgSeed)
        }

    def _is(self, name: str | None, beside: Leaf, leaf: Leaf) -> bool:
        found = self.base.find(name, beside)
        return found is not None and found.index == leaf.index


def _token_names(leaf: Leaf, token: TokenConstraint) -> list[tuple[str, str | None]]:
    """Return the mint and the authority that the constraint names, each with its error."""
    authority = (
        "ConstraintMintMintAuthority" if is_mint(leaf) else "ConstraintTokenOwner"
    )
    return [
        ("ConstraintTokenMint", token.mint),
        (authority, token.authority),
    ]


def failure_name(model: ProgramModel, program_id: str, outcome: Outcome) -> str:
    """Return the name of the error that refused a call; "" if the call succeeded.

    The name is the first of these that exists: the one that the program or Anchor logged, the name of the error code,
    the message of the program that was called, the SVM's own error ("ProgramFailedToComplete").
    """
    if outcome.ok:
        return ""
    return (
        _logged_name(outcome.logs)
        or _failure_of_called(outcome.logs, program_id)
        or _coded_name(model, error_json(outcome.error))
    )


def _logged_name(logs: Iterable[str]) -> str:
    for line in logs:
        found = _OURS.search(line) or _ANCHORS.search(line)
        if found:
            return found.group(1)
        if _IN_USE.search(line):
            return "already in use"
    return ""


def _failure_of_called(logs: Iterable[str], program_id: str) -> str:
    """Return the message of the first program that failed, other than the one that is attacked."""
    failures = filter(None, map(_FAILED.match, logs))
    called = ((found.group(1), found.group(2)) for found in failures)
    return next(
        (
            f"{PROGRAM_NAMES.get(key, key)}: {text}"
            for key, text in called
            if key != program_id
        ),
        "",
    )


def _coded_name(model: ProgramModel, error: Any) -> str:
    match error:
        case {"InstructionError": [_, {"Custom": number}]}:
            names = {e.code: e.name for e in model.errors}
            names |= {code: name for code, name, _ in CHECKS}
            return names.get(number, f"Custom({number})")
        case {"InstructionError": [_, reason]}:
            return str(reason)
    return str(error)
