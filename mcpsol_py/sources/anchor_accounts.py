"""An Anchor instruction's accounts, which both of its IDL forms write nearly alike: groups, flags, PDAs and what
seeds refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConstSeed,
    ConstValue,
    Pda,
    ResolverValue,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.types import Array, Bool, Float, Int, Link, Pubkey, SizePrefixed, Type
from mcpsol_py.names import snake
from mcpsol_py.solana.base58 import b58decode, b58encode, is_address
from mcpsol_py.sources.idl_types import TypeReader
from mcpsol_py.sources.reader import MAX_NAME, kind_of

__all__ = ["MAX_GROUPS", "AccountReader", "spelled"]

MAX_GROUPS = 16
MAX_SEEDS = 64


class Scope:
    """The accounts that a seed's path can name: those beside it, then those around its group."""

    __slots__ = ("items", "outer", "prefix")

    def __init__(self, items: list[Any], prefix: tuple[str, ...], outer: Scope | None) -> None:
        self.items, self.prefix, self.outer = items, prefix, outer

    def locate(self, steps: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Splits a dotted path into the account's path from the instruction and the field within its data."""
        scope: Scope | None = self
        while scope is not None:
            items, path = scope.items, scope.prefix
            for taken, step in enumerate(steps, 1):
                item = _named(items, step)
                if item is None:
                    break
                path = (*path, item["name"])
                inner = item.get("accounts")
                if type(inner) is not list:
                    return path, tuple(steps[taken:])
                items = inner
            scope = scope.outer
        return (steps[0],), tuple(steps[1:])


def _named(items: list[Any], name: str) -> dict[str, Any] | None:
    """The item of that name; else the one whose name is another spelling of it (`spelled`)."""
    for item in items:
        if type(item) is dict and item.get("name") == name:
            return item
    known = {i["name"]: i for i in items if type(i) is dict and type(i.get("name")) is str}
    other = spelled(name, known)
    return None if other is None else known[other]


def spelled(name: str, known: Iterable[str]) -> str | None:
    """The one of *known* that is *name* in another spelling: IDL builders wrote seeds as in Rust beside names in
    camelCase, and `#[instruction(id)]` beside the handler's `_id`. None where none is, or several are."""
    wanted = snake(name)
    found = [k for k in known if snake(k) == wanted]
    return found[0] if len(found) == 1 else None


class AccountReader(TypeReader):
    """Reads account lists. Subclasses name the keys that their form uses."""

    #: keys that say so, in this form's spelling first
    writable_keys: tuple[str, ...] = ("writable",)
    signer_keys: tuple[str, ...] = ("signer",)
    optional_keys: tuple[str, ...] = ("optional",)
    account_keys: frozenset[str] = frozenset()
    #: the arguments of the instruction whose accounts are being read, as it writes them
    args: Any = None

    def account_items(
        self, owner: dict[str, Any], prefix: tuple[str, ...] = (), outer: Scope | None = None
    ) -> tuple[AccountItem, ...]:
        """owner["accounts"], groups kept as groups."""
        items = owner.get("accounts")
        if not items:
            if items is not None and type(items) is not list:
                raise SourceError(
                    f"found {kind_of(items)} where a list must stand.", path="accounts"
                )
            return ()
        if len(prefix) > MAX_GROUPS:
            raise SourceError(
                f"account groups nest deeper than {MAX_GROUPS} levels.", path="accounts"
            )
        scope = Scope(items, prefix, outer)
        if not prefix:
            self.args = owner.get("args")
        read: Callable[[dict[str, Any]], AccountItem] = lambda item: self.account(item, scope)  # noqa: E731 (binds the scope)
        out = self.each(owner, "accounts", read)
        names = {item.name for item in out}
        return out if len(names) == len(out) else self._apart(out, names, prefix)

    def _apart(
        self, items: tuple[AccountItem, ...], names: set[str], prefix: tuple[str, ...]
    ) -> tuple[AccountItem, ...]:
        """*items* with names of their own: a second "authority" becomes "authority_2". Anchor's clients, which take
        accounts by name, give both the one address; here that is its default."""
        out: list[AccountItem] = []
        seen: set[str] = set()
        for i, item in enumerate(items):
            name, number = item.name, 1
            while name in seen or (number > 1 and name in names):
                number += 1
                name = f"{item.name}_{number}"
            seen.add(name)
            if number > 1:
                what = "a group" if isinstance(item, AccountGroup) else "an account"
                self.note(
                    f"{what} named {abbr(item.name, 60)} again; called {abbr(name, 60)} here",
                    f"accounts[{i}]",
                )
                more: dict[str, Any] = {"name": name}
                if isinstance(item, Account) and item.address is None and item.pda is None:
                    more["default"] = item.default or AccountValue((*prefix, item.name))
                item = replace(item, **more)
            out.append(item)
        return tuple(out)

    def _arg_name(self, name: str) -> str:
        """The argument of the instruction that a seed's path means."""
        args = self.args if type(self.args) is list else []
        known = [a["name"] for a in args if type(a) is dict and type(a.get("name")) is str]
        return name if name in known else spelled(name, known) or name

    def account(self, item: dict[str, Any], scope: Scope) -> AccountItem:
        """One account, or one group of them."""
        get = item.get
        name = get("name")
        if type(name) is not str or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
            name = self.name(item)
        docs = self.docs(item) if "docs" in item else ()
        if "accounts" in item:
            return AccountGroup(name, self.account_items(item, (*scope.prefix, name), scope), docs)
        if not self.account_keys.issuperset(item):
            self.surplus(item, self.account_keys, f"account {name!r}")
        if "desc" in item and not docs:
            docs = (self.text(item, "desc"),)
        writable, signer = get(self.writable_keys[0]), get(self.signer_keys[0])
        if writable is not True and writable is not False:
            writable = self.flag(item, *self.writable_keys)
        if signer is not True and signer is not False:
            signer = self.flag(item, *self.signer_keys)
        address = get("address")
        if address is not None:
            address = self.address(address, f"account {name!r}")
        pda = get("pda")
        return Account(
            name,
            writable,
            signer,
            self.flag(item, *self.optional_keys),
            address,
            None if pda is None else self.inside("pda", lambda value: self.pda(value, scope), pda),
            self._relations(item) if "relations" in item else (),
            None,
            docs,
        )

    def _relations(self, item: dict[str, Any]) -> tuple[str, ...]:
        values = item["relations"]
        if values is None:
            return ()
        if type(values) is list and all(type(v) is str for v in values):
            return tuple([self.clean_name(v) for v in values])
        raise SourceError(
            f"found {kind_of(values)} where a list of account names must stand.", path="relations"
        )

    # --- PDAs

    def pda(self, value: Any, scope: Scope) -> Pda | None:
        """{"seeds": […], "program": seed} (legacy: "programId")."""
        if type(value) is not dict:
            self.note(
                f"found {kind_of(value)} where an object with seeds must stand; its address must be given"
            )
            return None
        seeds = value.get("seeds")
        if type(seeds) is list and len(seeds) > MAX_SEEDS:
            raise SourceError(
                f"{len(seeds)} seeds; an address has at most 15 and a bump.", path="seeds"
            )
        program = None
        for key in ("program", "programId"):
            if value.get(key) is not None:
                program = self.inside(key, lambda given: self.pda_program(given, scope), value[key])
        return Pda(self.each(value, "seeds", lambda seed: self.seed(seed, scope)), program)

    def pda_program(self, value: Any, scope: Scope) -> Value:
        """The program of a PDA. What cannot be read is never taken for the program's own id (FIELD-NOTES C-29)."""
        if type(value) is not dict:
            self.wrong(value, "a seed")
        seed = self.seed(value, scope)
        match seed:
            case ConstSeed(data) if len(data) == 32:
                return ConstValue(b58encode(data))
            case ArgSeed(path=path):
                return ArgValue(path)
            case AccountSeed(account=account, field=field, account_type=account_type):
                return AccountValue(account, field, account_type)
            case ConstSeed(data):
                why = f"its program is {len(data)} bytes, not 32"
            case UnknownSeed(why):
                pass
            case _:
                why = "its program is not known"
        self.note(f"the address cannot be derived: {why}")
        return ResolverValue(why)

    def seed(self, seed: dict[str, Any], scope: Scope) -> Seed:
        """One seed: {"kind": "const" | "arg" | "account", …}."""
        kind = seed.get("kind")
        if kind == "const":
            try:
                return self.const_seed(seed)
            except SourceError as error:
                self.note(error.text, error.path, "error")
                return UnknownSeed(error.text)
        if kind in ("arg", "account"):
            path = seed.get("path")
            if type(path) is not str or not path:
                raise SourceError(f"found {kind_of(path)} where a path must stand.", path="path")
            steps = [self.clean_name(step) for step in path.split(".")]
            node = self.type(seed["type"]) if "type" in seed else None
            encoding = seed.get("encoding")  # as proposed for Anchor (anchor#4735)
            if encoding not in (None, "be", "utf8"):
                why = f"a seed of encoding {abbr(encoding, 40)}, which this reader does not know"
                self.note(why, "encoding", "error")
                return UnknownSeed(why)
            if kind == "arg":
                if len(steps) > 1 and isinstance(node, Link):
                    node = None  # IDL builders before 0.30 wrote the whole argument's type beside a path into it
                return ArgSeed((self._arg_name(steps[0]), *steps[1:]), node, encoding)
            account, field = scope.locate(steps)
            of = seed.get("account")
            return AccountSeed(
                account, field, self.clean_name(of) if type(of) is str else None, node, encoding
            )
        why = f"a seed of kind {abbr(kind, 40)}, which this reader does not know"
        self.note(why, "kind", "error")
        return UnknownSeed(why)

    def const_seed(self, seed: dict[str, Any]) -> ConstSeed:
        """A constant: bytes in 0.1.0, a typed value in the legacy form."""
        value = seed.get("value")
        if "type" not in seed:
            if type(value) is str:
                return ConstSeed(value.encode())
            return ConstSeed(self.inside("value", self.bytes_of, value))
        return ConstSeed(
            self.inside("value", lambda v: self._typed(v, self.type(seed["type"])), value)
        )

    def _typed(self, value: Any, node: Type) -> bytes:
        match node:
            case SizePrefixed() if type(value) is str:
                return value.encode()
            case SizePrefixed() | Array():
                if (
                    isinstance(node, Array)
                    and isinstance(node.item, Int)
                    and node.item.bits > 8
                    and type(value) is list
                ):
                    return b"".join(self._typed(v, node.item) for v in value[:64])
                return self.bytes_of(value)
            case Pubkey():
                if type(value) is str:
                    if is_address(value):
                        return b58decode(value)
                else:
                    return self.bytes_of(value)
            case Bool() if type(value) is bool:
                return bytes([value])
            case Int(bits, signed, _):
                if type(value) is str and value.lstrip("-").isdigit() and len(value) < 90:
                    value = int(value)
                if type(value) is int:
                    try:
                        return value.to_bytes(bits // 8, "little", signed=signed)
                    except OverflowError:
                        raise SourceError(
                            f"the number {abbr(value, 40)} does not fit the seed's type."
                        ) from None
            case Float():
                pass
            case _:
                pass
        raise SourceError(
            f"found {kind_of(value)} as a constant seed, which does not fit its type."
        )
