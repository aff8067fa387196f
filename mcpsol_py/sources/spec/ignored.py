"""Words of an account that no generated check would hold. They are refused, because an author relies on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcpsol_py.errors import SourceError
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec.parameters import AccountParameter, Unwrapped

__all__ = ["refuse_ignored", "refuse_ignored_remaining"]

_NEW = "each call creates the account"
_ONE_ADDRESS = "an account has one address"

#: Two words that exclude each other, and why. If `init` is only for a missing account, the first kind may be together.
_PAIRS: tuple[tuple[type, type, str], ...] = (
    (
        words.init,
        words.has_one,
        f"{_NEW}, so its fields are zero: set them in the handler",
    ),
    (words.init, words.owner, f"{_NEW}, so its owner is known"),
    (words.seeds, words.associated, _ONE_ADDRESS),
    (words.seeds, words.address, _ONE_ADDRESS),
    (words.associated, words.address, _ONE_ADDRESS),
    (
        words.token,
        words.associated,
        "associated(…) checks the mint and the authority too",
    ),
)
_ALWAYS_APART: tuple[tuple[type, type, str], ...] = (
    (words.init, words.realloc, "give init the space"),
    (words.init, words.close, "the account would be gone after the call"),
    (words.realloc, words.close, "the account would be gone after the call"),
)

#: What the accounts after the named ones may be, besides state: their words are Mut, Ref and signer.
_FOR_REMAINING = (
    words.Signer,
    words.Payer,
    words.Unchecked,
    words.TokenAccount,
    words.Mint,
)


def refuse_ignored(p: AccountParameter) -> None:
    """Raise SourceError if one of the account's words would check nothing."""
    apart = _ALWAYS_APART if _is_if_needed(p) else (*_PAIRS, *_ALWAYS_APART)
    for one, other, why in apart:
        if p.has(one) and p.has(other):
            raise SourceError(
                f"{one.__name__} and {other.__name__} exclude each other: {why}."
            )
    for is_wrong, message in _WRONG:
        if is_wrong(p):
            raise SourceError(message)


def refuse_ignored_remaining(name: str, found: Unwrapped) -> None:
    """Raise SourceError if an annotation of the accounts after the named ones says more than a check can hold."""
    known = all(
        isinstance(r, words.Access) or r in (words.signer, ...) for r in found.remarks
    )
    is_state = found.is_subclass_of(words.Account) and found.base is not words.Account
    if not (found.base in _FOR_REMAINING or is_state) or not known:
        raise SourceError(
            f"each account of *{name} is checked for what it is, to sign and to be writable, and nothing else: annotate"
            f" it with Signer, Payer, Unchecked, TokenAccount, Mint or an account type, as in `*{name}: Signer` or"
            f" `*{name}: Mut[TokenAccount, ...]`."
        )
    if found.optional:
        raise SourceError(f"*{name} may be empty already: leave `| None` out.")


def _is_if_needed(p: AccountParameter) -> bool:
    return any(isinstance(r, words.init) and r.if_needed for r in p.remarks)


def _otherwise(p: AccountParameter) -> words.otherwise:
    given = [r for r in p.remarks if isinstance(r, words.otherwise)]
    return given[0] if given else words.otherwise()


def _has_address(p: AccountParameter) -> bool:
    base: Any = p.base
    of_kind = (
        getattr(base, "mcpsol_address", None),
        getattr(base, "mcpsol_one_of", ()),
    )
    return p.has(words.address) or any(of_kind)


def _closes_to_itself(p: AccountParameter) -> bool:
    return any(
        isinstance(r, words.close) and r.to in (p.name, p.dotted) for r in p.remarks
    )


_WRONG: tuple[tuple[Callable[[AccountParameter], bool], str], ...] = (
    (
        lambda p: issubclass(p.base, words.Wallet) and p.has(words.owner),
        "a Wallet is owned by the system program already: use Unchecked for another owner.",
    ),
    (
        lambda p: p.is_state and p.has(words.owner),
        "this program owns its state, so leave owner(…) out.",
    ),
    (
        lambda p: p.is_state and words.executable in p.remarks,
        "this program's state is never executable.",
    ),
    (
        lambda p: _otherwise(p).signer is not None and not p.signs,
        "otherwise(signer=…) is for an account that signs: use Signer, Payer or signer.",
    ),
    (
        lambda p: _otherwise(p).address is not None and not _has_address(p),
        "otherwise(address=…) is for an account with a fixed address.",
    ),
    (_closes_to_itself, "an account cannot get its own lamports when it is closed."),
)
