"""A good call of one instruction: what a scenario gives, and the rest made up from what the spec asks for.

Addresses follow from one another (an address from seeds, a field of state from `has_one`), so each is looked up when
it is first needed. Where numbers decide, several are tried: a counter can be closed at zero, and counted down only
above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.sandbox import Call, Outcome, Scene
from mcpsol_py.errors import McpsolError, SourceError
from mcpsol_py.model.program import (
    AccountBumpValue,
    AccountSeed,
    ArgSeed,
    Constraints,
    ConstSeed,
    ConstValue,
    Pda,
    ProgramIdSeed,
    Seed,
)
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Float,
    Int,
    Map,
    Option,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
)
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import find_pda

__all__ = [
    "Baseline",
    "NoBaseline",
    "constraints_of",
    "derive",
    "find_baseline",
    "has_address",
    "made_up",
    "pda_of",
    "seeds_of",
    "token_program_of",
]

#: (each integer argument, each integer of state), in the order in which they are tried
NUMBERS = ((1, 1000), (1, 0), (0, 0), (1, 1), (1000, 1), (0, 1000), (1000, 10**6), (5, 2**32 + 5))
_TOKENS = (str(TOKEN_PROGRAM), str(TOKEN_2022_PROGRAM))


def constraints_of(leaf: Leaf) -> Constraints:
    """What the spec asks of an account."""
    return leaf.account.constraints or Constraints()


class NoBaseline(Exception):
    """No good call was found; the text says what the likeliest one ended in."""


@dataclass
class Baseline:
    """A call that goes through, and the chain as it stands right before it.

    `addresses` by leaf; `values` the fields of state that seeds or `has_one` name, by (leaf, field).
    """

    scene: Scene
    instruction: ProgramInstruction
    args: dict[str, Any]
    addresses: list[Pubkey]
    remaining: list[AccountMeta] = field(default_factory=list)
    before: list[Instruction] = field(default_factory=list)
    #: leaves that are left out (an absent optional account: the program's own id stands there)
    absent: frozenset[int] = frozenset()
    outcome: Outcome = field(default_factory=lambda: Outcome(None, ()))

    @property
    def leaves(self) -> list[Leaf]:
        """The instruction's accounts in order."""
        return self.instruction.plan.leaves

    @property
    def present(self) -> list[Leaf]:
        """Those that this call has."""
        return [leaf for leaf in self.leaves if leaf.index not in self.absent]

    @property
    def data(self) -> bytes:
        """The instruction's data."""
        return bytes(self.instruction.encode(self.args))

    def metas(self, addresses: list[Pubkey] | None = None) -> list[AccountMeta]:
        """The named accounts, as the instruction takes them; at other addresses, if some are given."""
        keys = addresses or self.addresses
        return [
            AccountMeta(keys[leaf.index], leaf.account.signer is True, leaf.account.writable)
            if leaf.index not in self.absent
            else AccountMeta(self.scene.program_id, False, False)
            for leaf in self.leaves
        ]

    def call(
        self, metas: list[AccountMeta] | None = None, data: bytes | None = None
    ) -> Instruction:
        """The call itself; with other accounts or other data, if they are given."""
        return Instruction(
            self.scene.program_id,
            self.data if data is None else data,
            [*(self.metas() if metas is None else metas), *self.remaining],
        )

    def find(self, name: str | None, beside: Leaf) -> Leaf | None:
        """The account that a constraint of *beside* names."""
        if name is None:
            return None
        index = self.instruction.plan.locate(tuple(name.split(".")), beside)
        return None if index is None or index in self.absent else self.leaves[index]

    def account(self, leaf: Leaf) -> Account | None:
        """What stands at a leaf's address before the call."""
        return self.scene.account(self.addresses[leaf.index])

    def fields(self, leaf: Leaf, data: bytes) -> dict[str, Any] | None:
        """The fields of a leaf's state, decoded from *data*; None where they cannot be."""
        state = constraints_of(leaf).state
        if state is None:
            return None
        try:
            return dict(self.scene.program.decode_account(data, state)[1])
        except McpsolError:
            return None

    def derived(
        self, leaf: Leaf, addresses: list[Pubkey], args: dict[str, Any] | None = None
    ) -> tuple[Pubkey, int]:
        """The address that a leaf's seeds give with these addresses (fields of state are read from the chain).

        Raises NoBaseline where they cannot be known."""
        pda = pda_of(leaf, self.instruction)

        def value(path: tuple[str, ...], name: str) -> Any:
            owner = self.leaves[_located(self.instruction, path, leaf)]
            there = self.scene.account(self.addresses[owner.index])
            found = self.fields(owner, bytes(there.data)) if there is not None else None
            if found is None or name not in found:
                raise NoBaseline(
                    f"{leaf.name}: a seed is the field {name!r} of {owner.name}, which holds no state"
                )
            return found[name]

        return derive(
            self.scene,
            self.instruction,
            leaf,
            pda,
            lambda other: addresses[other.index],
            value,
            args or self.args,
        )


