"""The overlay of one instruction's accounts: their addresses, flags, seeds and encodings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

from mcpsol_py.errors import SourceError, UnresolvedName, abbr
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
    Instruction,
    Pda,
    PdaValue,
    ProgramIdSeed,
    Seed,
    Value,
)
from mcpsol_py.names import snake
from mcpsol_py.sources.overlay_values import (
    address_value,
    bytes_value,
    check_keys,
    encoding_value,
    list_value,
    matching,
    table_value,
    text_value,
)
from mcpsol_py.sources.reader import expected, kind_of

__all__ = ["AccountEntries", "InstructionOverlay", "leaf_paths"]

AccountPath: TypeAlias = tuple[str, ...]

_ACCOUNT_KEYS = ("seeds", "encodings", "program", "optional", "address")


class AccountEntries(NamedTuple):
    """The account entries of one instruction, by name, and the path of the instruction in the
    overlay.
    """

    path: str
    accounts: Mapping[str, Any]


class _Entry(NamedTuple):
    path: str
    table: Mapping[str, Any]


def leaf_paths(
    items: tuple[AccountItem, ...], prefix: AccountPath = ()
) -> Iterator[AccountPath]:
    """Yield the path of each account, including those in groups."""
    for item in items:
        path = (*prefix, item.name)
        if isinstance(item, AccountGroup):
            yield from leaf_paths(item.accounts, path)
        else:
            yield path


class InstructionOverlay:
    """Applies the entries of one instruction, and those for all instructions.

    `results` collects, for each entry for all instructions, None if it fitted an account or the
    error if it did not.
    """

    def __init__(
        self,
        ix: Instruction,
        entries: AccountEntries,
        everywhere: Mapping[str, Any],
        results: dict[str, SourceError | None],
    ) -> None:
        self.ix, self.results = ix, results
        self.paths = list(leaf_paths(ix.accounts))
        self.args = names_of(ix.args)
        self.entries: dict[AccountPath, _Entry] = {}
        for name, entry in entries.accounts.items():
            path = f"{entries.path}.accounts.{name}"
            self.entries[self.account(name, path)] = _Entry(
                path, table_value(entry, path)
            )
        self.everywhere = {
            snake(name): (name, entry) for name, entry in everywhere.items()
        }

    def apply(self) -> Instruction:
        if not self.entries and not self.everywhere:
            return self.ix
        accounts = self._items(self.ix.accounts, ())
        return (
            self.ix
            if accounts == self.ix.accounts
            else replace(self.ix, accounts=accounts)
        )

    def _items(
        self, items: tuple[AccountItem, ...], prefix: AccountPath
    ) -> tuple[AccountItem, ...]:
        out: list[AccountItem] = []
        for item in items:
            path = (*prefix, item.name)
            if isinstance(item, AccountGroup):
                out.append(replace(item, accounts=self._items(item.accounts, path)))
            else:
                out.append(self._account(item, path))
        return tuple(out)

    def _account(self, account: Account, path: AccountPath) -> Account:
        """Apply the account's own entry, or else the entry for all instructions."""
        own, common = self.entries.get(path), self.everywhere.get(snake(account.name))
        if own is None:
            return (
                account if common is None else self._change_if_it_fits(account, *common)
            )
        if common is not None:
            self.results[common[0]] = None
        return self.change(account, own)

    def _change_if_it_fits(self, account: Account, name: str, entry: Any) -> Account:
        """Apply an entry for all instructions.

        An account with that name may lack the seeds or arguments that another one has, so the entry
        only has to fit one of them.
        """
        path = f"accounts.{name}"
        try:
            changed = self.change(account, _Entry(path, table_value(entry, path)))
        except SourceError as error:
            self.results.setdefault(name, error)
            return account
        self.results[name] = None
        return changed

    # --- one account

    def change(self, account: Account, entry: _Entry) -> Account:
        """Return *account* with the changes of *entry*. Raises SourceError."""
        path, table = entry
        check_keys(table, _ACCOUNT_KEYS, path)
        if "address" in table:
            address = address_value(table["address"], f"{path}.address")
            account = replace(account, address=address, default=None)
        if "optional" in table:
            optional = table["optional"]
            if not isinstance(optional, bool):
                raise expected("true or false", optional, path=f"{path}.optional")
            account = replace(account, optional=optional)
        pda = _pda_of(account)
        changed = self._change_pda(pda, entry)
        if changed is pda:
            return account
        default = None if isinstance(account.default, PdaValue) else account.default
        return replace(account, pda=changed, default=default)

    def _change_pda(self, pda: Pda | None, entry: _Entry) -> Pda | None:
        path, table = entry
        if "seeds" in table:
            seeds = self._seeds(table["seeds"], f"{path}.seeds")
            pda = replace(pda, seeds=seeds, bump=None) if pda else Pda(seeds)
        if "encodings" in table:
            encodings = table_value(table["encodings"], f"{path}.encodings")
            pda = self._with_encodings(pda, encodings, f"{path}.encodings")
        if "program" in table:
            if pda is None:
                raise SourceError(
                    "a program needs seeds, and the account has none. Give 'seeds'.",
                    path=f"{path}.program",
                )
            pda = replace(
                pda, program=self._program(table["program"], f"{path}.program")
            )
        return pda

    def _with_encodings(
        self, pda: Pda | None, wanted: Mapping[str, Any], path: str
    ) -> Pda:
        if pda is None:
            raise SourceError(
                "the account has no seeds to encode. Give 'seeds'.", path=path
            )
        left = {snake(name): name for name in wanted}
        seeds: list[Seed] = []
        for seed in pda.seeds:
            if isinstance(seed, (ArgSeed, AccountSeed)):
                key = left.pop(snake(_seed_name(seed)), None)
                if key is not None:
                    encoding = encoding_value(wanted[key], f"{path}.{key}")
                    seed = replace(seed, encoding=encoding)
            seeds.append(seed)
        if left:
            name = next(iter(left.values()))
            have = [
                _seed_name(s)
                for s in pda.seeds
                if isinstance(s, (ArgSeed, AccountSeed))
            ]
            raise UnresolvedName("seed", name, have, path=f"{path}.{name}")
        return replace(pda, seeds=tuple(seeds))

    # --- seeds

    def _seeds(self, value: Any, path: str) -> tuple[Seed, ...]:
        seeds = list_value(value, path)
        return tuple(self.seed(seed, f"{path}[{i}]") for i, seed in enumerate(seeds))

    def seed(self, value: Any, path: str) -> Seed:
        """Read a seed: a table with one of the keys of `_SEEDS`."""
        table = table_value(value, path)
        kinds = [key for key in _SEEDS if key in table]
        if len(kinds) != 1:
            found = ", ".join(kinds) or kind_of(dict(table))
            message = f"expected a seed with one of {', '.join(_SEEDS)}, got {found}."
            raise SourceError(message, path=path)
        kind = kinds[0]
        read, more = _SEEDS[kind]
        check_keys(table, (kind, *more), path)
        return read(self, _Entry(path, table))

    def literal_seed(self, entry: _Entry) -> Seed:
        return ConstSeed(text_value(entry.table, "literal", entry.path).encode())

    def bytes_seed(self, entry: _Entry) -> Seed:
        return ConstSeed(bytes_value(entry.table["bytes"], f"{entry.path}.bytes"))

    def arg_seed(self, entry: _Entry) -> Seed:
        path, table = entry
        encoding = _encoding_of(entry)
        return ArgSeed(
            self.arg(text_value(table, "arg", path), f"{path}.arg"), None, encoding
        )

    def account_seed(self, entry: _Entry) -> Seed:
        path, table = entry
        encoding = _encoding_of(entry)
        account = self.account(text_value(table, "account", path), f"{path}.account")
        field = (
            tuple(text_value(table, "field", path).split("."))
            if "field" in table
            else ()
        )
        of = text_value(table, "type", path) if "type" in table else None
        return AccountSeed(account, field, of, None, encoding)

    def program_id_seed(self, entry: _Entry) -> Seed:
        value = entry.table["program_id"]
        if value is not True:
            raise SourceError(
                f"write program_id = true, not {kind_of(value)}.", path=entry.path
            )
        return ProgramIdSeed()

    def smaller_seed(self, entry: _Entry) -> Seed:
        first, second = self._pair(entry.table["min"], f"{entry.path}.min")
        return AccountSeed(first, sort="min", other=second)

    def greater_seed(self, entry: _Entry) -> Seed:
        first, second = self._pair(entry.table["max"], f"{entry.path}.max")
        return AccountSeed(first, sort="max", other=second)

    def _pair(self, value: Any, path: str) -> tuple[AccountPath, AccountPath]:
        pair = list_value(value, path)
        if len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise expected("two account names", value, path=path)
        return self.account(pair[0], f"{path}[0]"), self.account(pair[1], f"{path}[1]")

    def _program(self, value: Any, path: str) -> Value:
        """Read the program of an address: an address, or {account = …}, or {arg = …}."""
        if isinstance(value, str):
            return ConstValue(address_value(value, path))
        table = table_value(value, path)
        check_keys(table, ("account", "arg"), path)
        if "account" in table:
            account = self.account(
                text_value(table, "account", path), f"{path}.account"
            )
            return AccountValue(account)
        return ArgValue(self.arg(text_value(table, "arg", path), f"{path}.arg"))

    # --- names

    def arg(self, name: str, path: str) -> AccountPath:
        """Return the path of an argument, or of a field in it."""
        first, *rest = name.split(".")
        return (matching(first, self.args, "argument", path), *rest)

    def account(self, name: str, path: str) -> AccountPath:
        """Return the account with a dotted path, or with a last name that only one account has."""
        found = self._paths_named(name)
        if len(found) == 1:
            return found[0]
        if not found:
            raise UnresolvedName(
                "account", name, list(map(".".join, self.paths)), path=path
            )
        some = " and ".join(map(".".join, found[:3]))
        raise SourceError(
            f"{abbr(name, 60)} can be {some}. Write the whole path.", path=path
        )

    def _paths_named(self, name: str) -> list[AccountPath]:
        """Return the accounts with that path, or else those whose path ends in it."""
        wanted = _snake_path(name.split("."))
        ending = [p for p in self.paths if _snake_path(p[-len(wanted) :]) == wanted]
        whole = [p for p in ending if len(p) == len(wanted)]
        return whole or ending


