"""The base class of all readers of JSON documents: names, docs, flags, numbers, addresses, and
findings with paths.

Paths cost nothing as long as a document is well formed, because a reader does not build them on its
way down. `DocumentReader.each` and `DocumentReader.inside` add their own step to an error that
passes through them, and to the findings made below them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import NoneType
from typing import Any, TypeVar

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.items import only
from mcpsol_py.model.program import Discriminator, Instruction
from mcpsol_py.model.types import TypeDef, Unsupported
from mcpsol_py.names import clean_text, snake
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.sources.numbers import is_digits

__all__ = [
    "DocumentReader",
    "check_kind",
    "derived",
    "expected",
    "from_origin",
    "keys",
    "kind_of",
    "matching_name",
    "named_objects",
    "object_or_empty",
    "objects_in",
]

T = TypeVar("T")

MAX_NAME = 256
MAX_DOC_LINES = 512
MAX_DIGITS = 20
MAX_FINDINGS = 1000
MAX_BYTE_LIST = 4096
_HEX_NUMBER = re.compile("0[xX][0-9a-fA-F]{1,16}")
#: How many unknown keys a finding lists by name.
_LISTED_KEYS = 6


@contextmanager
def from_origin(origin: str) -> Iterator[None]:
    """Name *origin* in a SourceError of this block, unless it names one."""
    try:
        yield
    except SourceError as error:
        error.at(origin)
        raise


def kind_of(value: object) -> str:
    """Describe a JSON value for a message: "the number 5", "a list of 3"."""
    describe = _DESCRIPTIONS.get(type(value))
    return describe(value) if describe else f"a {type(value).__name__}"


def _object_kind(value: dict[Any, Any]) -> str:
    names = ", ".join(abbr(k, 24) for k in list(value)[:4])
    return f"an object with {names}" if names else "an empty object"


def _number_kind(value: float) -> str:
    return f"the number {abbr(value, 40)}"


_DESCRIPTIONS: dict[type, Callable[[Any], str]] = {
    NoneType: lambda _: "null",
    bool: lambda value: str(value).lower(),
    int: _number_kind,
    float: _number_kind,
    str: lambda value: f"the text {abbr(value, 60)}",
    list: lambda value: f"a list of {len(value)}",
    dict: _object_kind,
}


def expected(wanted: str, found: object, *, path: str = "") -> SourceError:
    """Return the error for a value of the wrong kind."""
    return SourceError(f"expected {wanted}, got {kind_of(found)}.", path=path)


def check_kind(value: object, kind: type[T], wanted: str, *, path: str = "") -> T:
    """Return *value* if its type is *kind* itself. Raises SourceError with *wanted*, the kind in words."""
    if type(value) is not kind:
        raise expected(wanted, value, path=path)
    return value


def keys(text: str) -> frozenset[str]:
    """Return the keys listed in *text*, separated by spaces."""
    return frozenset(text.split())


def object_or_empty(value: object) -> dict[str, Any]:
    """Return *value* if it is an object, or else an empty one."""
    return value if type(value) is dict else {}


def objects_in(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list. Other items are skipped: the reader of the list reports them."""
    if type(value) is not list:
        return []
    return [item for item in value if type(item) is dict]


