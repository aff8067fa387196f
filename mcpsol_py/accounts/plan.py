"""The accounts of an instruction, made ready once: in order, groups opened, the names by which each may be given, and
what a caller must give. `Plan.resolve` begins one call (resolution.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.known_names import known_address
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.resolution import Resolution, Resolver
from mcpsol_py.errors import EncodeError, UnknownName
from mcpsol_py.model.program import (
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstValue,
    IdentityValue,
    Instruction,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdValue,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.types import Struct, Tuple, Type
from mcpsol_py.names import aliases, snake

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = ["Plan"]

#: Names of signers that act or pay, never of accounts being created.
_PEOPLE = frozenset(
    (
        *(
            "payer",
            "fee_payer",
            "rent_payer",
            "authority",
            "owner",
            "user",
            "signer",
            "funder",
            "admin",
            "wallet",
        ),
        *(
            "sender",
            "creator",
            "maker",
            "taker",
            "operator",
            "depositor",
            "withdrawer",
            "buyer",
            "seller",
            "delegate",
        ),
        "manager",
    )
)


class _Level:
    """The names of one group (or of the instruction itself): each is a leaf's index or a group."""

    def __init__(self) -> None:
        self.items: dict[str, int | _Level] = {}
        self.alias: dict[str, str] = {}


