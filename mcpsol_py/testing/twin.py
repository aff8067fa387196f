"""A program in the simulator and in an SVM at once: each call is made in both, and all that it did is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.bodies.addresses import Pubkey as Address
from mcpsol_py.bodies.numbers import Number
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import read_mint, read_token_account
from mcpsol_py.sources.spec_words import Variant
from mcpsol_py.testing.keys import address, key_pair
from mcpsol_py.testing.reached import note_call
from mcpsol_py.testing.simulator import Outcome, Simulator
from mcpsol_py.testing.spec_program import read_program
from mcpsol_py.testing.svm_program import Event, SvmOutcome, SvmProgram

__all__ = ["CallOutcome", "Difference", "TwinProgram", "plain"]

SOL = 10**9
#: The tokens of a new mint: what its token accounts can get.
SUPPLY = 2**63


class Difference(AssertionError):
    """The simulator and the SVM do not agree: a body or a generated check means two things."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How a call ended. `error`: the name of the error that refused it, "" if it succeeded.

    `carried`: the bytes that come with the error. `accounts` has the accounts of the call by name, also those that were
    filled in; absent ones are left out.
    """

    error: str
    events: tuple[Event, ...]
    returned: Any
    accounts: dict[str, Pubkey]
    carried: bytes = b""


@dataclass(frozen=True, slots=True)
class _Read:
    """An account of the simulator as bytes."""

    owner: Pubkey
    data: bytes


class TwinProgram:
    """A program in the simulator, and in an SVM if it is compiled. Without a compiled program nothing is compared.

    `simulator` and `svm` are the two sides; `svm` is None without a compiled program.
    """

    def __init__(
        self,
        spec: type | str | PathLike[str],
        elf: bytes | str | PathLike[str] | None = None,
        *,
        at: object = None,
    ) -> None:
        """`spec`: the class of a spec or its file. `elf`: the compiled program or its path. `at`: its address."""
        read = read_program(spec)
        self.program = read.program
        self.program_id = address(
            at or self.program.address or key_pair(self.program.name)
        )
        self.simulator = Simulator(read.cls, address=self.program_id)
        self.svm = (
            None if elf is None else SvmProgram(self.program, elf, at=self.program_id)
        )
        self.set_clock(unix_timestamp=1_700_000_000, slot=10_000)

    # --- what is there before a call

    def wallet(self, name: str = "wallet", lamports: int = 100 * SOL) -> Keypair:
        """Return the key pair of that name, with lamports on both sides if it has no account yet."""
        key = key_pair(name)
        if not self.simulator.lamports(key.pubkey()):
            self._on_each_side(lambda side: side.put_wallet(key.pubkey(), lamports))
        return key

    def mint(
        self, name: str = "mint", *, authority: object = None, decimals: int = 6
    ) -> Pubkey:
        """Return the address of the mint of that name, which is made if it does not exist."""
        at = key_pair(f"mint {name}").pubkey()
        if Address(at) not in self.simulator.ledger.mints:
            owner = address(authority or key_pair("mint authority"))
            self._on_each_side(
                lambda side: side.put_mint(
                    at, authority=owner, supply=SUPPLY, decimals=decimals
                )
            )
            self._same_lamports(at)
        return at

    def token_account(
        self, mint: object, owner: object, amount: int = 0, *, at: object = None
    ) -> Pubkey:
        """Put a token account on both sides, by default at the owner's associated address, and return its address."""
        holder, of = address(owner), address(mint)
        key = associated_token(holder, of, TOKEN_PROGRAM) if at is None else address(at)
        self._on_each_side(
            lambda side: side.put_tokens(key, mint=of, owner=holder, amount=amount)
        )
        self._same_lamports(key)
        return key

    def put_state(self, at: object, kind: str | None = None, **fields: Any) -> None:
        """Put state of type *kind* at an address. Fields that are not given stay as they are, or are zero in new state.

        Without *kind*, the type of the state that is there. Raises KeyError without one.
        """
        key = address(at)
        name = kind or type(self.simulator.state(key)).__name__
        state = self._state_at(key, name)
        self.simulator.set_fields(state, fields)
        self.simulator.put_state(key, state)
        if self.svm is not None:
            self.svm.put_state(key, name, plain(state))
        self._same_lamports(key)

    def set_clock(
        self, *, unix_timestamp: int | None = None, slot: int | None = None
    ) -> None:
        """Set what the clock shows."""
        self._on_each_side(
            lambda side: side.set_clock(unix_timestamp=unix_timestamp, slot=slot)
        )

    def _state_at(self, at: Pubkey, name: str) -> Any:
        """Return the simulator's state of type *name* at an address, else new state."""
        there = self.simulator.ledger.states.get(Address(at))
        if type(there).__name__ == name:
            return there
        return self.simulator.new_state(name)

    def _on_each_side(self, put: Callable[[Simulator | SvmProgram], None]) -> None:
        """Put the same on both sides."""
        put(self.simulator)
        if self.svm is not None:
            put(self.svm)

    def _same_lamports(self, at: Pubkey) -> None:
        if self.svm is not None:
            self.simulator.put_wallet(at, self.svm.lamports(at))

    # --- what is there after it

    def state(self, at: object) -> dict[str, Any]:
        """Return the fields of the state at an address. Raises KeyError without one."""
        fields: dict[str, Any] = plain(self.simulator.state(address(at)))
        return fields

    def tokens(self, at: object) -> int:
        """Return the tokens in a token account."""
        return self.simulator.tokens(address(at))

    def lamports(self, at: object) -> int:
        """Return the lamports of an account, 0 without one."""
        return self.simulator.lamports(address(at))

    # --- calls

    def call(
        self,
        instruction: str,
        *,
        accounts: Mapping[str, Any] | None = None,
        args: Mapping[str, Any] | None = None,
        signers: Iterable[object] | None = None,
    ) -> CallOutcome:
        """Call an instruction on both sides. Accounts that follow from the others may be left out.

        `signers`: by default, every account that has to sign. Raises Difference if the sides do not agree, and
        MissingAccount, UnknownName, NotUsable for a call that cannot be made.
        """
        whole, values = self.complete(instruction, accounts or {}, args or {})
        signing = None if signers is None else [address(signer) for signer in signers]
        known = {name: key for name, key in whole.items() if key is not None}
        here = self.simulator.call(
            instruction, accounts=known, args=values, signers=signing
        )
        mine = CallOutcome(
            here.error, _events(here), plain(here.returned), known, here.carried
        )
        if self.svm is not None:
            shown = plain(values)
            there = self.svm.call(
                instruction, accounts=whole, args=shown, signers=signing
            )
            note_call("svm", there.error, instruction)
            _compare(f"{instruction}({shown})", mine, there)
            for at in set(mine.accounts.values()):
                self._compare_account(self.svm, f"{instruction}({shown})", at)
        return mine

    def complete(
        self, instruction: str, accounts: Mapping[str, Any], args: Mapping[str, Any]
    ) -> tuple[dict[str, Pubkey | None], dict[str, Any]]:
        """Return the accounts and arguments of a call by name, with those that follow from the given ones.

        Raises as `call` does.
        """
        known = self.program.instruction(instruction)
        given = {
            name: None if key is None else address(key)
            for name, key in accounts.items()
        }
        resolution = known.plan.resolve(
            plain(args), given, program_id=self.program_id, online=True
        )
        while wanted := resolution.wanted():
            resolution.supply((key, self._read(key)) for key in wanted)
        return resolution.addresses(), {**resolution.complete_args(), **args}

    def _read(self, at: Pubkey) -> _Read | None:
        """Return an account of the simulator as bytes, for addresses that depend on its data."""
        ledger, key = self.simulator.ledger, Address(at)
        if not ledger.exists(key) and key not in ledger.lamports:
            return None
        reader = self.simulator.reader
        return _Read(address(ledger.owner(key)), bytes(reader.data(ledger, key)))

    # --- comparing

    def _compare_account(self, svm: SvmProgram, what: str, at: Pubkey) -> None:
        found = svm.account(at)
        if found is not None and found.executable:
            return
        mine = self._in_python(at)
        has_state = mine["state"] is not None
        other: dict[str, object] = {
            "lamports": svm.lamports(at),
            "state": _fields(self.program, found.data)
            if found is not None and has_state
            else None,
            "tokens": getattr(read_token_account(found), "amount", None),
            "supply": getattr(read_mint(found), "supply", None),
        }
        if mine != other:
            absent = {name for name in mine if mine[name] is other[name] is None}
            here, there = _without(mine, absent), _without(other, absent)
            raise Difference(
                f"after {what}, {at} has {here} in Python, {there} in the SVM."
            )

    def _in_python(self, at: Pubkey) -> dict[str, object]:
        """Return all that the simulator holds at an address."""
        ledger, key = self.simulator.ledger, Address(at)
        return {
            "lamports": self.simulator.lamports(at),
            "state": plain(ledger.states.get(key)),
            "tokens": plain(getattr(ledger.tokens.get(key), "amount", None)),
            "supply": plain(getattr(ledger.mints.get(key), "supply", None)),
        }


