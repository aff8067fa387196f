"""The lists of an IDL that Anchor's two forms and Shank share: types, accounts, errors and
constants.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from mcpsol_py.items import items_by_name
from mcpsol_py.model.program import (
    AccountType,
    Constant,
    Discriminator,
    ErrorCode,
)
from mcpsol_py.model.types import Type, TypeDef, Unsupported
from mcpsol_py.names import clean_text
from mcpsol_py.sources.anchor_accounts import AccountReader
from mcpsol_py.sources.idl_layout import declared_layout
from mcpsol_py.sources.reader import check_kind, named_objects

__all__ = ["ItemReader", "names_of"]

_LONGEST_CONSTANT = 16_384
_EMPTY_STRUCT: dict[str, Any] = {"kind": "struct", "fields": []}


def names_of(doc: dict[str, Any], key: str) -> set[str]:
    """Return the names in the list doc[key]. Malformed items are skipped: their reader reports
    them.
    """
    return {item["name"] for item in named_objects(doc.get(key))}


class ItemReader(AccountReader):
    """Reads the lists of an IDL. Subclasses read instructions, accounts and events in their own
    form.
    """

    #: Whether this form has the keys `serialization` and `repr`, which say how the bytes of a type
    #: are laid out.
    has_layout_keys = True

    def given_discriminator(self, value: Any) -> Discriminator:
        """Read a "discriminator" key: a list of bytes."""
        return Discriminator(self.inside("discriminator", self.bytes_of, value))

    # --- types

    def typedef(self, item: dict[str, Any]) -> TypeDef:
        """Read an entry of "types"."""
        return self.definition(item)

    def definition(self, item: dict[str, Any], *, empty: bool = False) -> TypeDef:
        """Read item["type"] as the definition of item["name"].

        *empty*: if the type is missing, it is a struct without fields.
        """
        body = item.get("type")
        if body is None and empty:
            body = _EMPTY_STRUCT
        if body is None:  # tools leave out types that they cannot write
            missing = Unsupported("null", "its definition is missing")
            return TypeDef(self.name(item), missing, self.docs(item))
        check_kind(body, dict, "a type definition", path="type")
        name, docs = self.name(item), self.docs(item)
        generics = self.generics(item)
        node, shape = self.inside("type", self.body, body)
        out = TypeDef(name, node, docs, generics, "borsh", None, shape)
        return self._with_layout(out, item) if self.has_layout_keys else out

    def _with_layout(self, plain: TypeDef, item: dict[str, Any]) -> TypeDef:
        """Apply the keys `serialization` and `repr`."""
        serialization, repr_ = item.get("serialization"), item.get("repr")
        if serialization is None and repr_ is None:
            return plain
        found = declared_layout(serialization, repr_)
        if found.problem:
            self.note(found.problem, "repr", "error")
        return replace(
            plain, layout=found.layout, align=found.align, declared=found.declared
        )

    # --- accounts with their data in place

    def account_in_place(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        """Read an entry of "accounts" that describes its data in place."""
        raise NotImplementedError

    def types_and_accounts(
        self, doc: dict[str, Any]
    ) -> tuple[tuple[TypeDef, ...], tuple[AccountType, ...]]:
        """Read both lists of a form that describes the data of accounts in place.

        The data of an account becomes a type of the same name. If another type has that name
        already, the account keeps its data in place.
        """
        types = list(self.each_item(doc, "types", self.typedef, self.missing_type))
        taken = items_by_name(types)
        accounts: list[AccountType] = []
        for account, body in self.each_item(doc, "accounts", self.account_in_place):
            other = taken.get(account.name)
            if other is None:
                types.append(body)
            elif other.type != body.type:
                account = replace(account, type=body.type)
            accounts.append(account)
        return tuple(types), tuple(accounts)

    # --- results, errors and constants

    def return_type(self, item: dict[str, Any]) -> Type | None:
        """Read the type of an instruction's return data, if it has any."""
        written = item.get("returns")
        return None if written is None else self.type(written)

    def error(self, item: dict[str, Any]) -> ErrorCode:
        """Read an entry of "errors"."""
        return ErrorCode(
            self.whole(item, "code"), self.name(item), self.text(item, "msg")
        )

    def constant(self, item: dict[str, Any]) -> Constant:
        """Read an entry of "constants". Its value is text, or JSON that is kept as text."""
        value = item.get("value")
        text = value if type(value) is str else json.dumps(value, separators=(",", ":"))
        kept = clean_text(text, _LONGEST_CONSTANT)
        node = self.constant_type(item.get("type"))
        return Constant(self.name(item), node, kept, self.docs(item))

    def constant_type(self, value: Any) -> Type:
        """Read the type of a constant. A defined type may be Rust text, such as "&str"."""
        if type(value) is dict and type(value.get("defined")) is str:
            return self.link(value["defined"], constant=True)
        return self.type(value)
