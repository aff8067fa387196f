"""An Anchor instruction's accounts, which both of Anchor's IDL forms write nearly alike: groups,
flags and PDAs.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, filterfalse
from typing import Any, Literal, NamedTuple, TypeAlias

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.items import names_of
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
from mcpsol_py.model.seed_types import is_plain
from mcpsol_py.model.types import Type
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.sources.idl_types import TypeReader
from mcpsol_py.sources.reader import (
    check_kind,
    expected,
    kind_of,
    matching_name,
    named_objects,
)
from mcpsol_py.sources.seed_constants import constant_seed_bytes

__all__ = ["MAX_GROUPS", "AccountReader", "AccountScope"]

MAX_GROUPS = 16
MAX_SEEDS = 64


SeedEncoding: TypeAlias = Literal["be", "utf8"]


class AccountScope:
    """The accounts that a seed's path can name: those of its own list, then those around its group."""

    __slots__ = ("_by_name", "items", "outer", "prefix")

    def __init__(
        self, items: list[Any], prefix: tuple[str, ...], outer: AccountScope | None
    ) -> None:
        self.items, self.prefix, self.outer = items, prefix, outer
        #: indexed for the first seed, since most instructions have none
        self._by_name: dict[str, dict[str, Any]] | None = None

    def locate(self, steps: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Split a dotted path into the account's path from the instruction and the field within its
        data.
        """
        scope: AccountScope | None = self
        while scope is not None:
            found = scope._locate_here(steps)
            if found is not None:
                return found
            scope = scope.outer
        return (steps[0],), tuple(steps[1:])

    def _locate_here(
        self, steps: list[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        if self._by_name is None:
            self._by_name = _by_name(self.items)
        known, path = self._by_name, self.prefix
        for taken, step in enumerate(steps, 1):
            name = matching_name(step, known)
            if name is None:
                return None
            path = (*path, name)
            inner = known[name].get("accounts")
            if type(inner) is not list:
                return path, tuple(steps[taken:])
            known = _by_name(inner)
        return None


def _by_name(items: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the items by their names. If two have the same name, the first one counts."""
    return {item["name"]: item for item in reversed(named_objects(items))}


class _PathSeed(NamedTuple):
    """The parts that argument and account seeds share."""

    steps: list[str]
    type: Type | None
    encoding: SeedEncoding | None


class AccountReader(TypeReader):
    """Reads account lists. Subclasses name the keys that their form uses."""

    #: the keys of each flag; the first one is this form's own spelling
    writable_keys: tuple[str, ...] = ("writable",)
    signer_keys: tuple[str, ...] = ("signer",)
    optional_keys: tuple[str, ...] = ("optional",)
    account_keys: frozenset[str] = frozenset()
    #: the keys of an account that has only a name and flags
    plain_keys: frozenset[str] = frozenset()
    #: the arguments of the instruction that is being read, as the document writes them
    args: Any = None

    def account_items(
        self,
        owner: dict[str, Any],
        prefix: tuple[str, ...] = (),
        outer: AccountScope | None = None,
    ) -> tuple[AccountItem, ...]:
        """Read owner["accounts"]; groups stay groups."""
        if not prefix:
            self.args = owner.get("args")
        if len(prefix) > MAX_GROUPS and owner.get("accounts"):
            raise SourceError(
                f"account groups nest deeper than {MAX_GROUPS} levels.", path="accounts"
            )
        scope = AccountScope(owner.get("accounts", []), prefix, outer)
        out = self.each(owner, "accounts", lambda item: self.account(item, scope))
        return self._with_unique_names(out, prefix)

    def _with_unique_names(
        self, items: tuple[AccountItem, ...], prefix: tuple[str, ...]
    ) -> tuple[AccountItem, ...]:
        """Rename a second "authority" to "authority_2".

        Anchor's clients take accounts by name and give both the same address, so that address is
        the default here.
        """
        names = set(names_of(items))
        if len(names) == len(items):
            return items
        out: list[AccountItem] = []
        seen: set[str] = set()
        for i, item in enumerate(items):
            if item.name in seen:
                name = _unused_name(item.name, seen | names)
                self._note_renamed(item, name, f"accounts[{i}]")
                item = _renamed(item, name, prefix)
            seen.add(item.name)
            out.append(item)
        return tuple(out)

    def _note_renamed(self, item: AccountItem, name: str, path: str) -> None:
        what = "group" if isinstance(item, AccountGroup) else "account"
        message = f"a second {what} is named {abbr(item.name, 60)}; it is {abbr(name, 60)} here"
        self.note(message, path)

    def _arg_name(self, name: str) -> str:
        """Return the argument of the instruction that a seed's path means."""
        known = [arg["name"] for arg in named_objects(self.args)]
        return matching_name(name, known) or name

    def account(self, item: dict[str, Any], scope: AccountScope) -> AccountItem:
        """Read one account or group."""
        name = self.name(item)
        # Two accounts in three have only a name and flags.
        if self.plain_keys.issuperset(item):
            writable = item.get(self.writable_keys[0], False)
            signer = item.get(self.signer_keys[0], False)
            if type(writable) is type(signer) is bool:
                return Account(name, writable, signer)
        docs = self.docs(item) if "docs" in item else ()
        if "accounts" in item:
            return AccountGroup(
                name, self.account_items(item, (*scope.prefix, name), scope), docs
            )
        return self._detailed_account(item, scope, name, docs)

    def _detailed_account(
        self,
        item: dict[str, Any],
        scope: AccountScope,
        name: str,
        docs: tuple[str, ...],
    ) -> Account:
        """Read an account that has more than a name and flags."""
        if not self.account_keys.issuperset(item):
            self.surplus(item, self.account_keys, f"account {name!r}")
        if "desc" in item and not docs:
            docs = (self.text(item, "desc"),)
        writable = self.first_flag(item, self.writable_keys)
        signer = self.first_flag(item, self.signer_keys)
        address, pda = item.get("address"), item.get("pda")
        if address is not None:
            address = self.address(address, f"account {name!r}")
        if pda is not None:
            pda = self.inside("pda", lambda value: self.pda(value, scope), pda)
        return Account(
            name,
            writable,
            signer,
            self.flag(item, *self.optional_keys),
            address,
            pda,
            self._relations(item) if "relations" in item else (),
            None,
            docs,
        )

    def first_flag(self, item: dict[str, Any], keys: tuple[str, ...]) -> bool:
        """Read a flag that has two spellings: the first of *keys* that is given counts."""
        for key in keys:
            value = item.get(key)
            if type(value) is bool:
                return value
            if value is not None:
                raise expected("true or false", value, path=key)
        return False

    def _relations(self, item: dict[str, Any]) -> tuple[str, ...]:
        values = item.get("relations")
        if values is None:
            return ()
        if type(values) is not list or not set(map(type, values)) <= {str}:
            raise expected("a list of account names", values, path="relations")
        return tuple(map(self.clean_name, values))

    # --- PDAs

    def pda(self, value: Any, scope: AccountScope) -> Pda | None:
        """Read {"seeds": […], "program": seed} (legacy: "programId")."""
        if type(value) is not dict:
            message = f"expected an object with seeds, got {kind_of(value)}"
            self.note(f"{message}; callers must give the address")
            return None
        seeds = value.get("seeds")
        if type(seeds) is list and len(seeds) > MAX_SEEDS:
            raise SourceError(
                f"an address has at most 15 seeds and a bump, got {len(seeds)}.",
                path="seeds",
            )
        program = None
        for key in ("program", "programId"):
            if value.get(key) is not None:
                program = self.inside(
                    key, lambda given: self.pda_program(given, scope), value[key]
                )
        return Pda(
            self.each(value, "seeds", lambda seed: self.seed(seed, scope)), program
        )

    def pda_program(self, value: Any, scope: AccountScope) -> Value:
        """Read the program of a PDA.

        If it cannot be read, the address is not derivable. It must never fall back to the program's
        own id, which would derive an address that somebody else may control.
        """
        check_kind(value, dict, "a seed")
        out = _program_value(self.seed(value, scope))
        if isinstance(out, ResolverValue):
            self.note(f"the address cannot be derived: {out.name}")
        return out

    # --- seeds

    def seed(self, seed: dict[str, Any], scope: AccountScope) -> Seed:
        """Read one seed: {"kind": "const" | "arg" | "account", …}."""
        kind = seed.get("kind")
        match kind:
            case "const":
                return self._const_or_unknown(seed)
            case "arg":
                return self._arg_seed(seed)
            case "account":
                return self._account_seed(seed, scope)
        return self.unknown_seed(f"unknown kind of seed: {abbr(kind, 40)}", "kind")

    def unknown_seed(self, why: str, path: str) -> UnknownSeed:
        """Record why a seed cannot be read."""
        self.note(why, path, "error")
        return UnknownSeed(why)

    def _const_or_unknown(self, seed: dict[str, Any]) -> Seed:
        try:
            return self.const_seed(seed)
        except SourceError as error:
            return self.unknown_seed(error.text, error.path)

    def _arg_seed(self, seed: dict[str, Any]) -> Seed:
        parts = self._path_seed(seed)
        if isinstance(parts, UnknownSeed):
            return parts
        first, *rest = parts.steps
        return ArgSeed((self._arg_name(first), *rest), parts.type, parts.encoding)

    def _account_seed(self, seed: dict[str, Any], scope: AccountScope) -> Seed:
        parts = self._path_seed(seed)
        if isinstance(parts, UnknownSeed):
            return parts
        account, field = scope.locate(parts.steps)
        of = seed.get("account")
        account_type = self.clean_name(of) if type(of) is str else None
        return AccountSeed(account, field, account_type, parts.type, parts.encoding)

    def _path_seed(self, seed: dict[str, Any]) -> _PathSeed | UnknownSeed:
        path = seed.get("path")
        if type(path) is not str or not path:
            raise expected("a path", path, path="path")
        steps = list(map(self.clean_name, path.split(".")))
        node = self.type(seed["type"]) if "type" in seed else None
        if node is not None and not is_plain(node):
            node = None  # it is the type of the whole argument, which says nothing of the seed
        encoding = seed.get("encoding")  # as proposed for Anchor (anchor#4735)
        if encoding not in (None, "be", "utf8"):
            return self.unknown_seed(
                f"unknown encoding of a seed: {abbr(encoding, 40)}", "encoding"
            )
        return _PathSeed(steps, node, encoding)

    def const_seed(self, seed: dict[str, Any]) -> ConstSeed:
        """Read a constant seed: bytes in 0.1.0, a typed value in the legacy form."""
        value = seed.get("value")
        if "type" in seed:
            return ConstSeed(
                self.inside("value", lambda v: self.typed_seed(v, seed["type"]), value)
            )
        if type(value) is str:
            return ConstSeed(value.encode())
        return ConstSeed(self.inside("value", self.bytes_of, value))

    def typed_seed(self, value: Any, written: Any) -> bytes:
        """Return the bytes of a constant seed of the type that *written* is."""
        return constant_seed_bytes(self, self.type(written), value)


def _program_value(seed: Seed) -> Value:
    """Return the program that a seed writes; a ResolverValue says why it is unknown."""
    match seed:
        case ConstSeed(data) if len(data) == 32:
            return ConstValue(b58encode(data))
        case ConstSeed(data):
            return ResolverValue(f"its program has {len(data)} bytes instead of 32")
        case ArgSeed(path=path):
            return ArgValue(path)
        case AccountSeed(account=account, field=field, account_type=account_type):
            return AccountValue(account, field, account_type)
        case UnknownSeed(why):
            return ResolverValue(why)
    return ResolverValue("its program is unknown")


def _unused_name(name: str, taken: set[str]) -> str:
    candidates = (f"{name}_{number}" for number in count(2))
    return next(filterfalse(taken.__contains__, candidates))


def _renamed(item: AccountItem, name: str, prefix: tuple[str, ...]) -> AccountItem:
    if (
        isinstance(item, AccountGroup)
        or item.address is not None
        or item.pda is not None
    ):
        return replace(item, name=name)
    default = item.default or AccountValue((*prefix, item.name))
    return replace(item, name=name, default=default)
