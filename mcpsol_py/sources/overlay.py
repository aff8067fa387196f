"""The seed overlay: what an IDL cannot say about accounts, from a file beside it (FIELD-NOTES W3).

A TOML or JSON document. Accounts are named under their instruction, or once for every instruction that has them:

```toml
program = "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc"     # optional: refused for any other program

[accounts.tick_array]                                       # in every instruction
encodings = { start_tick_index = "utf8" }                   # change how seeds that the IDL has are written

[instructions.initialize_pool.accounts.lb_pair]             # in one; groups by dotted path
seeds = [
    { literal = "pair" },                                   # text, or bytes = "0x…" or a list of numbers
    { min = ["token_x", "token_y"] },                       # the smaller of two addresses; max: the greater
    { max = ["token_x", "token_y"] },
    { arg = "params.index", encoding = "be" },              # be, utf8 (decimal text), or as the type lies
    { account = "config", field = "owner", type = "Config" },
    { program_id = true },
]
program = "…"                                               # or { account = "…" }, { arg = "…" }
optional = true                                             # also: address = "…"

[[known]]                                                   # addresses that must come out, for `known_addresses`
instruction = "initialize_pool"
account = "lb_pair"
args = { }
accounts = { token_x = "…", token_y = "…" }
address = "…"
```

Names may be written in any case style. What the program does not have is an error that names what it has; an entry
for every instruction must fit one at least."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

from mcpsol_py.errors import SourceError, UnresolvedName, abbr, suggest
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
    ProgramModel,
    Seed,
    Value,
)
from mcpsol_py.names import snake
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.sources.files import load_bytes, parse_json
from mcpsol_py.sources.reader import kind_of

__all__ = ["KnownAddress", "apply_overlay", "known_addresses", "read_overlay"]

Encoding = Literal["be", "utf8"]
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownAddress:
    """An address that the program and its overlay must derive; a test of the overlay."""

    instruction: str
    account: str
    address: str
    args: dict[str, Any]
    accounts: dict[str, Any]


def read_overlay(source: str | PathLike[str] | bytes, origin: str = "") -> dict[str, Any]:
    """The overlay document of a TOML or JSON file (or its bytes). Raises SourceError."""
    data, origin = load_bytes(source, origin)
    if data.lstrip()[:1] == b"{":
        doc = parse_json(data, origin)
        if type(doc) is not dict:
            raise SourceError(f"found {kind_of(doc)}; an overlay is an object.", origin=origin)
        return doc
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise SourceError("the overlay is no UTF-8 text.", origin=origin) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourceError(f"neither TOML nor a JSON object: {error}.", origin=origin) from error


def apply_overlay(model: ProgramModel, doc: Mapping[str, Any], *, origin: str = "") -> ProgramModel:
    """*model* with what *doc* says about its accounts. Raises SourceError with the place in the overlay."""
    try:
        return _Overlay(model, doc).apply()
    except SourceError as error:
        error.at(origin)
        raise


def known_addresses(doc: Mapping[str, Any]) -> tuple[KnownAddress, ...]:
    """The addresses of [[known]], each to be derived and compared. Raises SourceError."""
    out = []
    for i, item in enumerate(_list(doc.get("known", []), "known")):
        path = f"known[{i}]"
        entry = _table(item, path)
        _only(entry, ("instruction", "account", "address", "args", "accounts"), path)
        out.append(
            KnownAddress(
                _text(entry, "instruction", path),
                _text(entry, "account", path),
                _address(entry.get("address"), f"{path}.address"),
                dict(_table(entry.get("args", {}), f"{path}.args")),
                dict(_table(entry.get("accounts", {}), f"{path}.accounts")),
            )
        )
    return tuple(out)


class _Overlay:
    def __init__(self, model: ProgramModel, doc: Mapping[str, Any]) -> None:
        self.model, self.doc = model, doc

    def apply(self) -> ProgramModel:
        doc, model = self.doc, self.model
        _only(doc, ("program", "accounts", "instructions", "known"), "")
        program = doc.get("program")
        if program is not None and model.address is not None and program != model.address:
            raise SourceError(
                f"this overlay is for {abbr(program, 60)}, the program is {model.address}.",
                path="program",
            )
        known_addresses(doc)
        everywhere = _table(doc.get("accounts", {}), "accounts")
        given = _table(doc.get("instructions", {}), "instructions")
        own: dict[str, tuple[str, Mapping[str, Any]]] = {}
        names = [ix.name for ix in model.instructions]
        for name, entry in given.items():
            path = f"instructions.{name}"
            table = _table(entry, path)
            _only(table, ("accounts",), path)
            own[_find(name, names, "instruction", path)] = (
                path,
                _table(table.get("accounts", {}), f"{path}.accounts"),
            )
        used: dict[str, SourceError | None] = {}
        instructions = []
        for ix in model.instructions:
            path, entries = own.get(ix.name, ("", {}))
            instructions.append(_Accounts(self, ix, path, entries, everywhere, used).apply())
        for failure in used.values():
            if failure is not None:
                raise failure
        unused = [name for name in everywhere if name not in used]
        if unused:
            leaves = dict.fromkeys(
                path[-1] for ix in model.instructions for path, _ in _leaves(ix.accounts)
            )
            raise UnresolvedName("account", unused[0], leaves, path=f"accounts.{unused[0]}")
        return replace(model, instructions=tuple(instructions))


class _Accounts:
    """The accounts of one instruction."""

    def __init__(
        self,
        overlay: _Overlay,
        ix: Instruction,
        path: str,
        entries: Mapping[str, Any],
        everywhere: Mapping[str, Any],
        used: dict[str, SourceError | None],
    ) -> None:
        self.ix, self.path, self.everywhere, self.used = ix, path, everywhere, used
        self.paths = [p for p, _ in _leaves(ix.accounts)]
        self.args = [a.name for a in ix.args]
        self.entries: dict[Path, tuple[str, Mapping[str, Any]]] = {}
        for name, entry in entries.items():
            at = f"{path}.accounts.{name}"
            self.entries[self.account(name, at)] = (at, _table(entry, at))
        self.by_name = {snake(name): (name, entry) for name, entry in everywhere.items()}

    def apply(self) -> Instruction:
        if not self.entries and not self.by_name:
            return self.ix
        accounts = self.items(self.ix.accounts, ())
        return self.ix if accounts == self.ix.accounts else replace(self.ix, accounts=accounts)

    def items(self, items: tuple[AccountItem, ...], prefix: Path) -> tuple[AccountItem, ...]:
        out: list[AccountItem] = []
        for item in items:
            where = (*prefix, item.name)
            if isinstance(item, AccountGroup):
                out.append(replace(item, accounts=self.items(item.accounts, where)))
                continue
            if snake(item.name) in self.by_name:
                name, entry = self.by_name[snake(item.name)]
                if where not in self.entries:
                    item = self.change_where_it_fits(item, name, entry)
                else:
                    self.used[name] = None
            if where in self.entries:
                path, own = self.entries[where]
                item = self.change(item, own, path)
            out.append(item)
        return tuple(out)

    def change_where_it_fits(self, account: Account, name: str, entry: Any) -> Account:
        """An account of this name may lack the seeds or arguments that another has; one must fit."""
        path = f"accounts.{name}"
        try:
            changed = self.change(account, _table(entry, path), path)
        except SourceError as error:
            self.used.setdefault(name, error)
            return account
        self.used[name] = None
        return changed

    def change(self, account: Account, entry: Mapping[str, Any], path: str) -> Account:
        _only(entry, ("seeds", "encodings", "program", "optional", "address"), path)
        if "address" in entry:
            account = replace(
                account, address=_address(entry["address"], f"{path}.address"), default=None
            )
        if "optional" in entry:
            if not isinstance(entry["optional"], bool):
                raise SourceError(
                    f"found {kind_of(entry['optional'])} where true or false must stand.",
                    path=f"{path}.optional",
                )
            account = replace(account, optional=entry["optional"])
        pda = account.pda or (
            account.default.pda if isinstance(account.default, PdaValue) else None
        )
        changed = pda
        if "seeds" in entry:
            seeds = _list(entry["seeds"], f"{path}.seeds")
            changed = Pda(
                tuple(
                    self.seed(_table(s, f"{path}.seeds[{i}]"), f"{path}.seeds[{i}]")
                    for i, s in enumerate(seeds)
                ),
                pda.program if pda else None,
                pda.name if pda else "",
            )
        if "encodings" in entry:
            changed = self.encodings(
                changed, _table(entry["encodings"], f"{path}.encodings"), f"{path}.encodings"
            )
        if "program" in entry:
            if changed is None:
                raise SourceError(
                    "a program of seeds, but there are no seeds. Give them.", path=f"{path}.program"
                )
            changed = replace(changed, program=self.program(entry["program"], f"{path}.program"))
        if changed is not pda:
            default = None if isinstance(account.default, PdaValue) else account.default
            account = replace(account, pda=changed, default=default)
        return account

    def encodings(self, pda: Pda | None, wanted: Mapping[str, Any], path: str) -> Pda:
        if pda is None:
            raise SourceError(
                "the account has no seeds whose encoding could change. Give 'seeds'.", path=path
            )
        left = {snake(name): name for name in wanted}
        seeds: list[Seed] = []
        for seed in pda.seeds:
            if isinstance(seed, (ArgSeed, AccountSeed)):
                name = ".".join(
                    seed.path if isinstance(seed, ArgSeed) else (*seed.account, *seed.field)
                )
                if snake(name) in left:
                    key = left.pop(snake(name))
                    seed = replace(seed, encoding=_encoding(wanted[key], f"{path}.{key}"))
            seeds.append(seed)
        if left:
            have = [
                ".".join(s.path if isinstance(s, ArgSeed) else (*s.account, *s.field))
                for s in pda.seeds
                if isinstance(s, (ArgSeed, AccountSeed))
            ]
            name = next(iter(left.values()))
            raise UnresolvedName("seed", name, have, path=f"{path}.{name}")
        return replace(pda, seeds=tuple(seeds))

    def seed(self, entry: Mapping[str, Any], path: str) -> Seed:
        kinds = [
            k
            for k in ("literal", "bytes", "arg", "account", "min", "max", "program_id")
            if k in entry
        ]
        if len(kinds) != 1:
            raise SourceError(
                "a seed is one of literal, bytes, arg, account, min, max, program_id; found "
                f"{', '.join(kinds) or kind_of(dict(entry))}.",
                path=path,
            )
        kind = kinds[0]
        value = entry[kind]
        _only(
            entry,
            (kind, *{"arg": ("encoding",), "account": ("field", "type", "encoding")}.get(kind, ())),
            path,
        )
        encoding = _encoding(entry["encoding"], f"{path}.encoding") if "encoding" in entry else None
        match kind:
            case "literal":
                return ConstSeed(_text(entry, "literal", path).encode())
            case "bytes":
                return ConstSeed(_bytes(value, f"{path}.bytes"))
            case "arg":
                return ArgSeed(self.arg(_text(entry, "arg", path), f"{path}.arg"), None, encoding)
            case "account":
                account = self.account(_text(entry, "account", path), f"{path}.account")
                field = tuple(_text(entry, "field", path).split(".")) if "field" in entry else ()
                of = _text(entry, "type", path) if "type" in entry else None
                return AccountSeed(account, field, of, None, encoding)
            case "program_id":
                if value is not True:
                    raise SourceError(
                        f"found {kind_of(value)}; write program_id = true.", path=path
                    )
                return ProgramIdSeed()
            case _:
                pair = _list(value, f"{path}.{kind}")
                if len(pair) != 2 or not all(isinstance(p, str) for p in pair):
                    raise SourceError(
                        f"found {kind_of(value)} where two account names must stand.",
                        path=f"{path}.{kind}",
                    )
                first, second = (
                    self.account(name, f"{path}.{kind}[{i}]") for i, name in enumerate(pair)
                )
                return AccountSeed(first, sort="min" if kind == "min" else "max", other=second)

    def program(self, value: Any, path: str) -> Value:
        if isinstance(value, str):
            return ConstValue(_address(value, path))
        entry = _table(value, path)
        _only(entry, ("account", "arg"), path)
        if "account" in entry:
            return AccountValue(self.account(_text(entry, "account", path), f"{path}.account"))
        return ArgValue(self.arg(_text(entry, "arg", path), f"{path}.arg"))

    def arg(self, name: str, path: str) -> Path:
        first, *rest = name.split(".")
        return (_find(first, self.args, "argument", path), *rest)

    def account(self, name: str, path: str) -> Path:
        """An account by its dotted path, or by its last name where only one has it."""
        steps = tuple(snake(s) for s in name.split("."))
        found = [p for p in self.paths if tuple(snake(s) for s in p) == steps]
        if not found:
            found = [p for p in self.paths if tuple(snake(s) for s in p[-len(steps) :]) == steps]
        if len(found) == 1:
            return found[0]
        shown = [".".join(p) for p in self.paths]
        if found:
            both = " and ".join(".".join(p) for p in found[:3])
            raise SourceError(f"{abbr(name, 60)} can be {both}. Write the whole path.", path=path)
        raise UnresolvedName("account", name, shown, path=path)


def _leaves(items: tuple[AccountItem, ...], prefix: Path = ()) -> Iterable[tuple[Path, Account]]:
    for item in items:
        if isinstance(item, AccountGroup):
            yield from _leaves(item.accounts, (*prefix, item.name))
        else:
            yield (*prefix, item.name), item


# --- kinds -----------------------------------------------------------------------------------------------------------


def _find(name: str, names: list[str], kind: str, path: str) -> str:
    if name in names:
        return name
    found = [n for n in names if snake(n) == snake(name)]
    if len(found) == 1:
        return found[0]
    raise UnresolvedName(kind, name, names, path=path)


def _table(value: Any, path: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and all(isinstance(k, str) for k in value):
        return value
    raise SourceError(f"found {kind_of(value)} where a table must stand.", path=path)


def _list(value: Any, path: str) -> list[Any]:
    if isinstance(value, list):
        return value
    raise SourceError(f"found {kind_of(value)} where a list must stand.", path=path)


def _text(entry: Mapping[str, Any], key: str, path: str) -> str:
    value = entry.get(key)
    if isinstance(value, str) and value:
        return value
    raise SourceError(f"found {kind_of(value)} where text must stand.", path=f"{path}.{key}")


def _only(entry: Mapping[str, Any], keys: tuple[str, ...], path: str) -> None:
    for key in entry:
        if key not in keys:
            raise SourceError(f"no key {abbr(key, 40)} here. {suggest(str(key), keys)}", path=path)


def _address(value: Any, path: str) -> str:
    if isinstance(value, str) and is_address(value):
        return value
    raise SourceError(f"{kind_of(value)} is no address (32 bytes in base58).", path=path)


def _encoding(value: Any, path: str) -> Encoding:
    if value in ("be", "utf8"):
        out: Encoding = value
        return out
    raise SourceError(
        f"found {kind_of(value)}; an encoding is be (big-endian) or utf8 (decimal text).", path=path
    )


def _bytes(value: Any, path: str) -> bytes:
    try:
        if isinstance(value, str) and value.startswith("0x"):
            return bytes.fromhex(value[2:])
        if isinstance(value, list):
            return bytes(value)
    except (ValueError, TypeError):
        pass
    raise SourceError(
        f'found {kind_of(value)} where bytes must stand: "0x…" or a list of numbers.', path=path
    )
