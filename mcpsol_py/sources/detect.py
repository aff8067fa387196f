"""`read`: a program from any source. The dialect is detected from the content, not from the file
name.

| in the document | dialect |
|---|---|
| "kind": "rootNode" or "programNode" | Codama |
| "metadata.spec", or instructions with "discriminator" and a top-level "address" | Anchor 0.1.0 |
| "metadata.origin": "shank", or instructions with "discriminant" | Shank |
| other objects with "instructions" | legacy Anchor |

An IDL may be inside TypeScript (typescript.py), or inside {"idl": …} as an object or as JSON text.

To add a dialect, write a rule of `_RULES` that recognizes it and add its reader to `_READERS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import orjson

from mcpsol_py.errors import SourceError, UnknownDialect, abbr
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.usable import without_schema
from mcpsol_py.sources.files import load_bytes, parse_json
from mcpsol_py.sources.reader import kind_of, named_objects, object_or_empty, objects_in
from mcpsol_py.sources.same_names import tell_apart
from mcpsol_py.sources.well_known import is_well_known, well_known

__all__ = ["Dialect", "detect", "read"]

Dialect = Literal["anchor", "legacy", "shank", "codama"]

_SPECS = ("0.1.0",)
_DOCUMENT_SUFFIXES = (".json", ".ts", ".js", ".mjs", ".cjs")
MAX_WRAPPERS = 4

#: Dialect -> module and function; imported on first use, so that a command loads one reader only.
_READERS: dict[Dialect, tuple[str, str]] = {
    "anchor": ("mcpsol_py.sources.anchor", "read_anchor"),
    "legacy": ("mcpsol_py.sources.anchor_legacy", "read_anchor_legacy"),
    "shank": ("mcpsol_py.sources.shank", "read_shank"),
    "codama": ("mcpsol_py.sources.codama", "read_codama"),
}

_KNOWN_DIALECTS = "Known are Anchor IDLs (new and legacy), Shank IDLs and Codama roots."


def read(
    source: str
    | PathLike[str]
    | bytes
    | bytearray
    | Mapping[str, Any]
    | ModuleType
    | type,
    *,
    origin: str = "",
) -> ProgramModel:
    """Read the program that *source* describes.

    *source* is an IDL of any dialect (a path, its bytes or text, or the parsed object), or a Python
    spec (a ".py" path, "package.module", "package.module:Class", a module or a class), or the name
    of a well-known program ("spl_token", "solana_stake"). *origin* names it in messages.

    Raises SourceError with the JSON path of the problem, or UnknownDialect if the source is not an
    IDL at all.
    """
    if isinstance(source, (ModuleType, type)):
        return _spec(source, origin)
    if isinstance(source, Mapping):
        return read_document(_plain(source, origin), origin)
    if isinstance(source, (bytes, bytearray)):
        return read_document(*_open(source, origin))
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        return read_document(*_open(source.encode("utf-8", "replace"), origin))
    return _read_named(fspath(source), origin)


def _read_named(name: str, origin: str) -> ProgramModel:
    """Read the file, the well-known program, or the module of a spec, with that name."""
    if is_well_known(name) and not Path(name).exists():
        return well_known(name)
    if name.endswith(".py") or _is_module(name):
        return _spec(name, origin)
    return read_document(*_open(name, origin))


def read_document(doc: Any, origin: str = "") -> ProgramModel:
    """Read a parsed document. Raises SourceError."""
    doc, path = _unwrapped(doc, origin)
    try:
        module, function = _READERS[detect(doc)]
        model: ProgramModel = getattr(import_module(module), function)(doc, origin)
    except SourceError as error:
        error.at(path=path).at(origin)
        raise
    return without_schema(tell_apart(model))


# --- opening -----------------------------------------------------------------------------------


def _open(
    source: str | PathLike[str] | bytes | bytearray, origin: str
) -> tuple[Any, str]:
    """Return the parsed document of a path or of bytes, and its name for messages. Raises
    SourceError.
    """
    data, origin = load_bytes(source, origin)
    if data[:1] not in (b"{", b"["):
        from mcpsol_py.sources.typescript import idl_of, looks_like_typescript

        if looks_like_typescript(data):
            return idl_of(data, _is_idl, origin), origin
    return parse_json(data, origin), origin


def _is_idl(doc: object) -> bool:
    try:
        detect(doc)
    except SourceError:
        return False
    return True


def _unwrapped(doc: Any, origin: str) -> tuple[Any, str]:
    """Return the IDL inside the wrappers that tools add ({"idl": …}, JSON as text), and its path."""
    path: list[str] = []
    for _ in range(MAX_WRAPPERS):
        if _is_json_text(doc):
            doc = parse_json(doc.encode("utf-8", "replace"), origin)
        elif _is_wrapper(doc):
            doc = doc["idl"]
            path.append("idl")
        else:
            break
    return doc, ".".join(path)


def _is_json_text(doc: Any) -> bool:
    return type(doc) is str and doc.lstrip()[:1] == "{"


def _is_wrapper(doc: Any) -> bool:
    if "idl" not in object_or_empty(doc):
        return False
    return bool(doc.keys().isdisjoint(("instructions", "kind", "program")))


def _is_module(text: str) -> bool:
    """Return whether *text* is "package.module" or "package.module:Class", not a file name."""
    if text.endswith(_DOCUMENT_SUFFIXES):
        return False
    module, _, name = text.partition(":")
    parts = [*module.split("."), name or "Class"]
    return all(map(str.isidentifier, parts))


def _spec(source: str | ModuleType | type, origin: str) -> ProgramModel:
    # Reading a spec imports the user's module, so its reader is loaded only when a spec is asked
    # for.
    from mcpsol_py.sources.spec import read_spec

    model = read_spec(source)
    return replace(model, origin=origin) if origin else model


def _plain(source: Mapping[str, Any], origin: str) -> Any:
    """Return a copy in plain JSON types. A document that contains itself is refused here."""
    document = dict(source)
    with suppress(TypeError, ValueError):
        return orjson.loads(orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS))
    try:  # orjson writes no whole number above a u64, and no half of a surrogate pair
        return parse_json(json.dumps(document, allow_nan=False).encode(), origin)
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceError(
            f"the object is not a JSON document: {error}.", origin=origin
        ) from error


# --- dialects ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Signs:
    """The parts of a document that tell its dialect."""

    doc: dict[str, Any]
    metadata: dict[str, Any]
    #: the instructions that are objects
    instructions: list[dict[str, Any]]
    #: whether every instruction has a name and a list of arguments
    complete: bool

    def has_account_key(self, key: str) -> bool:
        lists = (
            objects_in(instruction.get("accounts")) for instruction in self.instructions
        )
        return any(key in account for account in chain.from_iterable(lists))


def _is_shank_by_name(signs: _Signs) -> bool:
    return signs.metadata.get("origin") == "shank"


def _is_anchor_by_address(signs: _Signs) -> bool:
    return signs.doc.get("address") is not None and "name" in signs.metadata


def _is_anchor_by_discriminator(signs: _Signs) -> bool:
    given = any(type(i.get("discriminator")) is list for i in signs.instructions)
    return given and not signs.has_account_key("isMut")


def _is_shank_by_discriminant(signs: _Signs) -> bool:
    return any("discriminant" in i for i in signs.instructions)


def _is_legacy(signs: _Signs) -> bool:
    return "name" in signs.doc or "version" in signs.doc or signs.complete


#: Rules for documents that do not name their dialect; the first one that holds decides.
_RULES: tuple[tuple[Callable[[_Signs], bool], Dialect], ...] = (
    (_is_shank_by_name, "shank"),
    (_is_anchor_by_address, "anchor"),
    (_is_anchor_by_discriminator, "anchor"),
    (_is_shank_by_discriminant, "shank"),
    (_is_legacy, "legacy"),
)


def detect(doc: object) -> Dialect:
    """Return the dialect of a parsed document. Raises UnknownDialect."""
    if type(doc) is not dict:
        raise UnknownDialect(f"expected a JSON object as the IDL, got {kind_of(doc)}.")
    if doc.get("kind") in ("rootNode", "programNode"):
        return "codama"
    if _names_anchor_spec(object_or_empty(doc.get("metadata"))):
        return "anchor"
    _refuse_other_spec(doc)
    signs = _signs_of(doc)
    for holds, dialect in _RULES:
        if holds(signs):
            return dialect
    raise UnknownDialect(
        f"found {kind_of(doc)}: instructions, but no name and version (legacy Anchor, Shank) and "
        "no metadata (Anchor 0.1.0)."
    )


def _signs_of(doc: dict[str, Any]) -> _Signs:
    instructions = doc.get("instructions")
    if type(instructions) is not list:
        raise _no_instructions(doc)
    objects = objects_in(instructions)
    complete = bool(objects) and len(_complete(objects)) == len(instructions)
    return _Signs(doc, object_or_empty(doc.get("metadata")), objects, complete)


def _names_anchor_spec(metadata: dict[str, Any]) -> bool:
    """Return whether metadata.spec is a known version of Anchor's IDL. Raises UnknownDialect for
    other versions.
    """
    spec = metadata.get("spec")
    if spec is None:
        return False
    if type(spec) is str and not spec[:1].isdigit():
        # IDLs that were written by hand for other programs say "shank", "non-anchor", …
        return False
    if spec in _SPECS:
        return True
    raise UnknownDialect(
        f"unknown Anchor IDL spec {abbr(spec, 40)}; {_SPECS[-1]} is supported. Convert it with "
        "that Anchor's own 'anchor idl convert', or use a newer mcpsol-py.",
        path="metadata.spec",
    )


def _refuse_other_spec(doc: dict[str, Any]) -> None:
    """Refuse IDLs with another top-level spec, such as Quasar's, whose arguments have other codecs."""
    if "spec" not in doc or doc["spec"] in _SPECS:
        return
    raise UnknownDialect(
        f"found {kind_of(doc['spec'])}: an IDL of another kind, which would be misread. "
        f"{_KNOWN_DIALECTS}",
        path="spec",
    )


def _no_instructions(doc: dict[str, Any]) -> UnknownDialect:
    if "kind" in doc:
        return UnknownDialect(
            f"expected a rootNode as the root of a Codama document, got {kind_of(doc['kind'])}.",
            path="kind",
        )
    if "tools" in doc:
        return UnknownDialect(
            "these are mcpsol tools, not an IDL. `idl2mcp list-tools` reads them from a program."
        )
    given = doc.get("instructions")
    what = (
        "no 'instructions'" if given is None else f"{kind_of(given)} as 'instructions'"
    )
    return UnknownDialect(f"found {kind_of(doc)} and {what}. {_KNOWN_DIALECTS}")


def _complete(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the objects that are instructions of a program, not those of a transaction."""
    return [item for item in named_objects(objects) if type(item.get("args")) is list]
