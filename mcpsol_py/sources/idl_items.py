"""What Anchor's two IDL forms and Shank write alike, beside accounts of instructions and types: definitions, accounts
whose data is described in place, errors, constants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from mcpsol_py.errors import SourceError
from mcpsol_py.model.program import AccountType, Constant, ErrorCode
from mcpsol_py.model.types import Type, TypeDef, Unsupported
from mcpsol_py.names import clean_text
from mcpsol_py.sources.anchor_accounts import AccountReader
from mcpsol_py.sources.idl_types import typedef
from mcpsol_py.sources.reader import kind_of

__all__ = ["ItemReader", "names_of"]

_LONGEST_CONSTANT = 16_384


def names_of(doc: dict[str, Any], key: str) -> set[str]:
    """The names of what stands in the list doc[key]; whatever is wrong with it is found when it is read."""
    items = doc.get(key)
    if type(items) is not list:
        return set()
    return {i["name"] for i in items if type(i) is dict and type(i.get("name")) is str}


class ItemReader(AccountReader):
    """Reads the lists of an IDL. Subclasses say how their form writes instructions, accounts and events."""

    #: does this form say how the bytes of a type lie (`serialization`, `repr`)?
    says_layout = True

    def definition(self, item: dict[str, Any], *, empty: bool = False) -> TypeDef:
        """item["type"] as the definition of item["name"]. *empty*: one that is not there is a struct without fields."""
        body = item.get("type")
        if body is None and empty:
            body = {"kind": "struct", "fields": []}
        if body is None:  # as tools leave types that they cannot write
            return TypeDef(
                self.name(item), Unsupported("null", "its definition is missing"), self.docs(item)
            )
        if type(body) is not dict:
            raise SourceError(
                f"found {kind_of(body)} where a type definition must stand.", path="type"
            )
        layout = (item.get("serialization"), item.get("repr")) if self.says_layout else (None, None)
        return typedef(self, item, body, layout=layout)

    def typedef(self, item: dict[str, Any]) -> TypeDef:
        """An entry of "types"."""
        return self.definition(item)

    def account_in_place(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        """An entry of "accounts" whose data is described in place."""
        raise NotImplementedError

    def types_and_accounts(
        self, doc: dict[str, Any]
    ) -> tuple[tuple[TypeDef, ...], tuple[AccountType, ...]]:
        """Both lists of a form that describes the data of accounts in place. What describes an account becomes a type
        of its name; where a different type has that name, the account keeps its own.
        """
        types = list(self.each(doc, "types", self.typedef))
        taken = {t.name: t for t in types}
        accounts: list[AccountType] = []
        for account, body in self.each(doc, "accounts", self.account_in_place):
            other = taken.get(account.name)
            if other is None:
                types.append(body)
            elif other.type != body.type:
                account = replace(account, type=body.type)
            accounts.append(account)
        return tuple(types), tuple(accounts)

    def error(self, item: dict[str, Any]) -> ErrorCode:
        """An entry of "errors"."""
        return ErrorCode(self.whole(item, "code"), self.name(item), self.text(item, "msg"))

    def constant(self, item: dict[str, Any]) -> Constant:
        """An entry of "constants": its value is text, or JSON that is kept as text."""
        value = item.get("value")
        text = value if type(value) is str else orjson.dumps(value).decode()
        kept = clean_text(text, _LONGEST_CONSTANT)
        return Constant(
            self.name(item), self.constant_type(item.get("type")), kept, self.docs(item)
        )

    def constant_type(self, value: Any) -> Type:
        """A constant's type; what it is defined as may be Rust text that defines nothing."""
        if type(value) is dict and type(value.get("defined")) is str:
            return self.link(value["defined"], constant=True)
        return self.type(value)
