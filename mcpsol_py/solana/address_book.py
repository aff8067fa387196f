"""Names of addresses on one chain, and the decimals of its mints: for what people and models read and write.

"@usdc" means an address wherever one is expected, and is shown wherever that address is. A name comes from the first of
these that has it: the owner ([names] in a configuration), the local chain's setup, the known mints of the chain, the
known programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import ascii_letters, digits
from types import MappingProxyType
from typing import Any

from mcpsol_py.errors import SourceError, abbr, suggest
from mcpsol_py.items import texts_in
from mcpsol_py.solana import ids

__all__ = ["AddressBook", "is_name", "ui_amount"]

_NAME = re.compile(r"@[a-z][a-z0-9_-]{0,31}")
_ADDRESS = r"[1-9A-HJ-NP-Za-km-z]{32,44}"
#: A mint that has a name is not called a mint, too.
_MINT = "mint "
_ADDRESSES = re.compile(rf"(?:{_MINT})?(?<![0-9A-Za-z])({_ADDRESS})(?![0-9A-Za-z])")
_ALPHANUMERIC = frozenset(ascii_letters + digits)
_AMOUNT = r"(?<![0-9,])-?[0-9][0-9,]{0,40}"
_AMOUNTS = re.compile(
    rf"(?P<amount>{_AMOUNT}) (?:base units of (?:mint )?(?P<mint>{_ADDRESS}|SOL)|lamports)\b"
)
#: A program's address alone, without a name between. It begins with a literal, which is found ten times faster.
_PROGRAM = re.compile(rf"rogram ({_ADDRESS})(?![0-9A-Za-z])")
#: A headline names the program first: "counter · deposit · program …". This precedes the address there.
_HEADLINE = "· p"
#: As many names are looked for one by one.
_FEW = 40
_SOL = "SOL"
_NONE: Mapping[str, str] = MappingProxyType({})
_PROGRAMS = {
    name.lower().replace(" ", "-"): key for key, name in ids.PROGRAM_NAMES.items()
}


def is_name(text: object) -> bool:
    """Return True if *text* has the form of a name: "@alice"."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def ui_amount(amount: int, decimals: int | None) -> str:
    """Write an amount of base units with its decimal point: (1500000, 6) gives "1.5"."""
    if not decimals:
        return str(amount)
    sign = "-" if amount < 0 else ""
    digits = str(abs(amount)).rjust(decimals + 1, "0")
    text = f"{sign}{digits[:-decimals]}.{digits[-decimals:]}"
    return text.rstrip("0").rstrip(".")


def _with_name(text: str, address: str, name: str) -> str:
    """Write *name* for each *address* that no letter or digit touches."""
    start = text.find(address)
    while start >= 0:
        end = start + len(address)
        if _ALPHANUMERIC.isdisjoint({text[start - 1 : start], text[end : end + 1]}):
            before = text[:start].removesuffix(_MINT) + name
            text, end = before + text[end:], len(before)
        start = text.find(address, end)
    return text


