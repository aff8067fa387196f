"""The generated checks of an instruction's accounts, in the order and with the errors of a rendered program.

What cannot be simulated yet is an error, so that no check is left out without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from solders.pubkey import Pubkey as Key

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.hashing import bytes_of
from mcpsol_py.bodies.numbers import Number
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.program import (
    Account,
    AccountSeed,
    ArgSeed,
    Constraints,
    ConstSeed,
    ConstValue,
    Instruction,
    Pda,
    Seed,
    TokenConstraint,
)
from mcpsol_py.render.account_lookup import is_token_program
from mcpsol_py.render.faults import address_check, owner_check, seeds_check
from mcpsol_py.solana import ids
from mcpsol_py.sources import spec_words as words
from mcpsol_py.testing.ledger import Ledger, MintState, TokenState

__all__ = [
    "CheckFailure",
    "Given",
    "all_sign",
    "check_accounts",
    "derived",
    "held_state",
]

T = TypeVar("T")


class CheckFailure(Exception):
    """A generated check refuses the call by the error `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


@dataclass(frozen=True, slots=True)
class Given:
    """A call before its body runs: its accounts by name, and the ledger that it works on."""

    ix: Instruction
    accounts: dict[str, Pubkey]
    signers: frozenset[Pubkey]
    arguments: dict[str, Any]
    ledger: Ledger
    program: Pubkey
    #: the accounts after the named ones
    remaining: tuple[Pubkey, ...] = ()

    def each(self) -> Iterator[tuple[Account, Pubkey, Constraints]]:
        """Return the accounts that are there, with their addresses and constraints."""
        for item in self.ix.accounts:
            if not isinstance(item, Account):
                raise _cannot(self.ix, f"the accounts {item.name}")
            if item.optional and item.name not in self.accounts:
                continue
            constraints = item.rules
            any_program = constraints.executable and not _allowed(item)
            if any_program or constraints.realloc is not None:
                raise _cannot(self.ix, f"the constraints of {item.name}")
            yield item, self.accounts[item.name], constraints

    def named(self, name: str | None) -> Pubkey | None:
        """Return the address of the account *name*; None without a name. Raises CheckFailure if it is left out."""
        if name is None:
            return None
        if name not in self.accounts:
            raise CheckFailure("ConstraintAccountIsNone")
        return self.accounts[name]

    def is_there(self, address: Pubkey, constraints: Constraints) -> bool:
        """Return whether there is an account to check before the body runs, which may create it if it is missing."""
        if constraints.init is None:
            return True
        return constraints.init.if_needed and self.ledger.exists(address)

    def token_program(self, account: Account) -> Pubkey | None:
        """Return the token program of a token account or mint: that of its constraint, or the only one of the call.

        None if the instruction says neither.
        """
        token = account.rules.token
        if token is not None and token.program is not None:
            return self.named(token.program)
        found = [
            item.name
            for item in self.ix.accounts
            if isinstance(item, Account)
            and is_token_program(item)
            and not item.optional
        ]
        return self.named(found[0]) if len(found) == 1 else None

    def owner_of(self, address: Pubkey) -> Pubkey:
        """Return the program that owns an account. Raises NotUsable for a program and a sysvar."""
        if address in self._not_owned():
            raise _cannot(self.ix, "the owner of a program")
        return self.ledger.owner(address)

    def _not_owned(self) -> set[Pubkey]:
        """Return the accounts whose owner is a loader or the runtime, of which the simulator knows nothing."""
        in_call = {at for _, at, c in self.each() if c.executable or c.sysvar}
        return in_call | _PROGRAMS | {self.program}


_PROGRAMS = frozenset(
    map(Pubkey, (ids.SYSTEM_PROGRAM, *ids.TOKEN_PROGRAMS, ids.ASSOCIATED_TOKEN_PROGRAM))
)


def _cannot(ix: Instruction, what: str) -> NotUsable:
    return NotUsable(
        "instruction", ix.name, f"the simulator has no check for {what} yet"
    )


def check_accounts(given: Given) -> None:
    """Check all accounts, the cheapest checks first. Raises CheckFailure, NotUsable."""
    _run(_signer, given)
    _run(_address, given)
    _run(_owner, given)
    _remaining(given)
    _duplicates(given)
    _run(_state, given)
    _run(_token, given)
    _run(_seeds, given)


def _run(
    check: Callable[[Given, Account, Pubkey, Constraints], None], given: Given
) -> None:
    for account, address, constraints in given.each():
        check(given, account, address, constraints)


def _allowed(account: Account) -> tuple[str, ...]:
    """Return the addresses that the account may have; () if every address is allowed."""
    return account.rules.one_of or tuple(filter(None, [account.address]))


def _loaded(ledger: Ledger, accounts: dict[Pubkey, T], address: Pubkey) -> T:
    """Return a token account or a mint. Raises CheckFailure for an account that is something else."""
    if address in accounts:
        return accounts[address]
    if not ledger.exists(address):
        raise CheckFailure("AccountNotInitialized")
    is_of_tokens = ledger.token_data(address) is not None
    raise CheckFailure(
        "AccountDidNotDeserialize" if is_of_tokens else "AccountOwnedByWrongProgram"
    )


def _same(found: object, wanted: object, otherwise: str) -> None:
    """Fail if *found* is not *wanted*. None wants nothing."""
    if wanted not in (None, found):
        raise CheckFailure(otherwise)


def _ensure(
    condition: bool, constraints: Constraints, check: str, otherwise: str
) -> None:
    if not condition:
        raise CheckFailure(dict(constraints.errors).get(check, otherwise))


def _signer(
    given: Given, a: Account, address: Pubkey, constraints: Constraints
) -> None:
    if a.signer is True:
        _ensure(address in given.signers, constraints, "signer", "AccountNotSigner")


def _address(
    given: Given, a: Account, address: Pubkey, constraints: Constraints
) -> None:
    allowed = _allowed(a)
    if allowed:
        fits = str(address) in allowed
        _ensure(
            fits,
            constraints,
            "address",
            address_check(constraints).removeprefix("Check::"),
        )


def _owner(given: Given, a: Account, address: Pubkey, constraints: Constraints) -> None:
    if constraints.owner is not None and constraints.init is None:
        fits = given.owner_of(address) == _owning_program(given, constraints.owner)
        _ensure(fits, constraints, "owner", owner_check(constraints))


def _owning_program(given: Given, owner: str) -> Pubkey | None:
    """Return the address of *owner*: this program (""), an account of the instruction, or an address."""
    if not owner:
        return given.program
    is_account = any(item.name == owner for item in given.ix.accounts)
    return given.named(owner) if is_account else Pubkey(owner)


def all_sign(ix: Instruction) -> bool:
    """Return whether each account after the named ones has to sign."""
    return any(each.signer is True for each in ix.remaining)


def _remaining(given: Given) -> None:
    """Check each account after the named ones: that it signs, and what it is."""
    for address in given.remaining:
        for each in given.ix.remaining:
            account = each.account(each.name)
            for check in (_signer, _state, _token):
                check(given, account, address, account.rules)


def _duplicates(given: Given) -> None:
    held = [
        address for a, address, c in given.each() if a.writable and c.has_known_data
    ]
    if len(set(held)) < len(held):
        raise CheckFailure("ConstraintDuplicateMutableAccount")


def _state(given: Given, a: Account, address: Pubkey, constraints: Constraints) -> None:
    if constraints.state is None or not given.is_there(address, constraints):
        return
    state = held_state(given.ledger, address, constraints.state)
    for name, account in constraints.has_one:
        fits = getattr(state, name) == given.named(account)
        _ensure(fits, constraints, f"has_one:{name}", "ConstraintHasOne")


def held_state(ledger: Ledger, address: Pubkey, name: str) -> words.Account:
    """Return the state of type *name* at an address. Raises CheckFailure."""
    state = ledger.states.get(address)
    if address in ledger.raw:
        raise CheckFailure(ledger.own.refusal(ledger.raw[address], name))
    if state is None:
        is_other = ledger.exists(address)
        raise CheckFailure(
            "AccountOwnedByWrongProgram" if is_other else "AccountNotInitialized"
        )
    if type(state).__name__ != name:
        raise CheckFailure("AccountDiscriminatorMismatch")
    return state


def _token(given: Given, a: Account, address: Pubkey, constraints: Constraints) -> None:
    token = constraints.token
    if token is not None and given.is_there(address, constraints):
        _TOKEN_CHECKS[token.kind](given, a, address, token)


def _of_program(given: Given, found: TokenState | MintState, a: Account) -> None:
    _same(found.program, given.token_program(a), "AccountOwnedByWrongProgram")


def _token_account(
    given: Given, a: Account, address: Pubkey, token: TokenConstraint
) -> None:
    found = _loaded(given.ledger, given.ledger.tokens, address)
    _of_program(given, found, a)
    _same(found.mint, given.named(token.mint), "ConstraintTokenMint")
    _same(found.owner, given.named(token.authority), "ConstraintTokenOwner")


def _mint(given: Given, a: Account, address: Pubkey, token: TokenConstraint) -> None:
    found = _loaded(given.ledger, given.ledger.mints, address)
    _of_program(given, found, a)
    _same(found.authority, given.named(token.authority), "ConstraintMintMintAuthority")
    _same(int(found.decimals), token.decimals, "ConstraintMintDecimals")


_TOKEN_CHECKS: dict[str, Callable[[Given, Account, Pubkey, TokenConstraint], None]] = {
    "account": _token_account,
    "associated": _token_account,
    "mint": _mint,
}


def _seeds(given: Given, a: Account, address: Pubkey, constraints: Constraints) -> None:
    if a.pda is not None:
        found, _ = derived(given, a)
        _ensure(found == address, constraints, "seeds", seeds_check(constraints))


def derived(given: Given, a: Account) -> tuple[Pubkey | None, int]:
    """Return the address that the account's seeds give, and its bump; None where the stored bump gives none."""
    assert a.pda is not None
    seeds = [_seed_bytes(given, seed) for seed in a.pda.seeds]
    program = Key(bytes(_program_of(given, a.pda)))
    stored = _stored_bump(given, a, a.pda)
    if stored is None:
        found, bump = Key.find_program_address(seeds, program)
        return Pubkey(bytes(found)), bump
    try:
        return Pubkey(
            bytes(Key.create_program_address([*seeds, bytes([stored])], program))
        ), stored
    except ValueError:  # the bump gives an address on the curve
        return None, stored


def _program_of(given: Given, pda: Pda) -> Pubkey:
    """Return the program that owns a derived address."""
    match pda.program:
        case None:
            return given.program
        case ConstValue(str(value)):
            return Pubkey(value)
    raise _cannot(given.ix, "the program of a derived address")


def _stored_bump(given: Given, a: Account, pda: Pda) -> int | None:
    state = given.ledger.states.get(given.accounts[a.name])
    is_new = a.rules.init is not None
    if pda.bump is None or state is None or is_new:
        return None
    return int(getattr(state, pda.bump))


def _seed_bytes(given: Given, seed: Seed) -> bytes:
    match seed:
        case ConstSeed(value):
            return value
        case AccountSeed(account=(name,), field=()) if name in given.accounts:
            return bytes(given.accounts[name])
        case AccountSeed(account=(name,), field=(field,), encoding=None):
            return _value_bytes(
                given, getattr(given.ledger.states[given.accounts[name]], field)
            )
        case ArgSeed(path=(name,), encoding=None):
            return _value_bytes(given, given.arguments[name])
    raise _cannot(given.ix, "one of its seeds")


def _value_bytes(given: Given, value: object) -> bytes:
    if isinstance(value, (Number, Pubkey, bytes)):
        return bytes_of(value)
    raise _cannot(given.ix, "one of its seeds")
