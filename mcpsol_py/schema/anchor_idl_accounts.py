"""Accounts of instructions in an Anchor IDL, and the seeds of derived addresses."""

from __future__ import annotations

from mcpsol_py.items import types_by_name
from mcpsol_py.model.program import (
    IDL_KEY,
    Account,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConstSeed,
    ConstValue,
    Instruction,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
    Seed,
    Value,
)
from mcpsol_py.model.relations import relations_of
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    Bytes,
    Link,
    String,
    Struct,
    Type,
)
from mcpsol_py.schema.anchor_idl_losses import Json, Losses, docs_entry
from mcpsol_py.schema.schema_parts import given
from mcpsol_py.solana.base58 import b58decode

__all__ = ["AccountWriter"]

#: A path of names: of an account below its groups, or of a field below an argument.
Path = tuple[str, ...]

#: Seeds are text and bytes without their length; the argument has one.
_WITH_LENGTH: dict[Type, Type] = {String(): BORSH_STRING, Bytes(): BORSH_BYTES}


class AccountWriter:
    """Writes the accounts of one instruction."""

    def __init__(
        self,
        model: ProgramModel,
        bodies: dict[str, Type],
        losses: Losses,
        instruction: Instruction,
    ) -> None:
        self.address = model.address
        self.bodies = bodies
        self.losses = losses
        self.args = types_by_name(instruction.args)
        self.relations = relations_of(instruction)

    def accounts(
        self, items: tuple[AccountItem, ...], group: Path, path: str
    ) -> list[Json]:
        """Write *items*, which are in the group of this path, at *path* in the document."""
        return [self._item(item, group, f"{path}[{i}]") for i, item in enumerate(items)]

    def _item(self, item: AccountItem, group: Path, path: str) -> Json:
        self.losses.path = path
        if isinstance(item, Account):
            return self._account(item, group)
        inner = self.accounts(item.accounts, (*group, item.name), f"{path}.accounts")
        return {"name": item.name, **docs_entry(item.docs), "accounts": inner}

    def _account(self, account: Account, group: Path) -> Json:
        flags = {
            "writable": account.writable,
            "signer": account.signer is True,
            "optional": account.optional,
            "address": account.address,
        }
        out: Json = {"name": account.name, **docs_entry(account.docs), **given(flags)}
        extension: Json = {}
        if account.signer == "either":
            extension["signer"] = "either"
            self.losses.add("it may sign; Anchor knows only yes and no")
        if account.pda is not None:
            self._derived(account.pda, group, out, extension)
        relations = self._relations(account, group)
        if relations:
            out["relations"] = relations
        if account.default is not None:
            extension["default"] = to_json(account.default)
            self._default(account.default, group, out)
        if extension:
            out[IDL_KEY] = extension
        return out

    def _relations(self, account: Account, group: Path) -> list[str]:
        """Return the accounts that store this one in a field of its name: Anchor knows no other relations."""
        found = self.relations.get((*group, account.name), ())
        near = [
            one
            for one in found
            if one.field == account.name and one.account[:-1] in ((), group)
        ]
        return list(dict.fromkeys(one.account[-1] for one in near))

    def _derived(self, pda: Pda, group: Path, out: Json, extension: Json) -> None:
        try:
            out["pda"] = self._pda(pda, group)
        except _NoAnchorForm:
            extension["pda"] = to_json(pda)
            self.losses.add("seeds that Anchor cannot express")
            return
        if any(map(_has_type, pda.seeds)):
            # With the types that Anchor leaves to its reader.
            extension["pda"] = to_json(pda)

    def _default(self, default: Value, group: Path, out: Json) -> None:
        """Write a default as a fixed address if Anchor can express it."""
        try:
            fixed = self._fixed_address(default, group)
        except _NoAnchorForm:
            fixed = {}
        if fixed and fixed.keys().isdisjoint(out):
            out.update(fixed)
            why = "its address is a default that callers may replace; in Anchor it is fixed"
            self.losses.add(why)
        else:
            self.losses.add("how a client fills it in")

    def _fixed_address(self, default: Value, group: Path) -> Json:
        match default:
            case ConstValue(str(address), None):
                return {"address": address}
            case PdaValue(pda):
                return {"pda": self._pda(pda, group)}
        raise _NoAnchorForm

    # --- seeds

    # Each of these raises _NoAnchorForm if Anchor cannot express all of it.

    def _pda(self, pda: Pda, group: Path) -> Json:
        """Return {"seeds": …, "program": …}."""
        out: Json = {"seeds": [self._seed(seed, group) for seed in pda.seeds]}
        if pda.program is not None:
            out["program"] = self._program(pda.program, group)
        return out

    def _seed(self, seed: Seed, group: Path) -> Json:
        match seed:
            case ConstSeed(value):
                return _const(value)
            case ArgSeed(encoding=None):
                return self._arg_seed(seed)
            case AccountSeed(encoding=None, sort=None):
                return self._account_seed(seed, group)
            case ProgramIdSeed() if self.address is not None:
                return _const(b58decode(self.address))
        raise _NoAnchorForm

    def _arg_seed(self, seed: ArgSeed) -> Json:
        if _has_dots(seed.path) or not self._is_type_of_argument(seed):
            raise _NoAnchorForm
        return {"kind": "arg", "path": ".".join(seed.path)}

    def _is_type_of_argument(self, seed: ArgSeed) -> bool:
        """Do Anchor's tools give the seed this type when they read it from the argument?"""
        if seed.type is None:
            return True
        node: Type | None = self.args.get(seed.path[0]) if seed.path else None
        for step in seed.path[1:]:
            node = self._field_type(node, step)
        return node is not None and node in (
            seed.type,
            _WITH_LENGTH.get(seed.type, seed.type),
        )

    def _field_type(self, node: Type | None, name: str) -> Type | None:
        while isinstance(node, Link):
            node = self.bodies.get(node.name)
        if not isinstance(node, Struct):
            return None
        types = types_by_name(reversed(node.fields))
        return types.get(name)

    def _account_seed(self, seed: AccountSeed, group: Path) -> Json:
        steps = (*_relative(seed.account, group), *seed.field)
        if seed.type not in (None, PUBKEY) or _has_dots(steps):
            raise _NoAnchorForm
        return _account_reference(steps, seed.account_type)

    def _program(self, value: Value, group: Path) -> Json:
        match value:
            case ConstValue(str(address), None):
                return _const(b58decode(address))
            case ProgramIdValue() if self.address is not None:
                return _const(b58decode(self.address))
            case ArgValue(path):
                return {"kind": "arg", "path": ".".join(path)}
            case AccountValue(account, field, kind):
                return _account_reference((*_relative(account, group), *field), kind)
        raise _NoAnchorForm


class _NoAnchorForm(Exception):
    """Anchor cannot express a seed or a value."""


def _has_type(seed: Seed) -> bool:
    return isinstance(seed, (ArgSeed, AccountSeed)) and seed.type is not None


def _const(data: bytes) -> Json:
    return {"kind": "const", "value": list(data)}


def _account_reference(steps: Path, kind: str | None) -> Json:
    out = {"kind": "account", "path": ".".join(steps)}
    return out | given({"account": kind})


def _has_dots(names: Path) -> bool:
    """Would a path of these names, joined by dots, be read otherwise?"""
    return any("." in name for name in names)


def _relative(account: Path, group: Path) -> Path:
    """Return the path of an account as it is written inside *group*."""
    if account[: len(group)] == group:
        return account[len(group) :]
    return account
