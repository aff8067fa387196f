"""What the templates place about the accounts of an instruction."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcpsol_py.render.rust import Rust

__all__ = ["AccountsView", "Kept", "SeedsView", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One account: its place in the list, and how the handler sees it."""

    name: Rust
    type: Rust
    build: Rust
    docs: tuple[Rust, ...]
    #: read from the accounts behind the ones that are required
    is_tail: bool
    #: the program's own id means that the account is absent
    is_optional: bool
    #: for an optional account: an Option of it
    if_there: Rust


@dataclass(frozen=True, slots=True)
class SeedsView:
    """The method that gives the handler the seeds of an account, to sign for it."""

    name: Rust
    account: Rust
    count: Rust
    items: tuple[Rust, ...]
    #: the field with the bump of the account's address
    bump: Rust


@dataclass(frozen=True, slots=True)
class Kept:
    """A value that validation computes and the handler's accounts keep: a bump or a seed."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]


@dataclass(slots=True)
class AccountsView:
    """The accounts of one instruction. Statements are finished lines."""

    slots: tuple[Slot, ...]
    pattern: Rust
    has_tail: bool
    needs_some: bool
    takes_rest: bool
    remaining: bool
    remaining_docs: tuple[Rust, ...]
    checks: list[Rust] = field(default_factory=list)
    changes: list[Rust] = field(default_factory=list)
    finish: list[Rust] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    seeds: list[SeedsView] = field(default_factory=list)
    #: what the checks leave open, in words
    unchecked: list[str] = field(default_factory=list)
    uses_args: bool = False
    #: accounts that the program creates itself; associated token accounts are created by their program
    created: int = 0
    #: it creates, closes or derives an account: worth a stack frame of its own
    is_heavy: bool = False
