"""A simulator for programs whose spec has method bodies: runs checks and bodies in Python, without a chain.

simulator = Simulator(Counter)
outcome = simulator.call("increment", accounts={"counter": counter, "authority": me}, args={"amount": 5})
assert outcome.error == ""
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from typing import Any, Literal, SupportsBytes

from solders.pubkey import Pubkey as Key

from mcpsol_py.bodies import numbers, running
from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.data import Data, DataTooShort
from mcpsol_py.bodies.extensions import Extension, read_extensions
from mcpsol_py.bodies.hashing import bytes_of
from mcpsol_py.bodies.numbers import ArithmeticOverflow, i64, u8, u64
from mcpsol_py.bodies.running import ClockTime
from mcpsol_py.bodies.scope import is_bytes, type_name
from mcpsol_py.errors import EncodeError, NotUsable, UnknownName
from mcpsol_py.model.program import Account, Constraints, Instruction, TokenConstraint
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import Array, Bool, Enum, Int, Link, Option, Struct, Type
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.solana import ids
from mcpsol_py.solana.tokens import MINT_SIZE, TOKEN_ACCOUNT_SIZE
from mcpsol_py.sources import spec_words as words
from mcpsol_py.testing.checks import (
    CheckFailure,
    Given,
    all_sign,
    check_accounts,
    derived,
    held_state,
)
from mcpsol_py.testing.ledger import (
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
    Ledger,
    MintState,
    OwnState,
    RawAccount,
    TokenState,
    rent,
)
from mcpsol_py.testing.raw_accounts import (
    AccountReader,
    OtherInstruction,
    TransactionView,
    json_form,
)
from mcpsol_py.testing.reached import follow, note_call
from mcpsol_py.testing.spec_program import read_program
from mcpsol_py.testing.token_program import TOKEN_CALLS, TokenFailure, initialize
from mcpsol_py.testing.turns import MOST_TURNS, TooManyTurns, counted_turns

__all__ = ["Outcome", "Simulator"]

Address = Pubkey | str | bytes | SupportsBytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended. `error`: the name of the error that refused it, "" if it succeeded.

    A refused call has no events and returns nothing, and nothing that it did remains. `carried`: the bytes that come
    with its error.
    """

    error: str = ""
    events: tuple[Any, ...] = ()
    returned: Any = None
    carried: bytes = b""


