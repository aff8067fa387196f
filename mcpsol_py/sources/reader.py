"""What all readers of JSON documents share: opening the document, kinds, names, docs, addresses, and findings with
paths.

Paths cost nothing while all is well: a reader never builds one on its way down. `Reader.each` and `Reader.inside` add
the step they know to an error that passes, and to the findings made below them, while the calls return."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import orjson

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import Discriminator
from mcpsol_py.names import clean_text, snake
from mcpsol_py.solana.base58 import is_address

__all__ = ["MAX_BYTES", "Reader", "derived", "keys", "kind_of", "load_bytes", "parse_json"]

T = TypeVar("T")

#: The largest IDL known takes 1.5 MB. What is larger than this is no IDL, and would only cost memory.
MAX_BYTES = 16 * 1024 * 1024
MAX_NAME = 256
MAX_DOC_LINES = 512
MAX_DIGITS = 20
MAX_FINDINGS = 1000


def load_bytes(
    source: str | PathLike[str] | bytes | bytearray, origin: str = ""
) -> tuple[bytes, str]:
    """The bytes of a file, or those given, at most MAX_BYTES; and what to call them. Raises SourceError."""
    if isinstance(source, (bytes, bytearray)):
        if len(source) > MAX_BYTES:
            raise _too_large(len(source), origin)
        return bytes(source), origin
    path = Path(fspath(source))
    origin = origin or str(path)
    try:
        if path.is_dir():
            raise SourceError("this is a folder. Give the IDL file in it.", origin=origin)
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise _too_large(size, origin)
        if size:
            data = path.read_bytes()
        else:  # a pipe does not tell its size
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SourceError("there is no such file.", origin=origin) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise SourceError(f"the file cannot be read: {why}.", origin=origin) from error
    if len(data) > MAX_BYTES:
        raise _too_large(len(data), origin)
    return data, origin


def _too_large(size: int, origin: str) -> SourceError:
    return SourceError(
        f"{size:,} bytes. The largest IDLs take under 2,000,000, and over {MAX_BYTES:,} none is read.",
        origin=origin,
    )


def parse_json(data: bytes, origin: str = "") -> Any:
    """The JSON value. Raises SourceError, which tells a truncated file from one that is no JSON."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data[:2] in (
        b"\xff\xfe",
        b"\xfe\xff",
    ):  # as a shell on Windows writes what is sent to a file
        data = data.decode("utf-16", "replace").encode()
    if not data.strip():
        raise SourceError("the file is empty. An IDL is a JSON object.", origin=origin)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        cut = error.pos >= len(data.rstrip()) - 1 or "unexpected end" in error.msg
        where = f"line {error.lineno}, column {error.colno}"
        starts = (
            f" It starts with {abbr(data[:24])}; an IDL is a JSON object."
            if error.lineno == error.colno == 1
            else ""
        )
        if cut and not starts:
            raise SourceError(
                f"the JSON ends too early, at {where}: the file is truncated. Fetch or build it again.",
                origin=origin,
            ) from error
        raise SourceError(f"not JSON: {error.msg}, at {where}.{starts}", origin=origin) from error


