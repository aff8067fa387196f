"""Accounts of instructions in an Anchor IDL, and the seeds of derived addresses."""

from __future__ import annotations

from mcpsol_py.model.program import (
    IDL_KEY,
    Account,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConstSeed,
    ConstValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
    Seed,
    Value,
)
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    Bytes,
    Field,
    Link,
    String,
    Struct,
    Type,
)
from mcpsol_py.schema.anchor_idl_losses import Json, Losses, docs_entry
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
        args: tuple[Field, ...],
    ) -> None:
        self.address = model.address
        self.bodies = bodies
        self.losses = losses
        self.args = {arg.name: arg.type for arg in args}

    def accounts(self, items: tuple[AccountItem, ...], group: Path, path: str) -> list[Json]:
        """Write *items*, which are in the group of this path, at *path* in the document."""
        out = []
        for i, item in enumerate(items):
            here = f"{path}[{i}]"
            self.losses.path = here
            if not isinstance(item, AccountGroup):
                out.append(self._account(item, group))
                continue
            inner = self.accounts(item.accounts, (*group, item.name), f"{here}.accounts")
            out.append({"name": item.name, **docs_entry(item.docs), "accounts": inner})
        return out

    def _account(self, account: Account, group: Path) -> Json:
        extension: Json = {}
        out: Json = {"name": account.name, **docs_entry(account.docs)}
        if account.writable:
            out["writable"] = True
        if account.signer == "either":
            extension["signer"] = "either"
            self.losses.add("it may sign; Anchor knows only yes and no")
        elif account.signer:
            out["signer"] = True
        if account.optional:
            out["optional"] = True
        if account.address is not None:
            out["address"] = account.address
        if account.pda is not None:
            self._derived(account.pda, group, out, extension)
        if account.relations:
            out["relations"] = list(account.relations)
        if account.default is not None:
            extension["default"] = to_json(account.default)
            self._default(account.default, group, out)
        if extension:
            out[IDL_KEY] = extension
        return out

    def _derived(self, pda: Pda, group: Path, out: Json, extension: Json) -> None:
        written = self._pda(pda, group)
        if written is None:
            extension["pda"] = to_json(pda)
            self.losses.add("seeds that Anchor cannot express")
            return
        out["pda"] = written
        if any(isinstance(s, (ArgSeed, AccountSeed)) and s.type is not None for s in pda.seeds):
            extension["pda"] = to_json(pda)  # with the types that Anchor leaves to its reader

    def _default(self, default: Value, group: Path, out: Json) -> None:
        """Write a default as a fixed address if Anchor can express it."""
        fixed = self._fixed_address(default, group)
        if fixed is None or fixed.keys() & out.keys():
            self.losses.add("how a client fills it in")
            return
        out.update(fixed)
        self.losses.add("its address is a default that callers may replace; in Anchor it is fixed")

    def _fixed_address(self, default: Value, group: Path) -> Json | None:
        match default:
            case ConstValue(str(address), None):
                return {"address": address}
            case PdaValue(pda):
                written = self._pda(pda, group)
                return None if written is None else {"pda": written}
        return None

    # --- seeds

    def _pda(self, pda: Pda, group: Path) -> Json | None:
        """Return {"seeds": …, "program": …}, or None if Anchor cannot express all of it."""
        seeds = []
        for seed in pda.seeds:
            written = self._seed(seed, group)
            if written is None:
                return None
            seeds.append(written)
        if pda.program is None:
            return {"seeds": seeds}
        program = self._program(pda.program, group)
        return None if program is None else {"seeds": seeds, "program": program}

    def _seed(self, seed: Seed, group: Path) -> Json | None:
        match seed:
            case ConstSeed(value):
                return {"kind": "const", "value": list(value)}
            case ArgSeed(encoding=None):
                return self._arg_seed(seed)
            case AccountSeed(encoding=None, sort=None):
                return self._account_seed(seed, group)
            case ProgramIdSeed() if self.address is not None:
                return {"kind": "const", "value": list(b58decode(self.address))}
        return None

    def _arg_seed(self, seed: ArgSeed) -> Json | None:
        if _has_dots(seed.path) or not self._is_type_of_argument(seed):
            return None
        return {"kind": "arg", "path": ".".join(seed.path)}

    def _is_type_of_argument(self, seed: ArgSeed) -> bool:
        """Do Anchor's tools give the seed this type when they read it from the argument?"""
        if seed.type is None:
            return True
        node: Type | None = self.args.get(seed.path[0]) if seed.path else None
        for step in seed.path[1:]:
            node = self._field_type(node, step)
        return node is not None and node in (seed.type, _WITH_LENGTH.get(seed.type, seed.type))

    def _field_type(self, node: Type | None, name: str) -> Type | None:
        while isinstance(node, Link):
            node = self.bodies.get(node.name)
        fields = node.fields if isinstance(node, Struct) else ()
        return next((field.type for field in fields if field.name == name), None)

    def _account_seed(self, seed: AccountSeed, group: Path) -> Json | None:
        steps = (*_relative(seed.account, group), *seed.field)
        if seed.type not in (None, PUBKEY) or _has_dots(steps):
            return None
        return _account_reference(steps, seed.account_type)

    def _program(self, value: Value, group: Path) -> Json | None:
        match value:
            case ConstValue(str(address), None):
                return {"kind": "const", "value": list(b58decode(address))}
            case ProgramIdValue() if self.address is not None:
                return {"kind": "const", "value": list(b58decode(self.address))}
            case ArgValue(path):
                return {"kind": "arg", "path": ".".join(path)}
            case AccountValue(account, field, kind):
                return _account_reference((*_relative(account, group), *field), kind)
        return None


def _account_reference(steps: Path, kind: str | None) -> Json:
    out: Json = {"kind": "account", "path": ".".join(steps)}
    if kind:
        out["account"] = kind
    return out


def _has_dots(names: Path) -> bool:
    """Would a path of these names, joined by dots, be read otherwise?"""
    return any("." in name for name in names)


def _relative(account: Path, group: Path) -> Path:
    """Return the path of an account as it is written inside *group*."""
    inside = bool(group) and account[: len(group)] == group
    return account[len(group) :] if inside else account
