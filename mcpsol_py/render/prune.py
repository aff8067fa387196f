"""Keeps only the items of a library file (checks.rs, codec.rs, log.rs) that a crate uses.

The templates of these files hold every function that any program may need. A crate gets the functions that its other
files call, and the functions that those call. The files are our own templates, so a small reader is enough: items are
separated by blank lines, and so are the methods of an `impl` or a `trait`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby

from mcpsol_py.render.imports import split_at_imports

__all__ = ["Usage", "bare", "prune"]

_COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|b?"(?:\\.|[^"\\])*"')
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_CALL = re.compile(r"(?<![\w.])([a-z_]\w*)\s*(?:\(|::<)|_or_else\((\w+)\)")
_METHOD = re.compile(r"\b(r|w|bytes|part|self)\??\s*\.\s*([a-z_]\w*)\s*(?:\(|::<)")
_ASSOCIATED = re.compile(r"\b([A-Z]\w*)(?:::<[^>]*>)?::([a-z_]\w*)")
_DEFINES = re.compile(r"\b(fn|const|static|struct|enum|trait|macro_rules!)\s+(\w+)")
_IMPL = re.compile(
    r"^(?:unsafe )?(impl|trait)\b(?:<[^>]*>)?\s*(?:(\w+)(?:<[^>]*>)?\s+for\s+)?(\w+)"
)

#: The variables that generated code reads from and writes to, by the type that they have.
_RECEIVERS = {"r": "Reader", "w": "Output", "bytes": "Output", "part": "Output"}

#: The types whose methods are kept one by one; an `impl` of another type is kept as a whole.
_BY_METHOD = ("Reader", "Output", "Writer")


def bare(text: str) -> str:
    """Rust without comments and string literals.

    >>> bare('call("a b"); // why')
    'call(); '
    """
    return _COMMENTS_AND_STRINGS.sub("", text)


def _distinct_lines(texts: Iterable[str]) -> str:
    """Each line of *texts* once: instructions repeat most of their lines, and searching is slow."""
    lines = dict.fromkeys(line for text in texts for line in text.splitlines())
    return "\n".join(lines)


@dataclass(slots=True)
class Usage:
    """The names that some Rust uses: words, functions that it calls, and methods by the type of their receiver."""

    words: set[str]
    calls: set[str]
    methods: set[tuple[str, str]]
    #: methods that are called on a receiver of unknown type
    any_method: set[str]

    @classmethod
    def of_generated(cls, texts: Iterable[str], itself: str = "") -> Usage:
        """The names in generated Rust. `itself`: the type that `self` and `part` have in it, if it is a method."""
        usage = cls(set(), set(), set(), set())
        receivers = _RECEIVERS | ({"self": itself, "part": itself} if itself else {})
        for text in texts if itself else [_distinct_lines(texts)]:
            text = bare(text)
            usage.words.update(_WORD.findall(text))
            usage.calls.update(chain.from_iterable(_CALL.findall(text)))
            usage.methods.update(_ASSOCIATED.findall(text))
            usage.methods.update(
                (receivers[receiver], name)
                for receiver, name in _METHOD.findall(text)
                if receiver in receivers
            )
            if itself:
                usage.methods.update(
                    (itself, name) for name in re.findall(r"\bSelf::(\w+)", text)
                )
        return usage

    @classmethod
    def of_author(cls, text: str) -> Usage:
        """The names that the author's Rust may use: every word that it contains."""
        words = set(re.findall(r"\w+", bare(text)))
        return cls(words, words, set(), words)

    def add(self, other: Usage) -> None:
        """Everything that *other* uses, too."""
        self.words |= other.words
        self.calls |= other.calls
        self.methods |= other.methods
        self.any_method |= other.any_method

    def has_method(self, owner: str, name: str) -> bool:
        """Is this method called?"""
        return (owner, name) in self.methods or name in self.any_method