def kind_of(value: object) -> str:
    """What JSON calls the value's kind, with the value: "the number 5"."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {abbr(value, 40)}"
    if isinstance(value, str):
        return f"the text {abbr(value, 60)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object with " + (
            ", ".join(abbr(k, 24) for k in list(value)[:4]) or "nothing in it"
        )
    return f"a {type(value).__name__}"


def keys(text: str) -> frozenset[str]:
    """The keys of an object, from a text with spaces between them."""
    return frozenset(text.split())


def derived(namespace: str, name: str) -> Discriminator:
    """Anchor's discriminator: the first 8 bytes of sha256("namespace:name"); an instruction's name ("global") in
    snake case."""
    text = f"{namespace}:{snake(name) if namespace == 'global' else name}"
    return Discriminator(
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "anchor"
    )


class Reader:
    """Reads one document. `findings` are [path, level, message], the path growing while readers return."""

    def __init__(self, origin: str = "") -> None:
        self.origin = origin
        self.findings: list[list[str]] = []

    # --- findings and errors

    def note(self, message: str, path: str = "", level: str = "warning") -> None:
        """A finding at *path* below the place that is being read."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append([path, level, message])

    def _place(self, mark: int, step: str) -> None:
        for finding in self.findings[mark:]:
            joiner = "" if not finding[0] or finding[0].startswith("[") else "."
            finding[0] = f"{step}{joiner}{finding[0]}"

    def found(self) -> tuple[tuple[str, str, str], ...]:
        """The findings as the model keeps them."""
        out = [(path, level, message) for path, level, message in self.findings]
        if len(out) == MAX_FINDINGS:
            out.append(
                ("", "warning", f"there are more findings than the {MAX_FINDINGS} that are kept")
            )
        return tuple(out)

    def wrong(self, found: object, wanted: str) -> NoReturn:
        """Raises the SourceError for a value of the wrong kind."""
        raise SourceError(f"found {kind_of(found)} where {wanted} must stand.")

    # --- walking

    def each(
        self, owner: dict[str, Any], key: str, read: Callable[[dict[str, Any]], T]
    ) -> tuple[T, ...]:
        """read(item) for every object of the list owner[key]; an absent or null list is empty."""
        values = owner.get(key)
        if values is None:
            return ()
        if type(values) is not list:
            raise SourceError(f"found {kind_of(values)} where a list must stand.", path=key)
        out: list[T] = []
        findings, mark, i = self.findings, len(self.findings), -1
        try:
            for i, item in enumerate(values):
                if type(item) is not dict:
                    self.wrong(item, "an object")
                out.append(read(item))
                if len(findings) != mark:
                    self._place(mark, f"{key}[{i}]")
                    mark = len(findings)
        except SourceError as error:
            error.at(path=f"{key}[{i}]")
            raise
        return tuple(out)

    def inside(self, key: str, read: Callable[[Any], T], value: Any) -> T:
        """read(value), with *key* put before the paths of what it raises and finds."""
        mark = len(self.findings)
        try:
            out = read(value)
        except SourceError as error:
            error.at(path=key)
            raise
        if len(self.findings) != mark:
            self._place(mark, key)
        return out

    # --- leaves

    def name(self, owner: dict[str, Any], key: str = "name") -> str:
        """owner[key] as a name: as written, without control and invisible characters, at most 256 long."""
        value = owner.get(key)
        if type(value) is str and value and len(value) <= MAX_NAME and value.isprintable():
            return value
        if type(value) is not str:
            if value is None:
                raise SourceError(f"{key!r} is missing.")
            raise SourceError(f"found {kind_of(value)} where a name must stand.", path=key)
        cleaned = self.clean_name(value)
        if not cleaned:
            raise SourceError("the name is empty.", path=key)
        self.note(f"the name {abbr(value)} is read as {abbr(cleaned)}", key)
        return cleaned

    def program_name(self, owner: dict[str, Any]) -> str:
        """owner["name"] as the program's; nothing needs it to call the program, so one without is called "program"."""
        value = owner.get("name")
        if value is None or (type(value) is str and not self.clean_name(value)):
            self.note('the program has no name; it is called "program" here', "name")
            return "program"
        return self.name(owner)

    @staticmethod
    def clean_name(value: str) -> str:
        """A name that can be printed and addressed. Long ones end in a hash of the whole, so that two stay two."""
        if len(value) <= MAX_NAME and value.isprintable():
            return value
        text = "".join(
            c
            for c in clean_text(value.encode("utf-8", "replace").decode(), 4 * MAX_NAME)
            if c.isprintable()
        )
        if len(value) > MAX_NAME:
            digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            text = f"{text[: MAX_NAME - 9]}_{digest}"
        return text.strip()

    def text(self, owner: dict[str, Any], key: str, limit: int = 4096) -> str:
        """owner[key] as cleaned text; absent or null is ""."""
        value = owner.get(key)
        if value is None:
            return ""
        if type(value) is not str:
            if isinstance(value, (int, float)):
                return str(value)
            raise SourceError(f"found {kind_of(value)} where text must stand.", path=key)
        return clean_text(value, limit)

    def docs(self, owner: dict[str, Any]) -> tuple[str, ...]:
        """owner["docs"]: a list of lines, or one text; cleaned."""
        value = owner.get("docs")
        if not value:
            return ()
        if type(value) is str:
            value = [value]
        if type(value) is not list:
            raise SourceError(
                f"found {kind_of(value)} where a list of lines must stand.", path="docs"
            )
        if len(value) > MAX_DOC_LINES:
            self.note(f"{len(value)} lines of docs; the first {MAX_DOC_LINES} are kept", "docs")
            value = value[:MAX_DOC_LINES]
        try:
            return tuple([clean_text(line) for line in value])
        except (AttributeError, TypeError):
            bad = next(line for line in value if type(line) is not str)
            raise SourceError(
                f"found {kind_of(bad)} where a line of docs must stand.", path="docs"
            ) from None

    def flag(self, owner: dict[str, Any], *keys: str) -> bool:
        """Is any of the keys true? Absent and null are false."""
        for key in keys:
            value = owner.get(key)
            if value is True:
                return True
            if value is not None and value is not False:
                raise SourceError(
                    f"found {kind_of(value)} where true or false must stand.", path=key
                )
        return False

    def whole(self, owner: dict[str, Any], key: str) -> int:
        """owner[key] as an integer; one written as text is read."""
        value = owner.get(key)
        if (
            type(value) is str
            and len(value) <= MAX_DIGITS
            and value.removeprefix("-").isdecimal()
            and value.isascii()
        ):
            self.note(
                f"found {kind_of(value)} where an integer must stand; read as one", key, "info"
            )
            return int(value)
        if type(value) is not int:
            raise SourceError(f"found {kind_of(value)} where an integer must stand.", path=key)
        return value

    def bytes_of(self, value: object) -> bytes:
        """A list of numbers from 0 to 255 as bytes."""
        if type(value) is list and len(value) <= 4096:
            try:
                return bytes(value)
            except (ValueError, TypeError):
                pass
        raise SourceError(f"found {abbr(value)} where a list of bytes (0 to 255) must stand.")

    def address(self, value: object, what: str, path: str = "address") -> str | None:
        """A base58 address, or None with a finding when it is none: it is then never sent anywhere."""
        if value is None:
            return None
        if type(value) is str and is_address(value):
            return value
        self.note(f"{what}: {kind_of(value)} is no address (32 bytes in base58)", path, "error")
        return None

    def surplus(self, owner: dict[str, Any], known: frozenset[str], what: str) -> None:
        """A finding for keys that the dialect does not have; they are ignored."""
        if not known.issuperset(owner):
            extra = sorted(abbr(k, 40) for k in owner if k not in known)
            self.note(
                f"{what} has {_listed(extra)}, which this reader does not know; ignored",
                level="info",
            )


def _listed(items: Iterable[str]) -> str:
    names = list(items)
    text = ", ".join(names[:6])
    return (
        f"keys {text} and {len(names) - 6} more"
        if len(names) > 6
        else f"key{'s' if len(names) > 1 else ''} {text}"
    )