def _snake_path(steps: list[str] | AccountPath) -> AccountPath:
    return tuple(map(snake, steps))


def _pda_of(account: Account) -> Pda | None:
    if account.pda is not None:
        return account.pda
    return account.default.pda if isinstance(account.default, PdaValue) else None


def _seed_name(seed: ArgSeed | AccountSeed) -> str:
    """Return the name by which an overlay refers to a seed."""
    path = seed.path if isinstance(seed, ArgSeed) else (*seed.account, *seed.field)
    return ".".join(path)


def _encoding_of(entry: _Entry) -> Literal["be", "utf8"] | None:
    if "encoding" not in entry.table:
        return None
    return encoding_value(entry.table["encoding"], f"{entry.path}.encoding")


_ReadSeed: TypeAlias = Callable[[InstructionOverlay, _Entry], Seed]

#: Kind of seed -> method and the other keys that it may have.
_SEEDS: dict[str, tuple[_ReadSeed, tuple[str, ...]]] = {
    "literal": (InstructionOverlay.literal_seed, ()),
    "bytes": (InstructionOverlay.bytes_seed, ()),
    "arg": (InstructionOverlay.arg_seed, ("encoding",)),
    "account": (InstructionOverlay.account_seed, ("field", "type", "encoding")),
    "min": (InstructionOverlay.smaller_seed, ()),
    "max": (InstructionOverlay.greater_seed, ()),
    "program_id": (InstructionOverlay.program_id_seed, ()),
}
