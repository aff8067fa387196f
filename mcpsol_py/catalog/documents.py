"""What search knows of a program: its names and categories, and the words of each of its instructions.

Everything here comes from a stranger's document, so each text is cleaned and bounded, and a program gives at most
MAX_INSTRUCTIONS instructions to the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from mcpsol_py.catalog.vocabulary import glossary_stems
from mcpsol_py.catalog.words import (
    FILLERS,
    identifier_stems,
    identifier_words,
    stem,
    text_stems,
    tokens,
)
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import Link, Struct
from mcpsol_py.names import clean_text
from mcpsol_py.solana.ids import PROGRAM_NAMES
from mcpsol_py.solana.program_directory import KnownProgram, known_program

__all__ = ["InstructionText", "MAX_INSTRUCTIONS", "ProgramText", "program_text"]

#: More instructions than any real program has. Those after them are not found by search, but can be called.
MAX_INSTRUCTIONS = 2000
#: The most stems of one kind that an instruction or a program gives to the index.
_MAX_STEMS = 160
_MAX_NAME = 120
#: Words of names that people leave out, and the most words that they write as one.
_AFFIXES = frozenset(("spl", "mpl", "solana", "program", "protocol", "finance"))
_MOST_JOINED = 4

#: Category -> stems, of which a program of that category has several in its names, and what people call it.
_CATEGORIES: dict[str, tuple[frozenset[str], str]] = {
    "lending": (
        frozenset(
            ["obligat", "reserv", "collateral", "borrow", "repay", "liquidat", "lend"]
        ),
        "lend borrow loan interest",
    ),
    "concentrated liquidity": (
        frozenset(["tick", "position", "sqrt", "liquidity", "pool", "observat"]),
        "amm dex pool range lp",
    ),
    "bins": (
        frozenset(["bin", "lb", "activ", "liquidity", "pair"]),
        "amm dex pool range lp dlmm",
    ),
    "exchange": (
        frozenset(["swap", "pool", "amm", "lp", "amount", "minimum"]),
        "amm dex pool swap trade",
    ),
    "order book": (
        frozenset(["order", "bid", "ask", "market", "maker", "fill", "limit"]),
        "dex order book trade",
    ),
    "perpetuals": (
        frozenset(
            [
                "perp",
                "position",
                "leverag",
                "funding",
                "margin",
                "custody",
                "long",
                "short",
            ]
        ),
        "perp leverage long short futures",
    ),
    "governance": (
        frozenset(["propos", "vot", "govern", "realm", "quorum", "voter"]),
        "dao governance vote",
    ),
    "multisig": (
        frozenset(["multisig", "member", "threshold", "signer", "propos"]),
        "multisig safe treasury",
    ),
    "staking": (
        frozenset(["stak", "validator", "unstak", "delegat", "pool", "reward"]),
        "stake validator yield",
    ),
    "farm": (
        frozenset(["reward", "farm", "miner", "stak", "harvest", "quarry"]),
        "farm rewards stake",
    ),
    "nft": (
        frozenset(["edit", "collect", "metadata", "creator", "nft", "master"]),
        "nft collectible art",
    ),
    "oracle": (
        frozenset(["price", "feed", "oracl", "twap", "publish", "aggregat"]),
        "oracle price feed",
    ),
    "bridge": (
        frozenset(
            [
                "attest",
                "message",
                "vaa",
                "transceiver",
                "chain",
                "wormhol",
                "outbound",
                "inbound",
            ]
        ),
        "bridge cross chain",
    ),
    "launch": (
        frozenset(["curv", "bond", "creator", "migrat", "launch"]),
        "launch meme coin curve",
    ),
    "vault": (
        frozenset(["vault", "share", "depositor", "manager", "strategy"]),
        "vault fund yield",
    ),
    "token": (
        frozenset(["mint", "freez", "thaw", "burn", "owner", "decimal", "delegat"]),
        "token coin mint balance",
    ),
    "airdrop": (
        frozenset(["distributor", "claim", "proof", "clawback", "airdrop"]),
        "airdrop claim",
    ),
}
#: A program is in a category if its names have this share of the category's stems.
_ENOUGH = 0.7


@dataclass(frozen=True, slots=True)
class InstructionText:
    """The stems of one instruction: of its name, of what such an instruction does, of its docs, and of its parts."""

    name: str
    stems: tuple[str, ...]
    meaning: tuple[str, ...]
    docs: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramText:
    """The names by which a program is called (stems of each), the stems that tell its field, its categories, and its
    instructions.
    """

    name: str
    address: str | None
    called: tuple[tuple[str, ...], ...]
    about: tuple[str, ...]
    categories: tuple[str, ...]
    instructions: tuple[InstructionText, ...]
    is_known: bool


def program_text(model: ProgramModel) -> ProgramText:
    """Return what search knows of *model*."""
    known = known_program(model.name, model.address)
    called = tuple(_called(model, known))
    listed = [
        _ListedInstruction.of(ix) for ix in islice(model.instructions, MAX_INSTRUCTIONS)
    ]
    categories = tuple(_categories(model, listed))
    field = " ".join([*categories, known.about if known is not None else ""])
    kinds = {*chain.from_iterable(called), *text_stems(field)}
    instructions = tuple(_instruction_text(ix, kinds) for ix in listed)
    return ProgramText(
        clean_text(model.name, _MAX_NAME),
        model.address,
        called,
        _bounded(_about(model, known, categories)),
        categories,
        instructions,
        known is not None,
    )


def _called(
    model: ProgramModel, known: KnownProgram | None
) -> Iterator[tuple[str, ...]]:
    """Yield the stems of each name: as it is written, without an affix, and as one word."""
    called = known.called if known is not None else ()
    own = identifier_words(model.name) or tokens(model.name)
    for words in (own, *(_telling(name) for name in called)):
        plain = [word for word in words if word not in _AFFIXES]
        for name in (words, plain if len(plain) > 1 else []):
            if name:
                yield tuple(map(stem, name))
            if 1 < len(name) <= _MOST_JOINED:
                yield (stem("".join(name)),)  # "pump swap" is typed as "pumpswap" too


def _telling(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in FILLERS]


def _about(
    model: ProgramModel, known: KnownProgram | None, categories: Iterable[str]
) -> Iterator[str]:
    yield from identifier_stems(model.name)
    if known is not None:
        yield from text_stems(f"{known.about} {' '.join(known.called)}")
    for category in categories:
        yield from text_stems(f"{category} {_CATEGORIES[category][1]}")
    yield from text_stems(" ".join(islice(model.docs, 20)))
    accounts = (account.name for account in islice(model.accounts, 100))
    events = (event.name for event in islice(model.events, 100))
    for name in chain(accounts, events):
        yield from identifier_stems(name)


class _ListedInstruction(NamedTuple):
    """An instruction with the stems of its name and of its parts."""

    ix: Instruction
    stems: tuple[str, ...]
    parts: tuple[str, ...]

    @classmethod
    def of(cls, ix: Instruction) -> _ListedInstruction:
        return cls(ix, tuple(identifier_stems(ix.name)[:24]), _bounded(_parts(ix)))


def _categories(
    model: ProgramModel, listed: Iterable[_ListedInstruction]
) -> Iterator[str]:
    """Yield the categories that the program's structure shows: its accounts, and the words of its instructions."""
    seen = set(
        chain.from_iterable(
            identifier_stems(a.name) for a in islice(model.accounts, 200)
        )
    )
    for one in listed:
        seen.update(one.stems, one.parts)
    for category, (typical, _) in _CATEGORIES.items():
        if len(typical & seen) >= _ENOUGH * len(typical):
            yield category