def _compare(what: str, here: CallOutcome, there: SvmOutcome) -> None:
    pairs = {
        "ends with": (here.error, there.error),
        "logs": (here.events, _plain_events(there.events)),
        "returns": (here.returned, plain(there.returned)),
        "carries": (here.carried, there.carried),
    }
    for verb, (mine, other) in pairs.items():
        if mine != other:
            log = "\n".join(there.logs)
            raise Difference(
                f"{what} {verb} {mine!r} in Python, {other!r} in the SVM. Its log:\n{log}"
            )


def _without(shown: dict[str, object], names: set[str]) -> dict[str, object]:
    return {name: value for name, value in shown.items() if name not in names}


def _events(outcome: Outcome) -> tuple[Event, ...]:
    """Return the events of a simulated call, with plain values."""
    return tuple(Event(type(event).__name__, plain(event)) for event in outcome.events)


def _plain_events(events: Iterable[Event]) -> tuple[Event, ...]:
    return tuple(Event(event.name, plain(event.fields)) for event in events)


def _fields(program: Program, data: bytes) -> dict[str, object]:
    fields: dict[str, object] = plain(program.decode_account(data)[1])
    return fields


def plain(value: Any) -> Any:
    """Return a value of either side in one form: solders addresses, plain ints, structs as dicts."""
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, (Number, int)):
        return int(value)
    if isinstance(value, Variant):
        return str(value)
    if isinstance(value, Address):
        return address(value)
    if isinstance(value, (bytes, Pubkey)):
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))
    return {key: plain(item) for key, item in vars(value).items()}
