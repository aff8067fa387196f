"""Attacks with accounts after the named ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from solders.account import Account
from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.attack.example_value import ExampleValue
from mcpsol_py.attack.kinds.accounts import (
    cut_short,
    of_other_types,
    strange_owners,
)
from mcpsol_py.attack.kinds.token_accounts import forged_tokens
from mcpsol_py.attack.kinds.variations import Attack, Trial, Variations, with_data
from mcpsol_py.codec.account import account_named
from mcpsol_py.model.program import (
    AccountType,
    Constraints,
    RemainingAccounts,
    TokenConstraint,
)
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.tokens import Mint, TokenAccount

__all__ = ["remaining_accounts"]

#: More accounts than a program keeps.
_MANY = 100
#: The lamports of a wallet.
_FUNDED = 10**10

#: (what is wrong, the account or None for no account, the error that must refuse it)
_Forgery = tuple[str, "Account | None", str]


def remaining_accounts(calls: Variations) -> Iterator[Attack]:
    """Accounts after the named ones are not what the spec says, or more than the program reads."""
    for rest in calls.base.instruction.model.remaining:
        yield from _Attacked.of(calls, rest).attacks()


@dataclass(frozen=True)
class _Attacked:
    """One list of accounts after the named ones, and a good account for it, at the addresses `at` and `beside`."""

    calls: Variations
    rest: RemainingAccounts
    at: Pubkey
    beside: Pubkey
    account: Account

    @classmethod
    def of(cls, calls: Variations, rest: RemainingAccounts) -> _Attacked:
        # not the fee payer's address, which signs and is writable whatever an instruction says
        at, beside = (
            calls.scene.key(f"{rest.name} {place} the named ones").pubkey()
            for place in ("after", "also after")
        )
        return cls(calls, rest, at, beside, _good_account(calls, rest.constraints))

    def attacks(self) -> Iterator[Attack]:
        rest, good = self.rest, self.meta()
        if rest.signer is True:
            unsigned = AccountMeta(self.at, False, rest.writable)
            yield from self.wrong_flag("does not sign", "AccountNotSigner", unsigned)
        if rest.writable:
            fixed = AccountMeta(self.at, rest.signer is True, False)
            yield from self.wrong_flag("is read-only", "ConstraintMut", fixed)
        if rest.constraints is not None:
            for what, account, error in self.forgeries(rest.constraints):
                yield self.attack(what, {error}, [good], account)
        yield self.calls.open_attack(
            "two-roles",
            f"{rest.name}={rest.name}",
            "are one account",
            self.trial([good, good], self.account),
        )

    def meta(self, at: Pubkey | None = None) -> AccountMeta:
        """Return a good account as the instruction lists it, by default the one at `at`."""
        return AccountMeta(at or self.at, self.rest.signer is True, self.rest.writable)

    def wrong_flag(self, what: str, error: str, bad: AccountMeta) -> Iterator[Attack]:
        """Attack with one account that lacks a flag, and with so many before it that the program may not read it."""
        yield self.attack(what, {error}, [bad], self.account)
        # They have another address: an address has the flags of all its places.
        many = [*[self.meta(self.beside)] * _MANY, bad]
        behind = f"{what}, behind {_MANY} others"
        yield self.attack(behind, {error, "TooManyAccounts"}, many, self.account)

    def attack(
        self,
        what: str,
        expected: set[str],
        metas: list[AccountMeta],
        account: Account | None,
    ) -> Attack:
        return self.calls.attack(
            kind="remaining",
            target=self.rest.name,
            what=what,
            expected=expected,
            trial=self.trial(metas, account),
        )

    def trial(self, metas: list[AccountMeta], account: Account | None) -> Trial:
        """Make a trial of the call with these accounts after the named ones, and *account* on the chain."""
        named = self.calls.base.metas()
        accounts = {self.at: account, self.beside: self.account}
        return self.calls.trial([*named, *metas], accounts=accounts)

    # --- accounts that are not what the spec says ---------------------------------------------------------------------

    def forgeries(self, constraints: Constraints) -> Iterator[_Forgery]:
        """Yield accounts that differ from the good one in one thing."""
        lamports, good = self.account.lamports, bytes(self.account.data)
        for what, owner in strange_owners(self.calls).items():
            stolen = Account(lamports, good, owner)
            yield what, stolen, "AccountOwnedByWrongProgram"
        yield "does not exist", None, "AccountNotInitialized"
        for what, data, error in self.forged_data(constraints, good):
            yield what, with_data(self.account, data), error

    def forged_data(
        self, constraints: Constraints, data: bytes
    ) -> Iterator[tuple[str, bytes, str]]:
        if constraints.state is not None:
            own = account_named(self.calls.model, constraints.state)
            for what, other in of_other_types(self.calls.model, own, data):
                yield what, other, "AccountDiscriminatorMismatch"
            yield from cut_short(own, data)
        if constraints.token is not None:
            stranger = self.calls.stranger(f"{self.rest.name} tokens")
            for _, what, other, error in forged_tokens(
                constraints.token, data, stranger
            ):
                yield what, other, error


def _good_account(calls: Variations, constraints: Constraints | None) -> Account:
    """Return an account that fits *constraints*; without any, a wallet."""
    if constraints is not None and constraints.token is not None:
        data, owner = _token_data(calls, constraints.token), calls.scene.token_program
    elif constraints is not None and constraints.state is not None:
        own = account_named(calls.model, constraints.state)
        data, owner = _state_data(calls, own), calls.scene.program_id
    else:
        return Account(_FUNDED, b"", SYSTEM_PROGRAM)
    rent = calls.scene.svm.minimum_balance_for_rent_exemption(len(data))
    return Account(rent, data, owner)


def _token_data(calls: Variations, token: TokenConstraint) -> bytes:
    stranger = calls.stranger("tokens after the named ones")
    if token.kind == "mint":
        return Mint(supply=10**15, decimals=6).to_bytes()
    return TokenAccount(stranger, stranger, 1).to_bytes()


def _state_data(calls: Variations, own: AccountType) -> bytes:
    program = calls.scene.program
    examples = ExampleValue(calls.scene, program.codecs.layouts.resolver)
    values = examples.make(own.type, 0, f"{own.name} after the named ones")
    data = bytes(program.encode_account(own.name, values))
    return data.ljust(own.size or 0, b"\0")