def _instruction_text(
    listed: _ListedInstruction, kinds: Iterable[str]
) -> InstructionText:
    ix, stems, parts = listed
    docs = " ".join(islice(chain(ix.docs, ix.when_to_use), 40))
    return InstructionText(
        clean_text(ix.name, _MAX_NAME),
        stems,
        _bounded(glossary_stems(stems, kinds)),
        _bounded(text_stems(docs)),
        parts,
    )


def _parts(ix: Instruction) -> Iterator[str]:
    """Yield the stems of an instruction's arguments and accounts, and of the programs that it calls."""
    for argument in islice(ix.args, 100):
        yield from identifier_stems(argument.name)
        yield from _type_stems(argument.type)
    for account in islice(_leaves(ix.accounts), 200):
        yield from identifier_stems(account.name)
        yield from text_stems(PROGRAM_NAMES.get(account.address or "", ""))


def _type_stems(node: object) -> Iterator[str]:
    if isinstance(node, Link):
        yield from identifier_stems(node.name)
    elif isinstance(node, Struct):
        for part in islice(node.fields, 30):
            yield from identifier_stems(part.name)


def _leaves(items: Iterable[AccountItem]) -> Iterator[Account]:
    for item in items:
        if isinstance(item, AccountGroup):
            yield from _leaves(item.accounts)
        else:
            yield item


def _bounded(stems: Iterable[str]) -> tuple[str, ...]:
    return tuple(islice(dict.fromkeys(stems), _MAX_STEMS))
