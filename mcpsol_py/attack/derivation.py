"""Derives the addresses of an instruction's accounts from their seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.sandbox import Scene
from mcpsol_py.model.program import (
    AccountSeed,
    ArgSeed,
    Constraints,
    ConstSeed,
    ConstValue,
    Pda,
    ProgramIdSeed,
    Seed,
)
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.model.types import Struct, Type
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.render.account_lookup import is_token_program
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import find_pda

__all__ = [
    "Derivation",
    "NoBaseline",
    "constraints_of",
    "find_account",
    "has_address",
    "has_fixed_address",
    "is_associated",
    "is_created",
    "is_mint",
    "is_program",
    "is_sysvar",
    "located",
    "must_sign",
    "pda_of",
    "token_program_of",
]


class NoBaseline(Exception):
    """No good call was found; the text gives the error of the likeliest one."""


def constraints_of(leaf: Leaf) -> Constraints:
    """Return the constraints that the spec puts on an account."""
    return leaf.account.rules


def must_sign(leaf: Leaf) -> bool:
    """Must this account sign? False for one that may sign or not."""
    return leaf.account.signer is True


def is_program(leaf: Leaf) -> bool:
    """Must this account be a program?"""
    return constraints_of(leaf).executable


def is_sysvar(leaf: Leaf) -> bool:
    """Must this account be a sysvar?"""
    return bool(constraints_of(leaf).sysvar)


def is_created(leaf: Leaf) -> bool:
    """Does the instruction create this account?"""
    return constraints_of(leaf).init is not None


def is_associated(leaf: Leaf) -> bool:
    """Is this an associated token account?"""
    return constraints_of(leaf).token_kind == "associated"


def is_mint(leaf: Leaf) -> bool:
    """Is this a mint?"""
    return constraints_of(leaf).token_kind == "mint"


def has_address(leaf: Leaf) -> bool:
    """Is the account's address derived from seeds?"""
    return leaf.account.pda is not None or is_associated(leaf)


def has_fixed_address(leaf: Leaf) -> bool:
    """Does the spec list the account's address, or the addresses that it may have?"""
    return leaf.account.address is not None or bool(constraints_of(leaf).one_of)


def pda_of(leaf: Leaf, instruction: ProgramInstruction) -> Pda:
    """Return a leaf's seeds. Those of an associated token account are wallet, token program and mint."""
    token = constraints_of(leaf).token
    if token is None or not is_associated(leaf):
        assert leaf.account.pda is not None
        return leaf.account.pda
    program = token_program_of(leaf, instruction)
    middle: Seed = (
        AccountSeed(program.path)
        if isinstance(program, Leaf)
        else ConstSeed(bytes(program))
    )
    wallet = AccountSeed(tuple((token.authority or "").split(".")))
    mint = AccountSeed((token.mint or "",))
    return Pda((wallet, middle, mint), ConstValue(str(ASSOCIATED_TOKEN_PROGRAM)))


def token_program_of(leaf: Leaf, instruction: ProgramInstruction) -> Leaf | Pubkey:
    """Return the token program of a token account or mint: the account that its spec names, else the
    first token program among the accounts, else the address of SPL Token."""
    token = constraints_of(leaf).token
    plan = instruction.plan
    if token is not None and token.program is not None:
        index = plan.locate((token.program,), leaf)
        if index is not None:
            return plan.leaves[index]
    programs = (leaf for leaf in plan.leaves if is_token_program(leaf.account))
    return next(programs, TOKEN_PROGRAM)


def state_struct(
    program: Program, instruction: ProgramInstruction, leaf: Leaf
) -> Struct | None:
    """Return the type of a leaf's state. None if it has none, or if that is not a struct."""
    state = instruction.plan.state_type(constraints_of(leaf).state or "")
    node = None if state is None else program.codecs.layouts.resolver.target(state)
    return node if isinstance(node, Struct) else None


def find_account(
    instruction: ProgramInstruction,
    name: str | None,
    beside: Leaf,
    absent: Collection[int],
) -> Leaf | None:
    """Return the account that a constraint of *beside* names. None for an account in *absent*."""
    if name is None:
        return None
    index = instruction.plan.locate(tuple(name.split(".")), beside)
    return None if index is None or index in absent else instruction.plan.leaves[index]


def located(instruction: ProgramInstruction, path: tuple[str, ...], leaf: Leaf) -> Leaf:
    """Return the account that a seed of *leaf* names. Raises NoBaseline if it is missing."""
    index = instruction.plan.locate(path, leaf)
    if index is None:
        name = ".".join(path)
        raise NoBaseline(
            f"{leaf.name}: a seed is the account {name!r}, which the instruction does not have"
        )
    return instruction.plan.leaves[index]


@dataclass(frozen=True, slots=True)
class Derivation:
    """Derives addresses for one call.

    `address` returns another account's address. `state_field` takes an account, the name of a field
    of its state and the account whose seeds ask for it, and returns the field's value.
    """

    scene: Scene
    instruction: ProgramInstruction
    args: dict[str, Any]
    address: Callable[[Leaf], Pubkey]
    state_field: Callable[[Leaf, str, Leaf], Any]

    def derive(self, leaf: Leaf) -> tuple[Pubkey, int]:
        """Return a leaf's address and bump. Raises NoBaseline for a seed that is not known."""
        name = f"{self.instruction.name}.{leaf.name}"
        return find_pda(self.seeds(leaf), self.program(leaf), account=name)

    def program(self, leaf: Leaf) -> Pubkey:
        """Return the program that derives a leaf's address."""
        program = pda_of(leaf, self.instruction).program
        if not isinstance(program, ConstValue):
            return self.scene.program_id
        text = str(program.value)
        index = self.instruction.plan.locate((text,), leaf)
        if index is None:
            return Pubkey.from_string(text)
        return self.address(self.instruction.plan.leaves[index])

    def seeds(self, leaf: Leaf) -> list[bytes]:
        """Return the bytes of each seed. Raises NoBaseline for a seed that is not known."""
        return [self._seed(leaf, seed) for seed in pda_of(leaf, self.instruction).seeds]

    def _seed(self, leaf: Leaf, seed: Seed) -> bytes:
        match seed:
            case ConstSeed(raw):
                return raw
            case ProgramIdSeed():
                return bytes(self.scene.program_id)
            case AccountSeed(account=path, field=()):
                return bytes(self.address(located(self.instruction, path, leaf)))
            case AccountSeed(
                account=path, field=(name, *_), type=node, encoding=encoding
            ):
                owner = located(self.instruction, path, leaf)
                return self._encoded(
                    node, self.state_field(owner, name, leaf), encoding
                )
            case ArgSeed():
                return self._argument(seed)
        raise NoBaseline(
            f"{leaf.name}: the spec does not say how its address is derived"
        )

    def _argument(self, seed: ArgSeed) -> bytes:
        value: Any = self.args
        for step in seed.path:
            value = value[step]
        node = seed.type
        if node is None:
            node = self.instruction.plan.walk_type(
                Struct(self.instruction.model.args), seed.path
            )
        return self._encoded(node, value, seed.encoding)

    def _encoded(self, node: Type | None, value: Any, encoding: str | None) -> bytes:
        if encoding == "utf8":
            return str(value).encode()
        codecs = self.scene.program.codecs
        bare = PubkeyType() if node is None else codecs.layouts.resolver.target(node)
        if isinstance(value, str) and not isinstance(bare, PubkeyType):
            return value.encode()
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        raw = bytes(codecs.codec(bare).encode(value))
        orders = encoding, getattr(bare, "big_endian", False)
        return raw[::-1] if orders == ("be", False) else raw