class AddressBook:
    """The names on the chain *cluster*. *own* and *local* are names (without "@") -> addresses, looked up on use.

    *make* returns the address of a name that nobody has, or raises SourceError: a local chain without a setup makes
    wallets. `decimals` are by mint: a reader of a mint adds them. `add_program` adds the name of a served program.
    """

    def __init__(
        self,
        cluster: str = "",
        own: Mapping[str, str] = _NONE,
        local: Mapping[str, str] = _NONE,
        make: Callable[[str], str] | None = None,
    ) -> None:
        self._own, self._local, self._make = own, local, make
        mints = ids.KNOWN_MINTS.get(cluster, {})
        self._mints = {name: address for name, (address, _) in mints.items()}
        self.decimals: dict[str, int] = dict(mints.values())
        self.decimals[_SOL] = 9
        self._programs: dict[str, str] = {}
        self._shown: tuple[int, dict[str, str]] = (-1, {})

    # --- from names to addresses -------------------------------------------------------------------

    def given_names(self) -> dict[str, str]:
        """Return the names that the owner and the local chain gave."""
        return {**self._local, **self._own}

    def address_of(self, name: str) -> str | None:
        """Return the address of "@name", or None if nobody gave that name."""
        plain = name.removeprefix("@")
        for names in (self._own, self._local, self._mints, _PROGRAMS):
            if plain in names:
                return names[plain]
        return None

    def address(self, text: str) -> str:
        """Return the address of "@name"; other text is returned unchanged. Raises SourceError for an unknown name."""
        if not text.startswith("@"):
            return text
        found = self.address_of(text)
        if found is not None:
            return found
        if self._make is not None:
            return self._make(text)
        known = sorted({*self.given_names(), *self._mints, *_PROGRAMS})
        raise SourceError(
            f"no address is called {abbr(text)}. {suggest(text[1:], known)}"
        )

    def resolve(self, value: Any, *, known_only: bool = False) -> Any:
        """Replace every "@name" in a JSON value by its address. Raises SourceError for an unknown name.

        With *known_only*, all texts stay but the names that the owner and the local chain gave: *value* may hold texts
        that are no addresses.
        """
        match value:
            case list():
                return [self.resolve(item, known_only=known_only) for item in value]
            case dict():
                resolved = [
                    self.resolve(item, known_only=known_only) for item in value.values()
                ]
                return dict(zip(value, resolved, strict=True))
            case str() if value.startswith("@"):
                is_name = self._is_given(value) or not known_only
                return self.address(value) if is_name else value
        return value

    def _is_given(self, name: str) -> bool:
        return name[1:] in self._own or name[1:] in self._local

    def add_program(self, address: str, name: str) -> None:
        """Show *name* beside the address of a program. A well-known program keeps its own name."""
        self._programs[address] = name

    # --- from addresses to names -------------------------------------------------------------------

    def name_of(self, address: str) -> str | None:
        """Return "@name" for an address that has one."""
        return self._by_address().get(address)

    def _by_address(self) -> dict[str, str]:
        """Return the names by address, made again when a name came."""
        size = len(self._own) + len(self._local)
        if self._shown[0] != size:
            every = {**self._mints, **self._local, **self._own}
            self._shown = (
                size,
                {address: f"@{name}" for name, address in every.items()},
            )
        return self._shown[1]

    def shown(self, address: str) -> str:
        """Return an address as people read it: its name, or the address itself."""
        return self.name_of(address) or address

    def names_in(self, value: Any) -> dict[str, str]:
        """Return the names of the addresses in a JSON value, by address: "@alice", or the name of a known program."""
        known = ids.PROGRAM_NAMES | self._by_address()
        return {text: known[text] for text in texts_in(value) if text in known}

    def amount(self, amount: int, mint: str) -> str:
        """Return an amount of base units with its unit: "1.5 @usdc", "0.1 SOL", "5 base units of EPjF…"."""
        decimals = self.decimals.get(mint)
        if decimals is None:
            return f"{amount:,} base units of {self.shown(mint)}"
        return f"{ui_amount(amount, decimals)} {self.shown(mint)}"

    def named(self, text: str) -> str:
        """Return *text* with names for its addresses, and amounts with the decimals of their mints.

        A program is shown by name and address: another program may have the same name.
        """
        if "rogram " in text:
            text = _PROGRAM.sub(self._program_text, text)
        if "base units of " in text or " lamports" in text:
            text = _AMOUNTS.sub(self._amount_text, text)
        names = self._by_address()
        if len(names) > _FEW:
            return _ADDRESSES.sub(lambda found: names.get(found[1], found[0]), text)
        # A few addresses are found much faster than anything like an address.
        for address in filter(text.__contains__, names):
            text = _with_name(text, address, names[address])
        return text

    def _program_text(self, found: re.Match[str]) -> str:
        start, address = found.start(), found[1]
        name = ids.PROGRAM_NAMES.get(address) or self._programs.get(address)
        in_headline = found.string.startswith(_HEADLINE, max(0, start - len(_HEADLINE)))
        if name is None or in_headline or address in self._by_address():
            return found[0]
        return f"rogram {name} ({address})"

    def _amount_text(self, found: re.Match[str]) -> str:
        mint = found["mint"] or _SOL
        if mint not in self.decimals:
            return found[0]
        return self.amount(int(found["amount"].replace(",", "")), mint)