def named_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of a list that have text as their name."""
    return [item for item in objects_in(value) if type(item.get("name")) is str]


def derived(namespace: str, name: str) -> Discriminator:
    """Return Anchor's discriminator: the first 8 bytes of sha256("namespace:name").

    Anchor hashes the name of an instruction (namespace "global") in snake case.
    """
    text = f"{namespace}:{snake(name) if namespace == 'global' else name}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return Discriminator(digest[:8], "anchor")


def matching_name(name: str, known: Collection[Any]) -> str | None:
    """Return *name* if it is in *known*, or else the one name that is the same in snake case.

    None if no name, or more than one, is the same. IDL builders wrote seeds as in Rust but names in
    camelCase, and `#[instruction(id)]` for a handler's `_id`.
    """
    if name in known:
        return name
    wanted = snake(name)
    found = [k for k in known if snake(k) == wanted]
    return only(found)


class DocumentReader:
    """Reads one JSON document. Each of `findings` is [path, level, message]."""

    def __init__(self, origin: str = "") -> None:
        self.origin = origin
        self.findings: list[list[str]] = []

    # --- findings

    def note(self, message: str, path: str = "", level: str = "warning") -> None:
        """Record a finding at *path*, relative to the value that is being read."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append([path, level, message])

    def _place(self, mark: int, step: str) -> None:
        """Put *step* before the paths of the findings made since *mark*."""
        for finding in self.findings[mark:]:
            joiner = "" if not finding[0] or finding[0].startswith("[") else "."
            finding[0] = f"{step}{joiner}{finding[0]}"

    def found(self) -> tuple[tuple[str, str, str], ...]:
        """Return the findings as the model keeps them."""
        out = [(path, level, message) for path, level, message in self.findings]
        if len(out) == MAX_FINDINGS:
            more = f"only the first {MAX_FINDINGS} findings are kept"
            out.append(("", "warning", more))
        return tuple(out)

    # --- walking

    def each(
        self, owner: dict[str, Any], key: str, read: Callable[[dict[str, Any]], T]
    ) -> tuple[T, ...]:
        """Call *read* with every object of the list owner[key]. A missing or null list is empty."""
        values = owner.get(key)
        if values is None:
            return ()
        check_kind(values, list, "a list", path=key)
        out: list[T] = []
        findings, mark, i = self.findings, len(self.findings), -1
        try:
            for i, item in enumerate(values):
                if type(item) is not dict:
                    raise expected("an object", item)
                out.append(read(item))
                if len(findings) != mark:
                    self._place(mark, f"{key}[{i}]")
                    mark = len(findings)
        except SourceError as error:
            error.at(path=f"{key}[{i}]")
            raise
        return tuple(out)

    def each_item(
        self,
        owner: dict[str, Any],
        key: str,
        read: Callable[[dict[str, Any]], T],
        instead: Callable[[dict[str, Any], str], T | None] | None = None,
    ) -> tuple[T, ...]:
        """Call *read* with every object of owner[key], a list of the whole program.

        An item that cannot be read is a finding, and the others are read. *instead* makes what takes its place from
        the item and the reason; by default, and if it returns None, the item is left out.
        """
        values = owner.get(key)
        if values is None:
            return ()
        if type(values) is not list:
            self.note(
                f"expected a list, got {kind_of(values)}; nothing of it is read",
                key,
                "error",
            )
            return ()
        out: list[T] = []
        for i, item in enumerate(values):
            mark = len(self.findings)
            found = self._item(item, read, instead)
            if len(self.findings) != mark:
                self._place(mark, f"{key}[{i}]")
            if found is not None:
                out.append(found)
        return tuple(out)

    def _item(
        self,
        item: Any,
        read: Callable[[dict[str, Any]], T],
        instead: Callable[[dict[str, Any], str], T | None] | None,
    ) -> T | None:
        try:
            check_kind(item, dict, "an object")
            return read(item)
        except SourceError as error:
            place = f"{error.path}: " if error.path else ""
            why = f"{place}{error.text}"
            self.note(f"it cannot be read: {error.text}", error.path, "error")
        return (
            instead(item, why) if instead is not None and type(item) is dict else None
        )

    def inside(self, key: str, read: Callable[[Any], T], value: Any) -> T:
        """Call read(value) and put *key* before the paths of its error and findings."""
        mark = len(self.findings)
        try:
            out = read(value)
        except SourceError as error:
            error.at(path=key)
            raise
        if len(self.findings) != mark:
            self._place(mark, key)
        return out

    # --- what takes the place of items that cannot be read

    def disabled_instruction(
        self, item: dict[str, Any], why: str
    ) -> Instruction | None:
        """Return the instruction *item* as one that cannot be called, or None if its name cannot be read either."""
        return self._if_named(
            item,
            lambda name: Instruction(
                name, self._likely_discriminator(item), disabled=why
            ),
        )

    def _likely_discriminator(self, item: dict[str, Any]) -> Discriminator:
        try:
            return self.instruction_discriminator(item)[0]
        except SourceError:
            return Discriminator(b"", "none")

    def instruction_discriminator(
        self, item: dict[str, Any]
    ) -> tuple[Discriminator, str | None]:
        """Return an instruction's discriminator and, if it is unknown, why."""
        return Discriminator(b"", "none"), "its discriminator cannot be read"

    def missing_type(self, item: dict[str, Any], why: str) -> TypeDef | None:
        """Return the type *item* as one that cannot be used, or None if its name cannot be read either."""
        return self._if_named(item, lambda name: TypeDef(name, Unsupported(name, why)))

    def _if_named(self, item: dict[str, Any], make: Callable[[str], T]) -> T | None:
        """Return what *make* returns for the name of *item*, None if its name cannot be read."""
        try:
            return make(self.name(item))
        except SourceError:
            return None

    # --- names and text

    def name(self, owner: dict[str, Any], key: str = "name") -> str:
        """Read owner[key] as a name.

        Control and invisible characters are removed. A name is at most MAX_NAME characters long.
        """
        value = owner.get(key)
        if type(value) is str:
            if value.isprintable() and 0 < len(value) <= MAX_NAME:
                return value
            return self._cleaned_name(value, key)
        if value is None:
            raise SourceError(f"{key!r} is missing.")
        raise expected("a name", value, path=key)

    def _cleaned_name(self, value: str, key: str) -> str:
        """Return the printable part of a name, and record the change."""
        cleaned = self.clean_name(value)
        if not cleaned:
            raise SourceError("the name is empty.", path=key)
        self.note(f"the name {abbr(value)} is read as {abbr(cleaned)}", key)
        return cleaned

    def program_name(self, owner: dict[str, Any]) -> str:
        """Read the program's name. Calls do not need it, so a nameless program is "program"."""
        value = owner.get("name")
        if type(value) is str:
            value = self.clean_name(value)
        if type(value) is not str or not value:
            self.note('the program has no name; using "program"', "name")
            return "program"
        return self.name(owner)

    @staticmethod
    def clean_name(value: str) -> str:
        """Make a name printable. A long one ends in a hash of the whole, to stay unique."""
        if len(value) <= MAX_NAME and value.isprintable():
            return value
        text = clean_text(value.encode("utf-8", "replace").decode(), 4 * MAX_NAME)
        text = "".join(filter(str.isprintable, text))
        if len(value) > MAX_NAME:
            digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[
                :8
            ]
            text = f"{text[: MAX_NAME - 9]}_{digest}"
        return text.strip()

    def text(self, owner: dict[str, Any], key: str, limit: int = 4096) -> str:
        """Read owner[key] as cleaned text. A missing or null text is "", and so is a value that is none."""
        value = owner.get(key)
        if value is None:
            return ""
        if type(value) is str:
            return clean_text(value, limit)
        if isinstance(value, (int, float)):
            return str(value)
        self.note(f"expected text, got {kind_of(value)}; ignored", key)
        return ""

    def docs(self, owner: dict[str, Any]) -> tuple[str, ...]:
        """Read owner["docs"], a list of lines or a single text, as cleaned lines."""
        value = owner.get("docs")
        if not value:
            return ()
        if type(value) is str:
            return (clean_text(value),)
        if type(value) is not list:
            self.note(
                f"expected a list of lines, got {kind_of(value)}; ignored", "docs"
            )
            return ()
        return self._doc_lines(value)

    def _doc_lines(self, lines: list[Any]) -> tuple[str, ...]:
        if len(lines) > MAX_DOC_LINES:
            self.note(
                f"{len(lines)} lines of docs; the first {MAX_DOC_LINES} are kept",
                "docs",
            )
            lines = lines[:MAX_DOC_LINES]
        bad = [line for line in lines if type(line) is not str]
        if bad:
            self.note(
                f"expected a line of docs, got {kind_of(bad[0])}; ignored", "docs"
            )
            lines = [line for line in lines if type(line) is str]
        return tuple(map(clean_text, lines))

    # --- flags, numbers, bytes, addresses

    def flag(self, owner: dict[str, Any], *keys: str) -> bool:
        """Return whether any of *keys* is true. A missing or null flag is false."""
        for key in keys:
            value = owner.get(key)
            if value is True:
                return True
            if value is not None and value is not False:
                raise expected("true or false", value, path=key)
        return False

    @staticmethod
    def optional(
        owner: dict[str, Any], key: str, read: Callable[[dict[str, Any], str], T]
    ) -> T | None:
        """Return read(owner, key), or None if owner[key] is missing or null."""
        return None if owner.get(key) is None else read(owner, key)

    def whole(self, owner: dict[str, Any], key: str) -> int:
        """Read owner[key] as an integer. Digits in a string are accepted, decimal or hex, with a finding."""
        value = owner.get(key)
        if type(value) is int:
            return value
        number = _number_in(value)
        if number is not None:
            self.note(
                f"expected an integer, got {kind_of(value)}; read as {number}",
                key,
                "info",
            )
            return number
        raise expected("an integer", value, path=key)

    def bytes_of(self, value: object) -> bytes:
        """Read a list of numbers from 0 to 255 as bytes."""
        if type(value) is list and len(value) <= MAX_BYTE_LIST:
            try:
                return bytes(value)
            except (ValueError, TypeError):
                pass  # the error below says what a list of bytes is
        raise SourceError(f"expected a list of bytes (0 to 255), got {abbr(value)}.")

    def address(self, value: object, what: str, path: str = "address") -> str | None:
        """Read a base58 address. If it is invalid, record a finding and return None.

        An invalid address is dropped, so that nothing is ever sent to it.
        """
        if value is None:
            return None
        if type(value) is str and is_address(value):
            return value
        message = (
            f"{what}: expected an address (32 bytes in base58), got {kind_of(value)}"
        )
        self.note(message, path, "error")
        return None

    def surplus(
        self,
        owner: dict[str, Any],
        known: frozenset[str],
        what: str,
        level: str = "info",
    ) -> None:
        """Record a finding for keys that the dialect does not define; they are ignored.

        *level* is "warning" where such a key may change the bytes.
        """
        extra = sorted(abbr(key, 40) for key in owner.keys() - known)
        if extra:
            self.note(f"{what} has unknown {_listed(extra)}; ignored", level=level)


def _number_in(value: object) -> int | None:
    """Return the number that a text writes in decimal or hex digits, or None."""
    if is_digits(value, MAX_DIGITS):
        return int(value)
    if type(value) is str and _HEX_NUMBER.fullmatch(value):
        return int(value, 16)
    return None


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return f"key {names[0]}"
    text = f"keys {', '.join(names[:_LISTED_KEYS])}"
    more = len(names) - _LISTED_KEYS
    return f"{text} and {more} more" if more > 0 else text