def pda_of(leaf: Leaf, instruction: ProgramInstruction) -> Pda:
    """A leaf's seeds; of an associated token account those that the associated token program takes."""
    token = constraints_of(leaf).token
    if token is not None and token.kind == "associated":
        program = token_program_of(leaf, instruction)
        middle: Seed = (
            AccountSeed(program.path) if isinstance(program, Leaf) else ConstSeed(bytes(program))
        )
        seeds = (
            AccountSeed(tuple((token.authority or "").split("."))),
            middle,
            AccountSeed(((token.mint or ""),)),
        )
        return Pda(seeds, ConstValue(str(ASSOCIATED_TOKEN_PROGRAM)))
    assert leaf.account.pda is not None
    return leaf.account.pda


def has_address(leaf: Leaf) -> bool:
    """Is a leaf's address derived?"""
    token = constraints_of(leaf).token
    return leaf.account.pda is not None or (token is not None and token.kind == "associated")


def token_program_of(leaf: Leaf, instruction: ProgramInstruction) -> Leaf | Pubkey:
    """The account of a token account's or mint's program: the one that is named, else the only one there is."""
    token = constraints_of(leaf).token
    plan = instruction.plan
    if token is not None and token.program is not None:
        index = plan.locate((token.program,), leaf)
        if index is not None:
            return plan.leaves[index]
    known = [
        x
        for x in plan.leaves
        if x.account.address in _TOKENS or set(constraints_of(x).one_of) == set(_TOKENS)
    ]
    return known[0] if known else TOKEN_PROGRAM


def _located(instruction: ProgramInstruction, path: tuple[str, ...], leaf: Leaf) -> int:
    index = instruction.plan.locate(path, leaf)
    if index is None:
        raise NoBaseline(
            f"{leaf.name}: a seed is the account {'.'.join(path)!r}, which the instruction does not have"
        )
    return index


def derive(
    scene: Scene,
    instruction: ProgramInstruction,
    leaf: Leaf,
    pda: Pda,
    address: Callable[[Leaf], Pubkey],
    value: Callable[[tuple[str, ...], str], Any],
    args: dict[str, Any],
) -> tuple[Pubkey, int]:
    """The address and bump of a leaf's seeds: *address* of another leaf, *value* of a field of one's state."""
    seeds = seeds_of(scene, instruction, leaf, pda, address, value, args)
    program = scene.program_id
    if isinstance(pda.program, ConstValue):
        text = str(pda.program.value)
        index = instruction.plan.locate((text,), leaf)
        program = (
            Pubkey.from_string(text) if index is None else address(instruction.plan.leaves[index])
        )
    return find_pda(seeds, program, account=f"{instruction.name}.{leaf.name}")


def seeds_of(
    scene: Scene,
    instruction: ProgramInstruction,
    leaf: Leaf,
    pda: Pda,
    address: Callable[[Leaf], Pubkey],
    value: Callable[[tuple[str, ...], str], Any],
    args: dict[str, Any],
) -> list[bytes]:
    """The bytes of each seed."""
    out: list[bytes] = []
    for seed in pda.seeds:
        match seed:
            case ConstSeed(raw):
                out.append(raw)
            case ProgramIdSeed():
                out.append(bytes(scene.program_id))
            case AccountSeed(account=path, field=()):
                out.append(
                    bytes(address(instruction.plan.leaves[_located(instruction, path, leaf)]))
                )
            case AccountSeed(account=path, field=(name, *_), type=node, encoding=encoding):
                out.append(_seed(scene, node, value(path, name), encoding))
            case ArgSeed(path, node, encoding):
                found: Any = args
                for step in path:
                    found = found[step]
                inner = node or instruction.plan.walk_type(Struct(instruction.model.args), path)
                out.append(_seed(scene, inner, found, encoding))
            case _:
                raise NoBaseline(f"{leaf.name}: the spec does not say how its address is derived")
    return out


def _seed(scene: Scene, node: Type | None, value: Any, encoding: str | None) -> bytes:
    if encoding == "utf8":
        return str(value).encode()
    codecs = scene.program.codecs
    bare = codecs.layouts.resolver.target(node) if node is not None else PubkeyType()
    if isinstance(value, str) and not isinstance(bare, PubkeyType):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raw = bytes(codecs.codec(bare).encode(value))
    return raw[::-1] if encoding == "be" and not getattr(bare, "big_endian", False) else raw