@dataclass(slots=True)
class _Item:
    """One item of a library file, or one method of an `impl` (`block`: the number of its block).

    `trait` is the trait of an `impl` for a type. A "required" method is one that a trait only declares.
    """

    text: str
    kind: str
    name: str
    owner: str = ""
    block: int | None = None
    kept: bool = False
    trait: str = ""

    def is_used(self, usage: Usage) -> bool:
        match self.kind:
            case "method":
                return self.owner in usage.words and usage.has_method(
                    self.owner, self.name
                )
            case "required":
                return self.owner in usage.words
            case "fn":
                return self.name in usage.calls
        return usage.words.issuperset(filter(None, (self.name, self.trait)))


@dataclass(slots=True)
class _Block:
    """An `impl` or a `trait`: its first line, and whether it implements a trait, so that it is kept as a whole."""

    opening: str
    owner: str
    is_whole: bool


def prune(text: str, usage: Usage) -> str:
    """The library file *text* without the items that neither *usage* nor the kept items use.

    Adds to *usage* what the kept items use.
    """
    head, mark, body = split_at_imports(text)
    blocks: list[_Block] = []
    items: list[_Item] = []
    for chunk in _chunks(body, ""):
        items += _items(chunk, blocks)
    _keep(items, blocks, usage)
    return head + mark + "\n" + "\n\n".join(_written(items, blocks)) + "\n"


def _chunks(text: str, indent: str) -> list[str]:
    """*text* cut at the blank lines between items with this indentation."""
    return [
        chunk.strip("\n")
        for chunk in re.split(rf"\n\n+(?={indent}\S)", text.strip("\n"))
        if chunk.strip()
    ]


def _items(chunk: str, blocks: list[_Block]) -> Iterator[_Item]:
    first = next(
        line for line in chunk.splitlines() if not line.startswith(("//", "#["))
    )
    opening = _IMPL.match(first.removeprefix("pub "))
    if opening is None:
        yield _single_item(chunk, first)
        return
    keyword, trait, owner = opening.groups()
    at = chunk.index(first) + len(first)
    is_whole = trait is not None or owner not in _BY_METHOD
    blocks.append(_Block(chunk[:at], owner, is_whole))
    block = len(blocks) - 1
    if is_whole:
        ours = trait if trait in _BY_METHOD else ""
        yield _Item(chunk, "type", owner, block=block, trait=ours)
        return
    if keyword == "trait":
        yield _Item("", "type", owner)
    for method in _chunks(chunk[at : chunk.rindex("}")], "    "):
        yield _method(method, owner, block)


def _single_item(chunk: str, first: str) -> _Item:
    """A function, constant, type or macro. A call of a macro is used if the macro is."""
    defined = _DEFINES.search(bare(chunk))
    if defined is None:
        return _Item(chunk, "macro", first.partition("!")[0])
    return _Item(chunk, "fn" if defined[1] == "fn" else "type", defined[2])


def _method(text: str, owner: str, block: int) -> _Item:
    defined = re.search(r"\bfn (\w+)", bare(text))
    assert defined is not None, text
    is_declared_only = bare(text).rstrip().endswith(";")
    kind = "required" if is_declared_only else "method"
    return _Item("    " + text.strip(), kind, defined[1], owner, block)


def _keep(items: list[_Item], blocks: list[_Block], usage: Usage) -> None:
    """Marks the items that are used, until no more become so."""
    changed = True
    while changed:
        changed = False
        for item in items:
            if item.kept or not item.is_used(usage):
                continue
            item.kept = changed = True
            usage.add(Usage.of_generated([_body(item)], item.owner))


def _body(item: _Item) -> str:
    """The item without its own name, which would count as its use."""
    return re.sub(
        rf"\b(fn|const|static|struct|enum|trait)\s+{item.name}\b", "", item.text
    )


def _written(items: list[_Item], blocks: list[_Block]) -> Iterator[str]:
    """The kept items in order; those of one block together."""
    kept = [item for item in items if item.kept and item.text]
    for block, group in groupby(kept, key=lambda item: item.block):
        texts = [item.text for item in group]
        if block is None or blocks[block].is_whole:
            yield from texts
        else:
            yield blocks[block].opening + "\n" + "\n\n".join(texts) + "\n}"
