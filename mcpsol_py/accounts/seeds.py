"""Derives addresses: turns the seeds of a PDA into bytes and finds the address and bump."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any

from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of, require_address
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.state import read_field
from mcpsol_py.errors import McpsolError, MissingAccount, PdaError
from mcpsol_py.model.program import (
    AccountSeed,
    ArgSeed,
    ConstSeed,
    Pda,
    ProgramIdSeed,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.seed_types import is_plain_seed, why_no_seed
from mcpsol_py.model.types import Array, Int, SizePrefixed, Type
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.solana.pda import find_pda

if TYPE_CHECKING:
    from mcpsol_py.accounts.plan import Plan
    from mcpsol_py.accounts.resolution import Resolution

__all__ = ["derive", "names_itself", "seed_bytes"]


def derive(resolution: Resolution, pda: Pda, leaf: Leaf) -> tuple[Pubkey, int]:
    """Return the address and the bump of *pda*, the address of *leaf*.

    Raises MissingAccount if a seed is unknown, PdaError if it does not fit.
    """
    program = resolution.program_id
    if pda.program is not None:
        program = _owning_program(resolution, pda.program, leaf)
    reader = _SeedReader(resolution, leaf)
    seeds = list(starmap(reader.read, enumerate(pda.seeds, 1)))
    return find_pda(seeds, program, account=reader.path)


def seed_bytes(resolution: Resolution, seed: Seed, leaf: Leaf, place: int) -> bytes:
    """Return the bytes of the seed at *place*, counted from 1, of the address of *leaf*. Raises as `derive`."""
    return _SeedReader(resolution, leaf).read(place, seed)


def names_itself(plan: Plan, seed: AccountSeed, leaf: Leaf) -> bool:
    """Return whether a seed of *leaf* is an address in its own data, such as the authority of a vault."""
    if plan.locate(seed.account, leaf) != leaf.index or seed.encoding is not None:
        return False
    node = plan.walk_type(plan.state_type(seed.account_type or ""), seed.field)
    return isinstance(node, PubkeyType)


def _owning_program(resolution: Resolution, program: Value, leaf: Leaf) -> Pubkey:
    """Return the program of a PDA. If it is unknown, our own program must not take its place."""
    what = "the program that owns the address"
    try:
        value = resolution.value(program, leaf)
    except MissingAccount as error:
        raise resolution.missing(leaf, f"{what}: {error.why}") from error
    value = resolution.require(value, leaf, f"{what} is not given")
    return require_address(value, resolution.plan.instruction.name, leaf.name)


class _SeedReader:
    """Turns the seeds of one account's address into bytes."""

    def __init__(self, resolution: Resolution, leaf: Leaf) -> None:
        self.resolution = resolution
        self.leaf = leaf
        self.path = f"{resolution.plan.instruction.name}.{leaf.name}"

    def read(self, place: int, seed: Seed) -> bytes:
        """Return the bytes of the seed at *place*, counted from 1."""
        return _SEED_READERS[type(seed)](self, seed, f"seed {place}")

    def constant(self, seed: ConstSeed, role: str) -> bytes:
        """Return a seed that is known before the call."""
        return seed.value

    def program_id(self, seed: ProgramIdSeed, role: str) -> bytes:
        """Return the address of the called program."""
        return bytes(self.resolution.program_id)

    def unknown(self, seed: UnknownSeed, role: str) -> bytes:
        """Raise MissingAccount: the source does not say how to make the seed."""
        raise self._missing(f"{role} cannot be derived: {seed.why}")

    def argument(self, seed: ArgSeed, role: str) -> bytes:
        """Return an argument of the call, or the part of one."""
        name = ".".join(seed.path)
        found = self.resolution.arguments.find(seed.path)
        what = f"{role} is the argument {name!r}"
        value = self.resolution.require(
            found.value, self.leaf, f"{what}, which is not given"
        )
        node = self._known_type(
            seed.type or found.type, f"{what}, whose type is not known"
        )
        self._check_plain(seed, node, what)
        return self._encode(
            node, value, seed.encoding, f"{role}, the argument {name!r}"
        )

    def account(self, seed: AccountSeed, role: str) -> bytes:
        """Return the address of another account, or a field of its data."""
        return self._field(seed, role) if seed.field else self._address(seed, role)

    def _address(self, seed: AccountSeed, role: str) -> bytes:
        raw = bytes(self.resolution.address_at(seed.account, self.leaf, role))
        if seed.sort is None:
            return raw
        other = bytes(self.resolution.address_at(seed.other, self.leaf, role))
        return {"min": min, "max": max}[seed.sort](raw, other)

    def _field(self, seed: AccountSeed, role: str) -> bytes:
        wallet = self.resolution.wallet
        if wallet is not None and names_itself(self.resolution.plan, seed, self.leaf):
            # Of all accounts with such an address, the wallet's own.
            return bytes(wallet)
        found = read_field(
            self.resolution,
            seed.account,
            seed.field,
            seed.account_type,
            self.leaf,
            role,
        )
        if found.raw is not None and seed.encoding is None:
            return found.raw
        account, field = ".".join(seed.account), ".".join(seed.field)
        where = f"{role}, the field {field!r} of account {account!r}"
        node = self._known_type(seed.type or found.type, f"{where}, has no known type")
        self._check_plain(
            seed, node, f"{role} is the field {field!r} of account {account!r}"
        )
        return self._encode(node, found.value, seed.encoding, where)

    def _check_plain(self, seed: ArgSeed | AccountSeed, node: Type, what: str) -> None:
        """Raise MissingAccount for a type of which only the program knows the seed. A declared type says it."""
        resolver = self.resolution.plan.codecs.layouts.resolver
        if seed.type is None and not is_plain_seed(resolver, node):
            raise self._missing(f"{what}: {why_no_seed(node)}")

    def _encode(
        self, node: Type, value: Any, encoding: str | None, where: str
    ) -> bytes:
        """Return a value as a seed. Strings, bytes and vecs have no length prefix there."""
        if encoding == "utf8":
            return str(value).encode()
        try:
            bare = self._without_length(node)
            raw = self.resolution.plan.codecs.codec(bare).encode(
                _plain_address(bare, value)
            )
        except McpsolError as error:
            raise PdaError(self.path, f"{where}: {error}") from error
        return self._big_endian(bare, raw, where) if encoding == "be" else raw

    def _without_length(self, node: Type) -> Type:
        resolver = self.resolution.plan.codecs.layouts.resolver
        bare = resolver.target(node)
        while isinstance(bare, SizePrefixed):
            bare = resolver.target(bare.item)
        if isinstance(bare, Array) and not isinstance(bare.count, int):
            return Array(bare.item, None)
        return bare

    def _big_endian(self, node: Type, raw: bytes, where: str) -> bytes:
        if not isinstance(node, Int):
            why = f"{where}: expected a number for a big-endian seed, got another type"
            raise PdaError(self.path, why)
        return raw if node.big_endian else raw[::-1]

    def _known_type(self, node: Type | None, why: str) -> Type:
        if node is None:
            raise self._missing(why)
        return node

    def _missing(self, why: str) -> MissingAccount:
        return self.resolution.missing(self.leaf, why)


_SEED_READERS: Mapping[type[Any], Callable[[_SeedReader, Any, str], bytes]] = {
    ConstSeed: _SeedReader.constant,
    AccountSeed: _SeedReader.account,
    ArgSeed: _SeedReader.argument,
    ProgramIdSeed: _SeedReader.program_id,
    UnknownSeed: _SeedReader.unknown,
}


def _plain_address(node: Type, value: Any) -> Any:
    """Return the address of a key pair that is given for an address."""
    if not isinstance(node, PubkeyType):
        return value
    return address_of(value) or value