class Plan:
    """The accounts of one instruction, made ready. What cannot be resolved is said when it is asked for."""

    def __init__(self, codecs: Codecs, instruction: Instruction) -> None:
        self.codecs = codecs
        self.instruction = instruction
        self.leaves: list[Leaf] = []
        self.root = _Level()
        self._walk(instruction.accounts, (), self.root)
        self.by_path = {leaf.path: leaf.index for leaf in self.leaves}
        self.remaining = {r.name: r for r in instruction.remaining}
        flat: dict[str, list[int]] = {}
        for leaf in self.leaves:
            flat.setdefault(leaf.path[-1], []).append(leaf.index)
        self.flat = {name: found[0] for name, found in flat.items() if len(found) == 1}
        self.flat_alias = aliases(self.flat)
        self.remaining_alias = aliases(self.remaining)
        self.args = {a.name: a for a in instruction.args}
        self.arg_alias = aliases(self.args)
        self.arg_values = dict(instruction.arg_values)
        self.facade_of = address_of(codecs.model.facade_of)
        self._state_types = {a.name: a.type for a in codecs.model.accounts}
        self._state_alias = aliases(self._state_types)

    def _walk(self, items: Sequence[AccountItem], prefix: tuple[str, ...], level: _Level) -> None:
        for item in items:
            if isinstance(item, AccountGroup):
                inner = _Level()
                level.items.setdefault(item.name, inner)
                self._walk(item.accounts, (*prefix, item.name), inner)
            else:
                leaf = Leaf(len(self.leaves), (*prefix, item.name), item)
                self.leaves.append(leaf)
                level.items.setdefault(item.name, leaf.index)
        level.alias = aliases(level.items)

    # --- names ---------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names by which accounts are given: groups dotted, then the remaining accounts' lists."""
        return [leaf.name for leaf in self.leaves] + list(self.remaining)

    def collect(self, given: Mapping[str, Any]) -> tuple[dict[int, Any], dict[str, Sequence[Any]]]:
        """What was given, by leaf, and the named remaining accounts. Raises UnknownName for none of `names()`."""
        found: dict[int, Any] = {}
        rest: dict[str, Sequence[Any]] = {}
        for key, value in given.items():
            place = self._place(key)
            if place is None and key in self.remaining_alias:
                rest[self.remaining_alias[key]] = () if value is None else value
            elif isinstance(place, _Level):
                self._collect_group(key, value, place, found)
            elif place is None:
                raise UnknownName("account", key, self.names(), self.instruction.name)
            else:
                self._put(found, place, value)
        return found, rest

    def _put(self, found: dict[int, Any], index: int, value: Any) -> None:
        if index in found:
            name = self.leaves[index].name
            raise EncodeError(
                "given twice, under two spellings of its name. Give it once.",
                value=value,
                path=f"{self.instruction.name}.{name}",
                type="pubkey",
            )
        found[index] = value

    def _collect_group(self, key: str, value: Any, level: _Level, found: dict[int, Any]) -> None:
        if value is None:
            return
        if not isinstance(value, Mapping):
            raise EncodeError(
                f"a group of accounts is an object with {', '.join(level.items)}; found {type(value).__name__}.",
                value=value,
                path=f"{self.instruction.name}.{key}",
                type="accounts",
            )
        for name, inner in value.items():
            known = level.alias.get(name)
            if known is None:
                raise UnknownName("account", name, level.items, f"{self.instruction.name}.{key}")
            place = level.items[known]
            if isinstance(place, _Level):
                self._collect_group(f"{key}.{name}", inner, place, found)
            else:
                self._put(found, place, inner)

    def _place(self, key: str) -> int | _Level | None:
        """By name at the top, by dotted path, by the flattened name where only one account has it."""
        known = self.root.alias.get(key)
        if known is not None:
            return self.root.items[known]
        if "." in key:
            level: int | _Level = self.root
            for part in key.split("."):
                if not isinstance(level, _Level) or part not in level.alias:
                    return None
                level = level.items[level.alias[part]]
            return level
        flat = self.flat_alias.get(key)
        return None if flat is None else self.flat[flat]

    def locate(self, path: tuple[str, ...], seen_from: Leaf | None = None) -> int | None:
        """The leaf that *path* means, looked for in the asking account's group first, then outwards."""
        scopes = seen_from.path[:-1] if seen_from is not None else ()
        for depth in range(len(scopes), -1, -1):
            level: int | _Level | None = self.root
            for part in (*scopes[:depth], *path):
                if not isinstance(level, _Level) or part not in level.alias:
                    level = None
                    break
                level = level.items[level.alias[part]]
            if isinstance(level, int):
                return level
        if len(path) == 1:
            flat = self.flat_alias.get(path[0])
            if flat is not None:
                return self.flat[flat]
        return None

    # --- types ---------------------------------------------------------------------------------------------------

    def knows_arg(self, path: Sequence[str]) -> bool:
        """Is the first step an argument of the instruction?"""
        return bool(path) and path[0] in self.arg_alias

    def state_type(self, name: str) -> Type | None:
        """The type of an account type of this program."""
        known = self._state_alias.get(name)
        return None if known is None else self._state_types[known]

    def walk_type(self, node: Type, path: Sequence[str]) -> Type | None:
        """The type at *path* within *node*: fields by name, tuple members by number."""
        resolver = self.codecs.layouts.resolver
        for step in path:
            node = resolver.target(node)
            found: Type | None = None
            if isinstance(node, Struct):
                names = {f.name: f.type for f in node.fields}
                known = aliases(names).get(step)
                found = names[known] if known is not None else None
            elif isinstance(node, Tuple) and step.isdecimal() and int(step) < len(node.items):
                found = node.items[int(step)]
            if found is None:
                return None
            node = found
        return node

    # --- what a caller must give ---------------------------------------------------------------------------------

    def must_give(self, *, wallet: bool = True, online: bool = True) -> list[Leaf]:
        """The accounts that no call can fill in by itself when all arguments are given. Never an optional one."""
        memo: dict[int, bool | None] = {}
        required = [leaf for leaf in self.leaves if not leaf.account.optional]
        return [leaf for leaf in required if not self._fills(leaf, wallet, online, memo)]

    def _fills(self, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]) -> bool:
        if leaf.index in memo:
            return bool(memo[leaf.index])
        memo[leaf.index] = None  # being looked at: what comes back here goes round in a ring
        account = leaf.account
        ok = False
        if account.address is not None:
            ok = True
        elif account.pda is not None:
            ok = self._pda_fills(account.pda, leaf, wallet, online, memo)
        elif account.default is not None:
            ok = self._value_fills(account.default, leaf, wallet, online, memo)
        if not ok and account.pda is None:
            ok = self._fills_by_nature(leaf, wallet, online, memo)
        memo[leaf.index] = ok
        return ok

    def _fills_by_nature(
        self, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]
    ) -> bool:
        if leaf.account.signer and wallet and self.wallet_may_sign(leaf):
            return True
        if online and any(
            self._is_given(name, leaf, wallet, online, memo) for name in leaf.account.relations
        ):
            return (
                True  # the related account has to be given anyway, and its data then names this one
            )
        if self.is_event_part(leaf) or known_address(leaf.account.name) is not None:
            return True
        return self.ata_of(leaf) is not None

    def _is_given(
        self, name: str, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]
    ) -> bool:
        """Must the account *name* be given? Not where it is derived from *leaf* itself: then one of the two must be,
        and *leaf* is it."""
        at = self.locate((name,), leaf)
        if at is None or (at in memo and memo[at] is None):
            return False
        return self.leaves[at].account.optional or not self._fills(
            self.leaves[at], wallet, online, memo
        )

    def _account_fills(
        self,
        path: tuple[str, ...],
        leaf: Leaf,
        wallet: bool,
        online: bool,
        memo: dict[int, bool | None],
        *,
        read: bool,
    ) -> bool:
        """An account that another is derived from: it is fine that the caller must give it."""
        at = self.locate(path, leaf)
        if at is None or at == leaf.index or (read and not online):
            return False
        if at in memo:
            return memo[at] is not None
        self._fills(self.leaves[at], wallet, online, memo)
        return True

    def _pda_fills(
        self, pda: Pda, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]
    ) -> bool:
        for seed in pda.seeds:
            if isinstance(seed, UnknownSeed):
                return False
            if isinstance(seed, AccountSeed) and not self._account_fills(
                seed.account, leaf, wallet, online, memo, read=bool(seed.field)
            ):
                return False
            if isinstance(seed, ArgSeed) and not self.knows_arg(seed.path):
                return False
        return pda.program is None or self._value_fills(pda.program, leaf, wallet, online, memo)

    def _value_fills(
        self, value: Value, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]
    ) -> bool:
        match value:
            case ConstValue() | ProgramIdValue():
                return True
            case IdentityValue() | PayerValue():
                return wallet
            case ArgValue(path):
                return self.knows_arg(path)
            case AccountValue(path, fields, _):
                return self._account_fills(path, leaf, wallet, online, memo, read=bool(fields))
            case PdaValue(pda):
                return self._pda_fills(pda, leaf, wallet, online, memo)
            case ConditionalValue(_, _, then, otherwise):
                return (
                    then is not None
                    and otherwise is not None
                    and self._value_fills(then, leaf, wallet, online, memo)
                    and self._value_fills(otherwise, leaf, wallet, online, memo)
                )
            case _:
                return False

    # --- facts about an account that its name and neighbours settle -----------------------------------------------

    def wallet_may_sign(self, leaf: Leaf) -> bool:
        """False for a signer that is most likely a new account: writable, not named like a person, beside another
        writable signer, in an instruction that calls the system program."""
        account = leaf.account
        if not account.writable or snake(account.name) in _PEOPLE:
            return True
        others = any(
            other.account.signer and other.account.writable and other.index != leaf.index
            for other in self.leaves
        )
        creates = any(snake(other.account.name) == "system_program" for other in self.leaves)
        return not (others and creates)

    def is_event_part(self, leaf: Leaf) -> str | None:
        """ "authority" or "program" where *leaf* is half of Anchor's event pair."""
        name = snake(leaf.account.name)
        if name == "event_authority":
            at = self.locate(("program",), leaf)
            return "authority" if at == leaf.index + 1 else None
        if name == "program" and leaf.index > 0:
            before = self.leaves[leaf.index - 1]
            same_group = before.path[:-1] == leaf.path[:-1]
            return (
                "program"
                if same_group and snake(before.account.name) == "event_authority"
                else None
            )
        return None

    def ata_of(self, leaf: Leaf) -> tuple[int, int, int | None] | None:
        """(owner, mint, token program) where the name says that *leaf* is an associated token account, and its
        neighbours settle of whom."""
        name = snake(leaf.account.name)
        owner: int | None = None
        if name in ("associated_token", "associated_token_account", "associated_account", "ata"):
            for candidate in ("wallet", "owner"):
                owner = self.locate((candidate,), leaf)
                if owner is not None:
                    break
        else:
            for suffix in ("_ata", "_associated_token_account", "_associated_token"):
                if name.endswith(suffix):
                    owner = self.locate((name.removesuffix(suffix),), leaf)
        mint = self.locate(("mint",), leaf) if owner is not None else None
        if owner is None or mint is None:
            return None
        return owner, mint, self.locate(("token_program",), leaf)

    # --- one call ------------------------------------------------------------------------------------------------

    def resolve(
        self,
        args: Mapping[str, Any],
        accounts: Mapping[str, Any],
        *,
        program_id: Pubkey,
        wallet: object = None,
        payer: object = None,
        remaining: Sequence[Any] = (),
        resolvers: Mapping[str, Resolver] | None = None,
        online: bool = False,
    ) -> Resolution:
        """Begins one call. Raises UnknownName for an account that the instruction does not have, EncodeError for what
        is no address, MissingAccount for a required one given as null."""
        return Resolution(
            self, args, accounts, program_id, wallet, payer, remaining, resolvers or {}, online
        )
