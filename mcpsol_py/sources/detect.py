"""`read`: a program from any source, by what stands in it, not by what it is called.

| in the document | dialect |
|---|---|
| "kind": "rootNode" or "programNode" | Codama |
| "metadata.spec", or instructions with "discriminator" beside a top-level "address" | Anchor 0.1.0 |
| "metadata.origin": "shank", or instructions with "discriminant" | Shank |
| other objects with "instructions" | legacy Anchor |

An IDL may stand in TypeScript (typescript.py), or in {"idl": …}, as its JSON or as text that holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from types import ModuleType
from typing import Any, Literal

import orjson

from mcpsol_py.errors import SourceError, UnknownDialect, abbr
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.sources.reader import kind_of, load_bytes, parse_json

__all__ = ["Dialect", "detect", "read"]

Dialect = Literal["anchor", "legacy", "shank", "codama"]

_SPECS = ("0.1.0",)
MAX_WRAPPERS = 4


def read(
    source: str | PathLike[str] | bytes | bytearray | Mapping[str, Any] | ModuleType | type,
    *,
    origin: str = "",
) -> ProgramModel:
    """The program that *source* describes.

    *source* is an IDL (a path, its bytes or text, or the parsed object) of any dialect, or a Python spec (a ".py"
    path, "package.module", "package.module:Class", a module or a class). *origin* is what messages call it.

    Raises SourceError (UnknownDialect when it is no IDL at all) with the JSON path of what stands in the way.
    """
    if isinstance(source, (ModuleType, type)):
        return _spec(source, origin)
    if isinstance(source, Mapping):
        return read_document(_plain(source, origin), origin)
    if isinstance(source, (bytes, bytearray)):
        return read_document(*_open(source, origin))
    text = fspath(source)
    if isinstance(source, str) and text.lstrip()[:1] in ("{", "["):
        return read_document(*_open(text.encode("utf-8", "replace"), origin))
    if text.endswith(".py") or _is_module(text):
        return _spec(text, origin)
    return read_document(*_open(text, origin))


def _open(source: str | PathLike[str] | bytes | bytearray, origin: str) -> tuple[Any, str]:
    """The parsed document of a file (by path) or of bytes, and what to call it. Raises SourceError."""
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
    """The IDL in what tools put around it, {"idl": …} or JSON as text, and its path."""
    path: list[str] = []
    for _ in range(MAX_WRAPPERS):
        if type(doc) is str and doc.lstrip()[:1] == "{":
            doc = parse_json(doc.encode("utf-8", "replace"), origin)
        elif (
            type(doc) is dict
            and "idl" in doc
            and not {"instructions", "kind", "program"} & doc.keys()
        ):
            doc = doc["idl"]
            path.append("idl")
        else:
            break
    return doc, ".".join(path)


def _is_module(text: str) -> bool:
    """ "package.module" or "package.module:Class", and no file name."""
    if text.endswith((".json", ".ts", ".js", ".mjs", ".cjs")):
        return False
    module, _, name = text.partition(":")
    return all(part.isidentifier() for part in module.split(".")) and (
        not name or name.isidentifier()
    )


def _spec(source: str | ModuleType | type, origin: str) -> ProgramModel:
    from mcpsol_py.sources.spec import (
        read_spec,
    )  # imports the user's module: only when one is asked for

    model = read_spec(source)
    return replace(model, origin=origin) if origin else model


def _plain(source: Mapping[str, Any], origin: str) -> Any:
    """A copy in plain JSON kinds, so that readers need to know no others, and no document can hold itself."""
    try:
        return orjson.loads(orjson.dumps(dict(source), option=orjson.OPT_NON_STR_KEYS))
    except (orjson.JSONEncodeError, orjson.JSONDecodeError, TypeError, ValueError) as error:
        raise SourceError(f"the object is no JSON document: {error}.", origin=origin) from error


def detect(doc: object) -> Dialect:
    """The dialect of a parsed document. Raises UnknownDialect."""
    if type(doc) is not dict:
        raise UnknownDialect(f"found {kind_of(doc)}; an IDL is a JSON object.")
    if doc.get("kind") in ("rootNode", "programNode"):
        return "codama"
    metadata = doc.get("metadata")
    spec = metadata.get("spec") if type(metadata) is dict else None
    if type(spec) is str and not spec[:1].isdigit():
        spec = None  # no version: people who write IDLs of other programs by hand say "shank", "non-anchor", …
    if spec is not None:
        if spec not in _SPECS:
            raise UnknownDialect(
                f"Anchor IDL spec {abbr(spec, 40)} is not known; {_SPECS[-1]} is. Convert it with that Anchor's own "
                "'anchor idl convert', or use a newer mcpsol-py.",
                path="metadata.spec",
            )
        return "anchor"
    if (
        "spec" in doc and doc["spec"] not in _SPECS
    ):  # Quasar's, whose arguments have codecs of their own
        raise UnknownDialect(
            f"found {kind_of(doc['spec'])}: an IDL of another kind, which would be misread. Known are Anchor IDLs (new "
            "and legacy), Shank IDLs and Codama roots.",
            path="spec",
        )
    instructions = doc.get("instructions")
    if type(instructions) is not list:
        if "kind" in doc:
            raise UnknownDialect(
                f"found {kind_of(doc['kind'])}; a Codama document's root is a rootNode.",
                path="kind",
            )
        if "tools" in doc:
            raise UnknownDialect(
                "these are mcpsol tools, not an IDL. `idl2mcp list-tools` reads them from a program."
            )
        what = (
            "no 'instructions'"
            if instructions is None
            else f"{kind_of(instructions)} as 'instructions'"
        )
        raise UnknownDialect(
            f"found {kind_of(doc)} and {what}. Known are Anchor IDLs (new and legacy), Shank IDLs and Codama roots."
        )
    objects = [i for i in instructions if type(i) is dict]
    if type(metadata) is dict and metadata.get("origin") == "shank":
        return "shank"
    if doc.get("address") is not None and type(metadata) is dict and "name" in metadata:
        return "anchor"
    if any(type(i.get("discriminator")) is list for i in objects) and not any(
        "isMut" in a for a in _accounts(objects)
    ):
        return "anchor"
    if any("discriminant" in i for i in objects):
        return "shank"
    if "name" not in doc and "version" not in doc and not _called(objects, instructions):
        raise UnknownDialect(
            f"found {kind_of(doc)}: instructions, but neither a name and version (legacy Anchor, Shank) nor metadata "
            "(Anchor 0.1.0)."
        )
    return "legacy"


def _called(objects: list[dict[str, Any]], instructions: list[Any]) -> bool:
    """Are these instructions of a program, and not those of a transaction?"""
    whole = [i for i in objects if type(i.get("name")) is str and type(i.get("args")) is list]
    return bool(whole) and len(whole) == len(instructions)


def _accounts(instructions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = []
    for instruction in instructions:
        accounts = instruction.get("accounts")
        if type(accounts) is list:
            out += [a for a in accounts if type(a) is dict]
    return out


def read_document(doc: Any, origin: str = "") -> ProgramModel:
    """The model of a parsed document. Raises SourceError."""
    doc, path = _unwrapped(doc, origin)
    try:
        return _read_as(detect(doc), doc, origin)
    except SourceError as error:
        error.at(path=path).at(origin)
        raise


def _read_as(dialect: Dialect, doc: Any, origin: str) -> ProgramModel:
    if dialect == "anchor":
        from mcpsol_py.sources.anchor import read_anchor

        return read_anchor(doc, origin)
    if dialect == "legacy":
        from mcpsol_py.sources.anchor_legacy import read_anchor_legacy

        return read_anchor_legacy(doc, origin)
    if dialect == "shank":
        from mcpsol_py.sources.shank import read_shank

        return read_shank(doc, origin)
    from mcpsol_py.sources.codama import read_codama

    return read_codama(doc, origin)
