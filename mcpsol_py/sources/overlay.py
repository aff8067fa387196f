"""The overlay: a file with facts about accounts and seeds that an IDL cannot express.

Programs derive addresses in ways that no IDL format covers, such as the smaller of two addresses
first, or numbers as decimal text. An overlay adds this knowledge. It is a TOML or JSON document
that names accounts under their instruction, or once for all instructions that have them:

```toml
program = "whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc"  # optional: for this program only

[accounts.tick_array]                              # in every instruction
encodings = { start_tick_index = "utf8" }          # how seeds of the IDL are encoded

[instructions.initialize_pool.accounts.lb_pair]    # in one instruction; dotted path in groups
seeds = [
    { literal = "pair" },                          # text, or bytes = "0x…" or a list of numbers
    { min = ["token_x", "token_y"] },              # the smaller of two addresses; max: the greater
    { max = ["token_x", "token_y"] },
    { arg = "params.index", encoding = "be" },     # be, utf8 (decimal text); default: as its type
    { account = "config", field = "owner", type = "Config" },
    { program_id = true },
]
program = "…"                                      # or { account = "…" }, { arg = "…" }
optional = true                                    # also: address = "…"

[[known]]                                          # addresses to check (`known_addresses`)
instruction = "initialize_pool"
account = "lb_pair"
args = { }
accounts = { token_x = "…", token_y = "…" }
address = "…"
```

Names may have any case style. A name that the program does not have is an error that lists the
names it has. An entry for all instructions must fit at least one of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from typing import Any

from mcpsol_py.errors import SourceError, UnresolvedName, abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.sources.files import load_bytes, parse_json
from mcpsol_py.sources.overlay_accounts import (
    AccountEntries,
    InstructionOverlay,
    leaf_paths,
)
from mcpsol_py.sources.overlay_values import (
    address_value,
    check_keys,
    list_value,
    matching,
    table_value,
    text_value,
)
from mcpsol_py.sources.reader import expected, from_origin

__all__ = ["KnownAddress", "apply_overlay", "known_addresses", "read_overlay"]


@dataclass(frozen=True, slots=True)
class KnownAddress:
    """An address that the program and its overlay must derive; a test of the overlay."""

    instruction: str
    account: str
    address: str
    args: dict[str, Any]
    accounts: dict[str, Any]


def read_overlay(
    source: str | PathLike[str] | bytes, origin: str = ""
) -> dict[str, Any]:
    """Return the overlay document of a TOML or JSON file, or of its bytes. Raises SourceError."""
    data, origin = load_bytes(source, origin)
    if data.lstrip()[:1] == b"{":
        doc = parse_json(data, origin)
        if type(doc) is not dict:
            raise expected("an object as the overlay", doc).at(origin)
        return doc
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise SourceError("the overlay is not UTF-8 text.", origin=origin) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SourceError(
            f"expected TOML or a JSON object: {error}.", origin=origin
        ) from error


def apply_overlay(
    model: ProgramModel, doc: Mapping[str, Any], *, origin: str = ""
) -> ProgramModel:
    """Return *model* with the changes of the overlay *doc*.

    Raises SourceError with the place in the overlay if an entry is malformed or fits nothing.
    """
    with from_origin(origin):
        return _apply(model, doc)


def known_addresses(doc: Mapping[str, Any]) -> tuple[KnownAddress, ...]:
    """Return the addresses of [[known]], for the caller to derive and compare. Raises SourceError."""
    items = list_value(doc.get("known", []), "known")
    return tuple(_known_address(item, f"known[{i}]") for i, item in enumerate(items))


def _known_address(item: Any, path: str) -> KnownAddress:
    entry = table_value(item, path)
    check_keys(entry, ("instruction", "account", "address", "args", "accounts"), path)
    return KnownAddress(
        text_value(entry, "instruction", path),
        text_value(entry, "account", path),
        address_value(entry.get("address"), f"{path}.address"),
        dict(table_value(entry.get("args", {}), f"{path}.args")),
        dict(table_value(entry.get("accounts", {}), f"{path}.accounts")),
    )


def _apply(model: ProgramModel, doc: Mapping[str, Any]) -> ProgramModel:
    check_keys(doc, ("program", "accounts", "instructions", "known"), "")
    program = doc.get("program")
    if program is not None and model.address is not None and program != model.address:
        raise SourceError(
            f"this overlay is for {abbr(program, 60)}, but the program is {model.address}.",
            path="program",
        )
    known_addresses(doc)  # checks their form
    everywhere = table_value(doc.get("accounts", {}), "accounts")
    own = _entries_by_instruction(model, doc)
    #: entry for all instructions -> None if it fitted, or why it did not
    results: dict[str, SourceError | None] = {}
    instructions: list[Instruction] = []
    for ix in model.instructions:
        entries = own.get(ix.name, AccountEntries("", {}))
        instructions.append(
            InstructionOverlay(ix, entries, everywhere, results).apply()
        )
    _check_used(model, everywhere, results)
    return replace(model, instructions=tuple(instructions))


def _entries_by_instruction(
    model: ProgramModel, doc: Mapping[str, Any]
) -> dict[str, AccountEntries]:
    names = names_of(model.instructions)
    out: dict[str, AccountEntries] = {}
    for name, entry in table_value(doc.get("instructions", {}), "instructions").items():
        path = f"instructions.{name}"
        table = table_value(entry, path)
        check_keys(table, ("accounts",), path)
        accounts = table_value(table.get("accounts", {}), f"{path}.accounts")
        out[matching(name, names, "instruction", path)] = AccountEntries(path, accounts)
    return out


def _check_used(
    model: ProgramModel,
    everywhere: Mapping[str, Any],
    results: dict[str, SourceError | None],
) -> None:
    """Raise the error of an entry for all instructions that fitted none of them."""
    failure = next(filter(None, results.values()), None)
    if failure is not None:
        raise failure
    unused = [name for name in everywhere if name not in results]
    if unused:
        name = unused[0]
        raise UnresolvedName(
            "account", name, _account_names(model), path=f"accounts.{name}"
        )


def _account_names(model: ProgramModel) -> list[str]:
    """Return the names of all accounts of all instructions, each once."""
    paths = chain.from_iterable(leaf_paths(ix.accounts) for ix in model.instructions)
    return list(dict.fromkeys(path[-1] for path in paths))
