"""Words of questions and of programs: plain letters, cut to their stems, without fillers.

The index and the questions go through the same functions, so that "depositing" finds `depositSol`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_lowercase

from mcpsol_py import names

__all__ = [
    "FILLERS",
    "MAX_TEXT",
    "glued_words",
    "identifier_stems",
    "identifier_words",
    "one_letter_off",
    "stem",
    "text_stems",
    "tokens",
]

#: Longer texts are cut before they are split into words.
MAX_TEXT = 4000
#: The longest word, which is an address, and the longest identifier that is split into words.
_MAX_WORD, _MAX_NAME = 44, 200
_TOKEN = re.compile(r"[0-9A-Za-z_\u0080-\uffff]+")
_VERSION = re.compile(r"v?\d{1,3}")
#: Words with hyphens or dots between them, and the version at the end of one.
_GLUED = re.compile(r"[0-9A-Za-z]+(?:[-_.][0-9A-Za-z]+)*")
_END_VERSION = re.compile(r"(?<=[a-z]{3})v\d+$")
_MOST_PARTS = 5


def _set_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that do not say what to look for.
FILLERS = _set_of(
    """
    a about again all also am an and another any are as at be been but by can cant could did do does dont each either
    else ever every for from get gets give got had has have having he her him his how i if im in instruction into is it
    its just let lets like ll make makes me might mine my myself need needs no not now of off on one onto or other our
    out over per please pls program re s shall she should so solana some somebody someone something such t tell than
    that the their them then there these they this those through to tool tools too us use uses using ve via want wants
    was way we were what when where which while who whom whose why will wish with without would yet you your
    actually already anybody anyone anything because before being both called could'nt currently down even exactly few
    first here however instead kind lot many may maybe more most much must never nobody nothing only own quite really
    right same several since sort still sure thing things though thus together try until up upon very well whatever
    whether yes yourself
    hey hi hello yo ok okay thx thanks bro dude ser fren anon wanna gonna gotta
    """
)

#: Endings of inflected words with what replaces them, tried in order, and the letters that must stay.
_ENDINGS = (
    ("ities", "ity", 2),
    ("ations", "ate", 3),
    ("ation", "ate", 3),
    ("izing", "ize", 3),
    ("ied", "y", 2),
    ("ies", "y", 2),
    ("sses", "ss", 2),
    ("xes", "x", 2),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("ing", "", 3),
    ("ed", "", 3),
    ("ss", "ss", 1),
    ("us", "us", 1),
    ("is", "is", 1),
    ("s", "", 2),
)
_DOUBLED = re.compile(r"([bdgmnprt])\1$")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a word in lower case.

    >>> stem("positions"), stem("swapping"), stem("liquidity"), stem("locked"), stem("lock")
    ('position', 'swap', 'liquidity', 'lock', 'lock')
    """
    found = _IRREGULAR.get(word)
    if found is not None:
        return found
    for ending, instead, kept in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= kept:
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3:
        word = _DOUBLED.sub(r"\1", word)
        word = word.removesuffix("e")
    return word


