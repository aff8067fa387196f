"""The account parameters of an instruction, and the names that constraints refer to."""

from __future__ import annotations

import types
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Union, get_args, get_origin

from mcpsol_py.errors import SourceError, UnresolvedName, abbr, suggest
from mcpsol_py.items import only
from mcpsol_py.model.program import AccountBumpValue
from mcpsol_py.model.types import Field, Type
from mcpsol_py.names import snake
from mcpsol_py.solana.base58 import address_bytes
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec.definitions import Definitions

__all__ = [
    "TOKEN_PROGRAMS",
    "AccountParameter",
    "Parameters",
    "check_address",
    "unwrap",
]

TOKEN_PROGRAMS = (words.TokenProgram, words.Token2022Program, words.TokenInterface)

#: Classes that only group others; a parameter needs one of their subclasses.
_ABSTRACT_KINDS = (words.Account, words.Kind, words.Sysvar)
#: Words that an account may have several times.
_REPEATABLE = (words.has_one, words.Flag)


def check_address(text: object) -> str:
    """Return a base58 address. Raises SourceError."""
    try:
        address_bytes(text)  # type: ignore[arg-type]  # the author's own value
    except (ValueError, TypeError) as error:
        raise SourceError(f"{abbr(text)} is not an address: {error}.") from error
    return str(text)


@dataclass(frozen=True)
class Unwrapped:
    """An account annotation in parts: its class, its remarks, and whether the account may be
    absent.
    """

    base: Any
    remarks: tuple[object, ...]
    optional: bool

    def is_subclass_of(self, *kinds: type) -> bool:
        return isinstance(self.base, type) and issubclass(self.base, kinds)


def unwrap(annotation: object) -> Unwrapped:
    """Take an account annotation apart: `Mut[State, has_one("owner")] | None`."""
    present = _without_none(annotation)
    base, remarks = _without_remarks(annotation if present is None else present)
    return Unwrapped(base, remarks, optional=present is not None)