# --- making one up ---------------------------------------------------------------------------------------------------


def find_baseline(
    scenes: Callable[[], Scene], name: str, scenario: Callable[[Scene], Call] | None
) -> Baseline:
    """A call of the instruction *name* that goes through, on a chain of its own from *scenes*.

    Raises NoBaseline, SourceError for a scenario that cannot be used.
    """
    first: str | None = None
    for numbers in NUMBERS:
        scene = scenes()
        given = _given(scene, name, scenario)
        try:
            made = _Maker(scene, name, given, numbers).make()
            made.outcome = scene.rehearse([*made.before, made.call()])
        except (NoBaseline, McpsolError) as error:
            first = first or str(error)
            continue
        if made.outcome.ok:
            return made
        first = first or f"{failure_text(made.outcome)}"
        if (
            scenario is not None
            and len(given.args) == len(made.instruction.model.args)
            and not _makes_state(made, given)
        ):
            break  # other numbers would make no other call
    raise NoBaseline(first or "no call was found")


def made_up(scene: Scene, name: str) -> Baseline:
    """A call that is made up, whether it goes through or not."""
    return _Maker(scene, name, Call(), NUMBERS[0]).make()


def failure_text(outcome: Outcome) -> str:
    """What a failed call's log ends in."""
    lines = [
        line
        for line in outcome.logs
        if not line.endswith("compute units") and "invoke [" not in line
    ]
    return " | ".join(lines[-2:]) or str(outcome.error)


def _given(scene: Scene, name: str, scenario: Callable[[Scene], Call] | None) -> Call:
    if scenario is None:
        return Call()
    origin = getattr(getattr(scenario, "__code__", None), "co_filename", "")
    try:
        found = scenario(scene)
    except Exception as error:  # a scenario is the user's code: it may raise anything
        said = (
            str(error)
            if isinstance(error, McpsolError)
            else f"it raised {type(error).__name__}: {error}"
        )
        raise SourceError(said, origin=origin, path=name) from error
    if not isinstance(found, Call):
        raise SourceError(
            f"it returned a value of type {type(found).__name__}; return a Call",
            origin=origin,
            path=name,
        )
    return found


def _makes_state(made: Baseline, given: Call) -> bool:
    collected, _ = made.instruction.plan.collect(given.accounts)
    return any(constraints_of(leaf).state for leaf in made.leaves if leaf.index not in collected)