class Simulator:
    """The accounts of a program, and calls of its instructions. Fees of transactions are not simulated."""

    def __init__(
        self, program: type | str | PathLike[str], *, address: Address | None = None
    ) -> None:
        """`program`: the class of a spec, or the path of its file. `address`: the spec's if not given."""
        self.spec = read_program(program)
        self.address = _address(address or self.spec.model.address or bytes(32))
        self.clear()
        self.time = ClockTime(slot=u64(1), epoch=u64(0), unix_timestamp=i64(0))
        self.reader = AccountReader(self._encoded)

    # --- accounts

    def clear(self) -> None:
        """Remove all accounts."""
        types = {one.name: one.discriminator.value for one in self.spec.model.accounts}
        self.ledger = Ledger(OwnState(self.address, types))

    def set_clock(
        self,
        *,
        unix_timestamp: int | None = None,
        slot: int | None = None,
        epoch: int | None = None,
    ) -> None:
        """Set what the clock shows. The epoch also decides which transfer fee of a mint holds."""
        if unix_timestamp is not None:
            self.time = replace(self.time, unix_timestamp=i64(unix_timestamp))
        if slot is not None:
            self.time = replace(self.time, slot=u64(slot))
        if epoch is not None:
            self.time = replace(self.time, epoch=u64(epoch))

    def put_wallet(self, address: Address, lamports: int) -> None:
        """Give a wallet lamports."""
        self.ledger.lamports[_address(address)] = lamports

    def put_state(self, address: Address, state: words.Account) -> None:
        """Put state at an address, with the rent of its size."""
        key = _address(address)
        self.ledger.states[key] = state
        self.ledger.lamports.setdefault(key, rent(self.size_of(type(state).__name__)))

    def put_tokens(
        self,
        address: Address,
        *,
        mint: Address,
        owner: Address,
        amount: int,
        delegate: Address | None = None,
        delegated_amount: int = 0,
        is_frozen: bool = False,
        program: Address = TOKEN_PROGRAM,
        extensions: bytes = b"",
    ) -> None:
        """Put a token account at an address. `extensions`: those of Token-2022, as its data lists them."""
        key = _address(address)
        self.ledger.tokens[key] = TokenState(
            _address(mint),
            _address(owner),
            u64(amount),
            None if delegate is None else _address(delegate),
            u64(delegated_amount),
            is_frozen,
            _address(program),
            extensions,
        )
        self.ledger.lamports.setdefault(key, rent(TOKEN_ACCOUNT_SIZE))

    def put_mint(
        self,
        address: Address,
        *,
        authority: Address | None = None,
        supply: int = 0,
        decimals: int = 0,
        program: Address = TOKEN_PROGRAM,
        extensions: bytes = b"",
    ) -> None:
        """Put a mint at an address. `extensions`: those of Token-2022, as its data lists them."""
        owner = None if authority is None else _address(authority)
        self.ledger.mints[_address(address)] = MintState(
            owner, u64(supply), u8(decimals), _address(program), extensions
        )

    def put_data(self, address: Address, *, program: Address, data: bytes) -> None:
        """Put the bytes of an account at an address: another program's, or one of this program that holds no state."""
        key = _address(address)
        self.ledger.raw[key] = RawAccount(_address(program), bytes(data))
        self.ledger.lamports.setdefault(key, rent(len(data)))

    def state(self, address: Address) -> Any:
        """Return the state at an address. Raises KeyError without one."""
        return self.ledger.states[_address(address)]

    def tokens(self, address: Address) -> int:
        """Return the tokens in a token account."""
        return int(self.ledger.tokens[_address(address)].amount)

    def lamports(self, address: Address) -> int:
        """Return the lamports of an account, 0 without one."""
        return self.ledger.lamports.get(_address(address), 0)

    def size_of(self, name: str) -> int:
        """Return the bytes of an account with state of this name, its discriminator included."""
        known = self.spec.states.get(name)
        return 0 if known is None else known.size or 0

    def size_at(self, ledger: Ledger, at: Pubkey) -> int:
        """Return the bytes of the account at an address, 0 without one."""
        if at in ledger.states:
            return self.size_of(type(ledger.states[at]).__name__)
        if at in ledger.raw:
            return len(ledger.raw[at].data)
        held = ledger.token_data(at)
        return 0 if held is None else held.size

    def new_state(self, name: str) -> Any:
        """Return new state of this name, with every field zero."""
        kinds = self._fields_of(name)
        return self.spec.classes[name](
            **{n: self._zero(kind) for n, kind in kinds.items()}
        )

    def set_fields(self, state: words.Account, fields: Mapping[str, Any]) -> None:
        """Give fields of state other values, as `value` takes them. Raises UnknownName."""
        kinds = self._fields_of(type(state).__name__)
        for name, value in fields.items():
            if name not in kinds:
                raise UnknownName("field", name, list(kinds))
            setattr(state, name, self.value(kinds[name], value))

    def _fields_of(self, name: str) -> dict[str, Type]:
        """Return the fields of state of this name. Raises UnknownName."""
        UnknownName.check("account type", [name], self.spec.states)
        body = self.spec.resolver.target(self.spec.states[name].type)
        assert isinstance(body, Struct)
        return {field.name: field.type for field in body.fields}

    def value(self, kind: Type, value: Any) -> Any:
        """Return an argument as bodies see it: structs and enums also in their JSON form."""
        if isinstance(kind, Option):
            return None if value is None else self.value(kind.item, value)
        if isinstance(kind, Int):
            return getattr(numbers, type_name(kind))(_whole(value))
        if isinstance(kind, Bool) and not isinstance(value, bool):
            raise TypeError(f"expected True or False, got {value!r}")
        if is_bytes(kind):
            return _exactly(bytes(value), fixed_size(self.spec.resolver, kind))
        if isinstance(kind, Link):
            return self._named_value(kind, value)
        if isinstance(kind, Array):
            return [self.value(kind.item, each) for each in value]
        return _address(value) if isinstance(kind, PubkeyType) else value

    def _named_value(self, kind: Link, value: Any) -> Any:
        body, cls = self.spec.resolver.target(kind), self.spec.classes.get(kind.name)
        match body, value:
            case Enum(), str():
                return getattr(cls, value)
            case Struct(), Mapping() if cls is not None:
                return cls(
                    **{f.name: self.value(f.type, value[f.name]) for f in body.fields}
                )
        return value

    def _encoded(self, state: words.Account) -> bytes:
        """Return state as the bytes of its account."""
        fields = {
            name: value for name, value in json_form(state).items() if name != "address"
        }
        return self.spec.program.encode_account(type(state).__name__, fields)

    def _zero(self, kind: Type) -> Any:
        """Return the value of a field in new state. Fields that bodies cannot use are None."""
        if is_bytes(kind):
            return bytes(fixed_size(self.spec.resolver, kind) or 0)
        if isinstance(kind, Link):
            return self._named_zero(kind)
        return self.value(kind, _ZEROS.get(type(kind)))

    def _named_zero(self, kind: Link) -> Any:
        """Return a struct whose fields are zero, or an enum's variant with the tag zero; None without one."""
        body, cls = self.spec.resolver.target(kind), self.spec.classes.get(kind.name)
        match body:
            case Struct(fields) if cls is not None:
                return cls(**{f.name: self._zero(f.type) for f in fields})
            case Enum() if cls is not None:
                first = body.variants[0]
                is_zero = first.value in (None, 0) and first.payload is None
                return getattr(cls, first.name) if is_zero else None
        return None

    # --- calls

    def call(
        self,
        instruction: str,
        *,
        accounts: Mapping[str, Address | Sequence[Address] | None],
        args: Mapping[str, Any] | None = None,
        signers: Iterable[Address] | None = None,
        before: Iterable[tuple[Address, bytes]] = (),
    ) -> Outcome:
        """Run the checks and the body of an instruction. An optional account may be left out, or be None.

        `before`: the programs and the data of the transaction's instructions before this one.
        `signers`: by default, every account that has to sign. Addresses that the spec fixes may be left out.
        Raises UnknownName, and NotUsable for an instruction that the simulator cannot run.
        """
        ix = self._instruction(instruction)
        others = tuple(
            OtherInstruction(_address(program), data) for program, data in before
        )
        call = _Call(self, ix, self._given(ix, accounts, args or {}, signers), others)
        outcome = call.run()
        note_call("simulator", outcome.error, instruction)
        return outcome

    def check_runs(self, instruction: str) -> None:
        """Raise UnknownName, and NotUsable for an instruction whose handler is written in Rust."""
        self._instruction(instruction)

    def _instruction(self, name: str) -> Instruction:
        if name not in self.spec.instructions:
            raise UnknownName("instruction", name, list(self.spec.instructions))
        why = "its handler is written in Rust, so it has no body to run"
        _ensure_usable(name in self.spec.bodies, name, why)
        return self.spec.instructions[name]

    def _given(
        self,
        ix: Instruction,
        accounts: Mapping[str, Address | Sequence[Address] | None],
        args: Mapping[str, Any],
        signers: Iterable[Address] | None,
    ) -> Given:
        values: dict[str, Any] = dict(accounts)
        lists = [values.pop(each.name, ()) for each in ix.remaining]
        rest = tuple(_address(value) for listed in lists for value in listed)
        given = _fixed_addresses(ix) | {
            name: _address(value) for name, value in values.items() if value is not None
        }
        for item in ix.accounts:
            is_optional = isinstance(item, Account) and item.optional
            if is_optional and given.get(item.name) == self.address:
                del given[item.name]  # how a caller leaves it out
            why = f"the account {item.name!r} is not given"
            _ensure_usable(item.name in given or is_optional, ix.name, why)
        signed = (
            _signing(ix, given, rest) if signers is None else map(_address, signers)
        )
        arguments = self._arguments(ix, args)
        ledger = self.ledger.copy()
        ledger.epoch = int(self.time.epoch)
        return Given(
            ix, given, frozenset(signed), arguments, ledger, self.address, rest
        )

    def _arguments(self, ix: Instruction, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as bodies see them. Raises EncodeError."""
        values = {arg.name: arg.default.value for arg in ix.args if arg.default}
        values |= given
        try:
            made = {arg.name: self.value(arg.type, values[arg.name]) for arg in ix.args}
        except _MISFITS as error:
            self.encoded_arguments(ix, given)  # the codec says what does not fit
            raise EncodeError(f"{ix.name}: {error}") from error
        if len(values) > len(made):
            UnknownName.check("argument", values, made, ix.name)
        return made

    def encoded_arguments(self, ix: Instruction, given: Mapping[str, Any]) -> bytes:
        """Return the data of a call with these arguments. Raises EncodeError."""
        shown = {name: json_form(value) for name, value in given.items()}
        return self.spec.program.instruction(ix.name).encode(shown)


#: What goes wrong with a value that is not of its type.
_MISFITS = (ArithmeticOverflow, AttributeError, KeyError, TypeError, ValueError)


def _ensure_usable(condition: bool, instruction: str, why: str) -> None:
    if not condition:
        raise NotUsable("instruction", instruction, why)


def _fixed_addresses(ix: Instruction) -> dict[str, Pubkey]:
    """Return the accounts whose address the spec fixes."""
    return {
        item.name: _address(address)
        for item in ix.accounts
        if (address := getattr(item, "address", None))
    }


def _signing(
    ix: Instruction, given: Mapping[str, Pubkey], rest: tuple[Pubkey, ...]
) -> list[Pubkey]:
    """Return the addresses of the accounts that have to sign."""
    named = [
        given[item.name]
        for item in ix.accounts
        if getattr(item, "signer", False) is True and item.name in given
    ]
    return [*named, *(rest if all_sign(ix) else ())]


@dataclass(slots=True)
class _Call:
    """One call, on a copy of the ledger that is kept only if the call succeeds."""

    simulator: Simulator
    ix: Instruction
    given: Given
    before: tuple[OtherInstruction, ...] = ()
    events: list[Any] = field(default_factory=list)
    #: what comes with the error
    carried: bytes = b""
    #: the state that the body opened
    opened: list[words.Account] = field(default_factory=list)

    @property
    def ledger(self) -> Ledger:
        return self.given.ledger

    def run(self) -> Outcome:
        """Return how the call ends."""
        try:
            check_accounts(self.given)
            for account, address, constraints in self.given.each():
                self._create(account, address, constraints)
            self._compare_addresses()
            returned = self._body()
            for _, address, constraints in self.given.each():
                self._close(address, constraints)
            self._check_rent()
        except (CheckFailure, TokenFailure) as failure:
            return Outcome(failure.name)
        except ArithmeticOverflow:
            return Outcome("ArithmeticOverflow")
        except DataTooShort:
            return Outcome("AccountDidNotDeserialize")
        except words.error as failure:
            name = self._error_name(failure)
            failure.__traceback__ = failure.__context__ = None
            return Outcome(name, carried=self.carried)
        self.simulator.ledger = self.ledger
        return Outcome("", tuple(self.events), returned)

    def _check_rent(self) -> None:
        """Refuse, as the runtime does, to leave an account with lamports that do not pay its rent.

        An account that had too few before may keep them, or have fewer.
        """
        before, now = self.simulator.ledger, self.ledger
        for at in {*self.given.accounts.values(), *self.given.remaining}:
            held, size = now.lamports.get(at, 0), self.simulator.size_at(now, at)
            if not 0 < held < rent(size):
                continue
            had, had_size = (
                before.lamports.get(at, 0),
                self.simulator.size_at(before, at),
            )
            if not 0 < held <= had < rent(size) or size != had_size:
                raise CheckFailure("InsufficientFundsForRent")

    def _error_name(self, failure: words.error) -> str:
        members = vars(self.simulator.spec.cls).items()
        return next(
            (name for name, value in members if value is failure), failure.message
        )

    # --- around the body

    def _create(
        self, account: Account, address: Pubkey, constraints: Constraints
    ) -> None:
        init = constraints.init
        exists = self.ledger.exists(address)
        if init is None or (init.if_needed and exists):
            return
        if exists:
            raise CheckFailure("AccountDiscriminatorAlreadySet")
        payer, state = self.given.accounts[init.payer], constraints.state
        if state is not None:
            self._pay_rent(payer, address, init.space or self.simulator.size_of(state))
            self._new_state(account, address, state)
        elif constraints.token is not None:
            self._new_tokens(account, address, constraints.token, payer)

    def _pay_rent(self, payer: Pubkey, address: Pubkey, size: int) -> None:
        if not self.ledger.pay_rent(payer, address, size):
            raise CheckFailure("ResultWithNegativeLamports")

    def _new_tokens(
        self, account: Account, address: Pubkey, token: TokenConstraint, payer: Pubkey
    ) -> None:
        """Create a token account, an associated one or a mint."""
        accounts, program = self.given.accounts, self.given.token_program(account)
        assert program is not None  # render refuses such a spec
        authority = accounts[token.authority or ""]
        if token.kind == "mint":
            self._pay_rent(payer, address, MINT_SIZE)
            made = MintState(authority, u64(0), u8(token.decimals or 0), program)
            self.ledger.mints[address] = made
            return
        mint = accounts[token.mint or ""]
        if token.kind == "associated":
            roles = {"payer": payer, "account": address, "owner": authority}
            roles |= {"mint": mint, "token_program": program}
            TOKEN_CALLS["create_idempotent"](self.ledger, roles)
            return
        self._pay_rent(payer, address, TOKEN_ACCOUNT_SIZE)
        initialize(self.ledger, address, mint, authority, program)

    def _new_state(self, account: Account, address: Pubkey, name: str) -> None:
        state = self.simulator.new_state(name)
        if account.stored_bump is not None:
            setattr(state, account.stored_bump, u8(derived(self.given, account)[1]))
        self.ledger.states[address] = state

    def _compare_addresses(self) -> None:
        """Refuse one account in two places, where the handler would read one and write the other."""
        accounts = self.given.accounts
        for one, other in self.simulator.spec.different[self.ix.name]:
            if {one, other} <= accounts.keys() and accounts[one] == accounts[other]:
                raise CheckFailure("ConstraintDuplicateMutableAccount")
        for one in self.simulator.spec.no_items[self.ix.name]:
            if accounts.get(one) in self.given.remaining:
                raise CheckFailure("ConstraintDuplicateMutableAccount")

    def _close(self, address: Pubkey, constraints: Constraints) -> None:
        if constraints.close is not None:
            self._give_back(address, self.given.accounts[constraints.close])

    def create(self, kind: type, account: Any, payer: Any) -> None:
        name, address = kind.__name__, account.address
        if not self.is_new(account):
            raise CheckFailure("AccountDiscriminatorAlreadySet")
        self._pay_rent(payer.address, address, self.simulator.size_of(name))
        self.ledger.raw.pop(address, None)
        self.ledger.states[address] = self.simulator.new_state(name)

    def load(self, kind: type, account: Any) -> object:
        state = held_state(self.ledger, account.address, kind.__name__)
        self.opened.append(state)
        return _placed(state, account.address)

    def carry(self, data: Any) -> None:
        is_state = isinstance(data, words.Account)
        self.carried = self.simulator.reader.encode(data) if is_state else bytes(data)

    def close(self, account: Any, to: Any) -> None:
        self._give_back(account.address, to.address)

    def _give_back(self, address: Pubkey, destination: Pubkey) -> None:
        if destination == address:
            raise CheckFailure("ConstraintClose")
        self.ledger.move(address, destination, self.ledger.lamports.get(address, 0))
        self.ledger.states.pop(address, None)

    # --- the body, and its calls

    def _body(self) -> Any:
        method = getattr(self.simulator.spec.cls(), self._method_name())
        views = dict.fromkeys(item.name for item in self.ix.accounts) | {
            account.name: self._view(account, at)
            for account, at, _ in self.given.each()
        }
        rest = [
            self._view(each.account(each.name), at)
            for each in self.ix.remaining
            for at in self.given.remaining
        ]
        for account, _, _ in self.given.each():
            if account.name in self.simulator.spec.bumps[self.ix.name]:
                vars(views[account.name])["bump"] = u8(derived(self.given, account)[1])
        token = running.running.set(self)
        try:
            with counted_turns(method.__globals__):
                values = views | self.given.arguments
                returned = follow(self._bound(method, values, rest), {})
        except TooManyTurns:
            why = f"its loops have more than {MOST_TURNS:,} turns, for which no transaction has the compute units"
            raise NotUsable("instruction", self.ix.name, why) from None
        finally:
            running.running.reset(token)
            for view in (*views.values(), *rest, *self.opened):
                if view is not None:
                    vars(view).pop("address", None)
        return returned

    def _bound(
        self, method: Callable[..., Any], values: dict[str, Any], rest: list[Any]
    ) -> Callable[..., Any]:
        """Return the method with its parameters. Those before the accounts of `*name` have no name then."""
        if not self.ix.remaining:
            return partial(method, **values)
        named = inspect.signature(method).parameters.values()
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        before = [values.pop(each.name) for each in named if each.kind is kind]
        return partial(method, *before, *rest, **values)

    def _method_name(self) -> str:
        for name, value in vars(self.simulator.spec.cls).items():
            options = getattr(value, "mcpsol_instruction", None)
            if options is not None and (options.name or name) == self.ix.name:
                return name
        raise UnknownName("instruction", self.ix.name, [])

    def _view(self, account: Account, address: Pubkey) -> Any:
        """Return an account as the body sees it. Two accounts at one address with state are one object."""
        state = self.ledger.states.get(address)
        if account.rules.state is not None and state is not None:
            return _placed(state, address)
        if str(address) in ids.TOKEN_PROGRAMS:
            return _placed(words.TokenInterface(), address)
        if str(address) == ids.ASSOCIATED_TOKEN_PROGRAM:
            return _placed(words.AssociatedTokenProgram(), address)
        if str(address) == words.Instructions.mcpsol_address:
            return TransactionView(address, (*self.before, self._own()))
        return _View(address, self.ledger, self.simulator.reader)

    def _own(self) -> OtherInstruction:
        """Return the call as an instruction of its transaction."""
        data = self.simulator.encoded_arguments(self.ix, self.given.arguments)
        return OtherInstruction(self.simulator.address, data)

    def clock(self) -> ClockTime:
        return self.simulator.time

    def emit(self, event: object) -> None:
        self.events.append(event)

    def call_program(self, program: object, name: str, parts: dict[str, Any]) -> None:
        values = {
            key: part for key, part in parts.items() if isinstance(part, numbers.Number)
        }
        roles = {key: part.address for key, part in parts.items() if key not in values}
        TOKEN_CALLS[name](self.ledger, roles, **values)

    # --- what bodies ask about accounts

    def is_kind(
        self, account: Any, kind: Literal["account", "mint"], program: Any
    ) -> bool:
        found = self.ledger.token_data(account.address)
        wanted = TokenState if kind == "account" else MintState
        return isinstance(found, wanted) and found.program == program.address

    def is_new(self, account: Any) -> bool:
        has_data = len(self.simulator.reader.data(self.ledger, account.address))
        return not has_data and self.is_owned(account, SYSTEM_PROGRAM)

    def is_owned(self, account: Any, program: Pubkey) -> bool:
        return self.given.owner_of(account.address) == program

    def find_program_address(self, seeds: list[Any], program: Pubkey) -> Pubkey:
        parts = [bytes_of(seed) for seed in seeds]
        found, _ = Key.find_program_address(parts, Key(bytes(program)))
        return Pubkey(bytes(found))

    def is_on_curve(self, address: Pubkey) -> bool:
        return Key(bytes(address)).is_on_curve()

    def list_bytes(self, items: list[Any]) -> bytes:
        return len(items).to_bytes(4, "little") + b"".join(map(self._item_bytes, items))

    def _item_bytes(self, item: Any) -> bytes:
        """Return an item of a list as it is in an instruction's data."""
        match item:
            case words.Struct():
                name = type(item).__name__
            case words.Variant():
                name = item.name.partition(".")[0]
            case _:
                return bytes_of(item)
        return self.simulator.spec.types.codec(Link(name)).encode(json_form(item))

    def extensions(self, account: Any) -> Iterator[Extension]:
        found = self.ledger.token_data(account.address)
        return read_extensions(b"" if found is None else found.extensions)


def _placed(value: object, address: Pubkey) -> object:
    """Give state or a program its address for as long as the body runs."""
    vars(value)["address"] = address
    return value


class _View:
    """An account that holds no state of the program."""

    def __init__(self, address: Pubkey, ledger: Ledger, reader: AccountReader) -> None:
        self.address = address
        self._ledger = ledger
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        """Return a field of the token account or the mint that it is."""
        found = self._ledger.token_data(self.address)
        if found is None:  # the body has closed it
            raise CheckFailure("AccountDidNotDeserialize")
        return getattr(found, name)

    @property
    def data(self) -> Data:
        return self._reader.data(self._ledger, self.address)

    @property
    def program(self) -> Pubkey:
        return self._ledger.owner(self.address)


# --- values --------------------------------------------------------------------------------------


def _whole(value: Any) -> int:
    """Return a number that has no fraction. Raises TypeError."""
    if isinstance(value, float):
        raise TypeError(f"expected a whole number, got {value}")
    return int(value)


def _exactly(value: bytes, size: int | None) -> bytes:
    """Return bytes of a fixed length. Raises ValueError."""
    if len(value) != size:
        raise ValueError(f"expected {size} bytes, got {len(value)}")
    return value


def _address(value: Address) -> Pubkey:
    return value if isinstance(value, Pubkey) else Pubkey(value)


_ZEROS: dict[type, Any] = {Int: 0, Bool: False, PubkeyType: Pubkey(bytes(32))}