def _without_none(annotation: object) -> object | None:
    """Return X of `X | None`, or None for other annotations."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return None
    given = [a for a in get_args(annotation) if a is not NoneType]
    return only(given)


def _without_remarks(annotation: object) -> tuple[object, tuple[object, ...]]:
    """Return the class inside `Mut[...]` and `Ref[...]`, and the remarks on it."""
    remarks: tuple[object, ...] = ()
    while get_origin(annotation) is Annotated:
        base, *more = get_args(annotation)
        if words.Length in map(type, more):  # `Array[u8, 32]` is a type of its own
            break
        annotation, remarks = base, (*more, *remarks)
    return annotation, remarks


@dataclass
class AccountParameter:
    """One account parameter as annotated, before the names in its constraints are looked up."""

    path: tuple[str, ...]
    base: type
    remarks: tuple[object, ...]
    optional: bool
    docs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    def has(self, word: type) -> bool:
        return any(isinstance(remark, word) for remark in self.remarks)

    @property
    def writable(self) -> bool:
        return issubclass(self.base, words.Payer) or words.WRITABLE in self.remarks

    @property
    def signs(self) -> bool:
        return issubclass(self.base, words.Signer) or words.signer in self.remarks

    @property
    def is_state(self) -> bool:
        """Whether the account is state of this program."""
        return issubclass(self.base, words.Account)


class Parameters:
    """All parameters of one instruction. Constraints look up the names of others here."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.args: list[Field] = []
        self.accounts: dict[tuple[str, ...], AccountParameter] = {}
        #: arguments that give the bump of an account
        self.bumps: list[tuple[str, AccountBumpValue]] = []

    def add_account(
        self, path: tuple[str, ...], annotation: object, docs: tuple[str, ...]
    ) -> AccountParameter:
        """Add the account at *path*. Raises SourceError if the annotation is not that of an
        account.
        """
        found = unwrap(annotation)
        if not found.is_subclass_of(words.Account, words.Kind):
            raise SourceError(
                f"{abbr(annotation)} is not an account: use an Account class, Signer, Wallet,"
                " Unchecked, …."
            )
        if found.base in _ABSTRACT_KINDS:
            raise SourceError(
                f"{found.base.__name__} is abstract: use one of its classes."
            )
        remarks = tuple(r for r in found.remarks if r is not Ellipsis)
        _check_remarks(remarks)
        parameter = AccountParameter(path, found.base, remarks, found.optional, docs)
        self.accounts[path] = parameter
        return parameter

    # --- lookups

    def account_names(self) -> list[str]:
        return [parameter.dotted for parameter in self.accounts.values()]

    def argument(self, name: str) -> Field | None:
        return next((a for a in self.args if a.name == name), None)

    def find(self, name: str, near: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the path of an account: in the group of *near* first, then at the top, or
        "group.account".
        """
        for path in ((*near[:-1], name), (name,), tuple(name.split("."))):
            if path in self.accounts:
                return path
        return None

    def need(self, name: object, near: tuple[str, ...]) -> AccountParameter:
        """Return the account called *name*. Raises SourceError if no account has that name."""
        if not isinstance(name, str):
            raise SourceError(f"expected the name of an account, got {abbr(name)}.")
        path = self.find(name, near)
        if path is None:
            raise UnresolvedName("account", name, self.account_names())
        return self.accounts[path]

    def need_all(self, near: tuple[str, ...], *names: str | None) -> None:
        """Check that all *names* are accounts; None is skipped."""
        for name in names:
            if name is not None:
                self.need(name, near)

    def need_account_or_address(self, text: object, near: tuple[str, ...]) -> None:
        """Check that *text* names an account of the instruction or is an address."""
        if isinstance(text, str) and self.find(text, near) is not None:
            return
        try:
            address_bytes(str(text))
        except ValueError as error:
            near_names = suggest(str(text), self.account_names())
            raise SourceError(
                f"expected an account of this instruction or an address, got {abbr(text)}."
                f" {near_names}"
            ) from error

    def need_program(self, kind: type, why: str) -> AccountParameter:
        """Return the account of a program, such as the system program, that is always given."""
        found = [p for p in self._accounts_of(kind) if not p.optional]
        if found:
            return found[0]
        raise SourceError(
            f"{why}: add the parameter `{snake(kind.__name__)}: {kind.__name__}`."
        )

    def token_program(self) -> AccountParameter | None:
        """Return the last account that is a token program."""
        found = self._accounts_of(*TOKEN_PROGRAMS)
        return found[-1] if found else None

    def _accounts_of(self, *kinds: type) -> list[AccountParameter]:
        return [p for p in self.accounts.values() if issubclass(p.base, kinds)]

    def field_type(self, parameter: AccountParameter, name: str) -> Type:
        """Return the type of a field of an account's state. Raises SourceError."""
        base = parameter.base
        if issubclass(base, (words.TokenAccount, words.Mint)):
            raise SourceError(
                f"{parameter.name!r} is not state of this program; seeds take only its address."
            )
        if not parameter.is_state:
            raise SourceError(
                f"{parameter.name!r} is a {base.__name__}, which has no field {name!r}."
            )
        fields = self.fields_of(parameter)
        if name not in fields:
            raise UnresolvedName(f"field of {base.__name__}", name, fields)
        return fields[name]

    def fields_of(self, parameter: AccountParameter) -> dict[str, Type]:
        """Return the fields of an account's state by name."""
        return self.definitions.fields_of(self.definitions.link(parameter.base))


def _check_remarks(remarks: tuple[object, ...]) -> None:
    """Check that an account has only constraints, and each at most once."""
    seen: set[type] = set()
    for remark in remarks:
        if not isinstance(remark, (words.Constraint, words.Access)):
            raise SourceError(f"expected a constraint, got {_shown_remark(remark)}.")
        if type(remark) in seen and not isinstance(remark, _REPEATABLE):
            raise SourceError(f"{type(remark).__name__} is given twice.")
        seen.add(type(remark))


def _shown_remark(remark: object) -> str:
    return f"{remark.__name__} without ()" if isinstance(remark, type) else abbr(remark)