_IRREGULAR = {
    "bought": "buy", "sold": "sell", "sent": "send", "paid": "pay", "made": "mak", "chosen": "choos", "frozen": "freez",
    "froze": "freez", "thawed": "thaw", "lent": "lend", "lost": "los", "won": "win", "gave": "giv", "took": "tak",
    "taken": "tak", "put": "put", "stuck": "stuck", "broken": "break", "written": "writ", "wrote": "writ",
    "withdrawn": "withdraw", "withdrew": "withdraw", "withdrawal": "withdraw", "withdrawals": "withdraw",
    "redemption": "redeem", "liquidation": "liquidat", "initialise": "initializ", "initialised": "initializ",
    "initialize": "initializ", "init": "initializ", "initialization": "initializ", "repayment": "repay",
    "payment": "pay", "payments": "pay", "creation": "creat", "creator": "creator", "removal": "remov",
    "approval": "approv", "proposal": "propos", "proposals": "propos", "delegation": "delegat",
    "deletion": "delet", "acct": "account", "accts": "account", "acount": "account", "amt": "amount",
    "addr": "address", "address": "address", "addresses": "address", "auth": "authority", "authorities": "authority",
    "config": "config", "configs": "config", "configuration": "config", "configure": "config", "params": "parameter",
    "param": "parameter", "tx": "transaction", "txn": "transaction", "txs": "transaction", "acc": "account",
    "liq": "liquidity", "pos": "position", "sol": "sol", "sols": "sol", "fees": "fee", "fee": "fee", "dues": "due",
    "metadata": "metadata", "data": "data", "lamports": "lamport", "migration": "migrat", "swaps": "swap",
    "tokens": "token", "bidding": "bid", "string": "string", "thing": "thing", "king": "king", "ring": "ring",
    "voting": "vot", "votes": "vot", "vote": "vot", "news": "news", "usdc": "usdc", "bonus": "bonus",
    "pass": "pass", "staking": "stak", "staker": "stak", "collateral": "collateral", "added": "add", "adding": "add",
    "adds": "add", "swapped": "swap", "need": "need", "feed": "feed", "speed": "speed", "seed": "seed",
    "exceed": "exceed",
    "exceeded": "exceed", "indeed": "indeed", "bed": "bed", "spring": "spring", "yield": "yield",
    "rolled": "roll", "calling": "call", "selling": "sell", "filling": "fill", "filled": "fill", "called": "call",
    "pulled": "pull", "killed": "kill", "killing": "kill", "unlocked": "unlock", "less": "less",
}  # fmt: skip


def _plain(text: str) -> str:
    """Return *text* in lower case, with compatibility forms and accents folded."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text)
    return "".join(c for c in folded if not unicodedata.combining(c)).lower()


def tokens(text: str) -> list[str]:
    """Return the plain words of a text, those inside identifiers too. Case is folded last.

    >>> tokens("Call openPosition_v2, don't swap!")
    ['call', 'open', 'position', 'v2', 'dont', 'swap']
    """
    found: list[str] = []
    for token in _TOKEN.findall(text[:MAX_TEXT].replace("'", "").replace("\u2019", "")):
        if len(token) <= _MAX_NAME:
            found += (
                _plain(word) for word in names.words(token) if len(word) <= _MAX_WORD
            )
    return list(filter(None, found))


def text_stems(text: str) -> list[str]:
    """Return the stems of a text, without fillers."""
    return [stem(word) for word in tokens(text) if word not in FILLERS]


def identifier_words(name: str) -> list[str]:
    """Return the words of an identifier, without the number of a version.

    >>> identifier_words("openPositionV2"), identifier_words("swap2")
    (['open', 'position'], ['swap'])
    """
    words = [re.sub(r"(?<=[a-z]{2})\d+$", "", word) for word in tokens(name[:200])]
    return [word for word in words if word and not _VERSION.fullmatch(word)]


def identifier_stems(name: str) -> list[str]:
    """Return the stems of an identifier, without the number of a version."""
    return list(map(stem, identifier_words(name)))


def glued_words(text: str) -> list[tuple[str, list[str]]]:
    """Return the words that are written as one, each with its parts, and without the number of a version.

    >>> glued_words("a DeFiTuna or DAMMv2 pool")
    [('defituna', ['de', 'fi', 'tuna']), ('damm', ['dam', 'mv2'])]
    """
    found = ((token, tokens(token)) for token in _GLUED.findall(text[:MAX_TEXT]))
    return [
        (_END_VERSION.sub("", "".join(parts)), parts)
        for token, parts in found
        if 1 < len(parts) <= _MOST_PARTS and len(token) <= _MAX_WORD
    ]


def one_letter_off(word: str) -> set[str]:
    """Return the words that differ from *word* by one letter: left out, added, exchanged or swapped."""
    splits = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    inner = splits[:-1]
    shorter = {a + b[1:] for a, b in inner}
    swapped = {a + b[1::-1] + b[2:] for a, b in inner}
    other = {a + c + b[1:] for a, b in inner for c in ascii_lowercase}
    longer = {a + c + b for a, b in splits for c in ascii_lowercase}
    return shorter | swapped | other | longer