class _Maker:
    """Makes one call up."""

    def __init__(self, scene: Scene, name: str, given: Call, numbers: tuple[int, int]) -> None:
        self.scene = scene
        self.instruction = scene.program.instruction(name)
        self.plan = self.instruction.plan
        self.given = given
        self.number, self.stored = numbers
        self.resolver = scene.program.codecs.layouts.resolver
        collected, _ = self.plan.collect(given.accounts)
        self.absent = frozenset(i for i, value in collected.items() if value is None)
        self.known: dict[int, Pubkey] = {}
        for index, value in collected.items():
            if value is not None:
                found = address_of(value)
                if found is None:
                    raise SourceError(
                        f"{value!r} is no address", path=f"{name}.{self.plan.leaves[index].name}"
                    )
                if isinstance(value, Keypair):
                    scene.keys[found] = value
                self.known[index] = found
        self.explicit = frozenset(self.known)
        self.bumps: dict[int, int] = {}
        self.values: dict[tuple[int, str], Any] = {}
        self._open: set[object] = set()
        self.args = dict(given.args)
        for arg in self.instruction.model.args:
            if arg.name not in self.args and arg.default is None:
                self.args[arg.name] = self.value(arg.type, self.number, f"{name} {arg.name}")

    def make(self) -> Baseline:
        leaves = [leaf for leaf in self.plan.leaves if leaf.index not in self.absent]
        for leaf in leaves:
            self.address(leaf)
        for name, value in self.instruction.model.arg_values:  # a bump that the caller gives
            if isinstance(value, AccountBumpValue) and name not in self.given.args:
                derived = next(leaf for leaf in self.plan.leaves if leaf.path == value.account)
                self._address(derived)
                self.args[name] = self.bumps.get(derived.index, self.args[name])
        addresses = [self.known.get(leaf.index, self.scene.program_id) for leaf in self.plan.leaves]
        for leaf in sorted(leaves, key=self._order):
            self.fill(leaf)
        return Baseline(
            self.scene,
            self.instruction,
            self.args,
            addresses,
            list(self.given.remaining),
            list(self.given.before),
            self.absent,
        )

    @staticmethod
    def _order(leaf: Leaf) -> int:
        """Mints before what is of them, so that a token account finds its program."""
        token = constraints_of(leaf).token
        return 0 if token is not None and token.kind == "mint" else 1

    # values

    def value(self, node: Type, number: int, label: str) -> Any:
        """A value of a type: *number* for integers, one item of nothing where nothing will do."""
        node = self.resolver.target(node)
        match node:
            case Int(bits, signed, _):
                return min(number, 2 ** (bits - signed) - 1)
            case Amount(inner, _, _) | DateTime(inner):
                return self.value(inner, number, label)
            case ShortU16():
                return min(number, 2**16 - 1)
            case Float():
                return float(number)
            case Bool():
                return True
            case PubkeyType():
                return self.scene.key(label).pubkey()
            case String():
                return "a"
            case Bytes():
                return b""
            case Option():
                return None
            case SizePrefixed(item, _):
                return self.value(item, number, label)
            case Array(item, count):
                if isinstance(count, int):
                    listed = [self.value(item, 1, f"{label} {i}") for i in range(count)]
                    return bytes(listed) if self.resolver.target(item) == Int(8) else listed
                return b"" if self.resolver.target(item) == Int(8) else []
            case Set() | Map():
                return []
            case Tuple(items):
                return [self.value(item, number, f"{label} {i}") for i, item in enumerate(items)]
            case Struct(fields):
                return {f.name: self.value(f.type, number, f"{label} {f.name}") for f in fields}
            case Enum(variants, _):
                chosen = next((v for v in variants if v.payload is None), variants[0])
                if chosen.payload is None:
                    return chosen.name
                return {chosen.name: self.value(chosen.payload, number, label)}
        raise NoBaseline(f"{label}: no value of this type can be made up")

    def field(self, leaf: Leaf, name: str) -> Any:
        """A field of the state that a leaf holds: what has_one, seeds and the bump make it, else made up."""
        key = (leaf.index, name)
        if key not in self.values:
            there = (
                self.scene.account(self.known[leaf.index]) if leaf.index in self.explicit else None
            )
            state = constraints_of(leaf).state
            if there is not None and there.data and state is not None:
                self.values |= {
                    (leaf.index, k): v
                    for k, v in self.scene.program.decode_account(bytes(there.data), state)[
                        1
                    ].items()
                }
            else:
                self.values[key] = self._made_field(leaf, name)
        return self.values[key]

    def _made_field(self, leaf: Leaf, name: str) -> Any:
        c = constraints_of(leaf)
        for field_name, target in c.has_one:
            if field_name == name:
                other = self._find(target, leaf)
                if other is not None:
                    return self.address(other)
        pda = leaf.account.pda
        if pda is not None and pda.bump == name:
            self.address(leaf)
            if leaf.index in self.bumps:
                return self.bumps[leaf.index]
        node = dict(self.state_fields(leaf)).get(name)
        if node is None:
            raise NoBaseline(f"{leaf.name}: its state has no field {name!r}")
        if isinstance(self.resolver.target(node), PubkeyType):
            other = self._find(
                name, leaf
            )  # a field is usually named as the account whose address it keeps
            if (
                other is not None
                and (other.index, "address") not in self._open
                and other.index != leaf.index
            ):
                return self.address(other)
        return self.value(node, self.stored, f"{self.instruction.name} {leaf.name} {name}")

    def state_fields(self, leaf: Leaf) -> Iterator[tuple[str, Type]]:
        """The names and types of the fields of a leaf's state."""
        state = self.plan.state_type(constraints_of(leaf).state or "")
        node = self.resolver.target(state) if state is not None else None
        if not isinstance(node, Struct):
            raise NoBaseline(f"{leaf.name}: its state is no struct")
        yield from ((f.name, f.type) for f in node.fields)

    # addresses

    def _find(self, name: str, beside: Leaf) -> Leaf | None:
        index = self.plan.locate(tuple(name.split(".")), beside)
        return None if index is None or index in self.absent else self.plan.leaves[index]

    def address(self, leaf: Leaf) -> Pubkey:
        if leaf.index not in self.known:
            mark = (leaf.index, "address")
            if mark in self._open:
                raise NoBaseline(f"{leaf.name}: its address is derived from itself")
            self._open.add(mark)
            try:
                self.known[leaf.index] = self._address(leaf)
            finally:
                self._open.discard(mark)
        return self.known[leaf.index]

    def _address(self, leaf: Leaf) -> Pubkey:
        c = constraints_of(leaf)
        if leaf.account.address is not None:
            return Pubkey.from_string(leaf.account.address)
        if c.one_of:
            either = [Pubkey.from_string(text) for text in c.one_of]
            return self.scene.token_program if self.scene.token_program in either else either[0]
        if has_address(leaf):
            pda = pda_of(leaf, self.instruction)

            def field_of(path: tuple[str, ...], name: str) -> Any:
                return self.field(self.plan.leaves[_located(self.instruction, path, leaf)], name)

            found, bump = derive(
                self.scene, self.instruction, leaf, pda, self.address, field_of, self.args
            )
            self.bumps[leaf.index] = bump
            return found
        if c.executable:
            return TOKEN_PROGRAM  # some program; the spec does not say which
        return self.scene.key(f"{self.instruction.name} {leaf.name}").pubkey()

    # contents

    def fill(self, leaf: Leaf) -> None:
        """Puts what the instruction asks for at a leaf's address, unless a scenario gave it or something stands
        there."""
        key, c = self.known[leaf.index], constraints_of(leaf)
        if leaf.index in self.explicit or c.init is not None or self.scene.account(key) is not None:
            return
        if leaf.account.address is not None or c.one_of or c.executable:
            return
        if c.state is not None:
            values = {name: self.field(leaf, name) for name, _ in self.state_fields(leaf)}
            data = self.scene.program.encode_account(c.state, values)
            size = next(
                (a.size for a in self.scene.program.model.accounts if a.name == c.state), None
            )
            self.scene.put(key, data.ljust(size or 0, b"\0"), self.scene.program_id)
        elif c.token is not None:
            self._token(leaf, key)
        elif (of := self._associated_by_hand(leaf)) is not None:
            owner, program, mint = of
            self._mint(mint, program)
            self.scene.tokens(mint, owner, at=key, token_program=program)
        elif c.owner is not None:
            named = self._find(c.owner, leaf) if c.owner else None
            owner = (
                self.scene.program_id
                if not c.owner
                else Pubkey.from_string(c.owner)
                if named is None
                else self.address(named)
            )
            self.scene.put(key, b"", owner, 10**10)
        elif leaf.account.pda is None:
            self.scene.put(key, b"", SYSTEM_PROGRAM, 10**10)

    def _program(self, leaf: Leaf) -> Pubkey:
        found = token_program_of(leaf, self.instruction)
        return self.address(found) if isinstance(found, Leaf) else found

    def _token(self, leaf: Leaf, key: Pubkey) -> None:
        token = constraints_of(leaf).token
        assert token is not None
        program = self._program(leaf)
        authority = None if token.authority is None else self._find(token.authority, leaf)
        if token.kind == "mint":
            owner = None if authority is None else self.address(authority)
            decimals = 6 if token.decimals is None else token.decimals
            self.scene.mint(decimals=decimals, authority=owner, token_program=program, at=key)
            return
        mint = None if token.mint is None else self._find(token.mint, leaf)
        of = self.address(mint) if mint is not None else self._some_mint(program)
        self._mint(of, program)
        wallet = (
            self.scene.wallet(f"{leaf.name} owner").pubkey()
            if authority is None
            else self.address(authority)
        )
        self.scene.tokens(of, wallet, at=key, token_program=program)

    def _some_mint(self, program: Pubkey) -> Pubkey:
        """The mint of a token account that names none: the instruction's, if it has one."""
        for other in self.plan.leaves:
            token = constraints_of(other).token
            if token is not None and token.kind == "mint" and other.index not in self.absent:
                return self.address(other)
        return self.scene.mint(token_program=program)

    def _mint(self, key: Pubkey, program: Pubkey) -> None:
        """A mint at this address, unless there is one; a wallet that was put there by its name alone becomes one."""
        there = self.scene.account(key)
        if there is None or (there.owner == SYSTEM_PROGRAM and not there.data):
            self.scene.mint(token_program=program, at=key)

    def _associated_by_hand(self, leaf: Leaf) -> tuple[Pubkey, Pubkey, Pubkey] | None:
        """(wallet, token program, mint) where seeds spell an associated token account out."""
        pda = leaf.account.pda
        if pda is None or not isinstance(pda.program, ConstValue) or len(pda.seeds) != 3:
            return None
        if str(pda.program.value) != str(ASSOCIATED_TOKEN_PROGRAM):
            return None

        def field_of(path: tuple[str, ...], name: str) -> Any:
            return self.field(self.plan.leaves[_located(self.instruction, path, leaf)], name)

        seeds = seeds_of(self.scene, self.instruction, leaf, pda, self.address, field_of, self.args)
        owner, program, mint = (Pubkey(s) for s in seeds)
        return owner, program, mint
