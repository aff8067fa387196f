"""From the accounts that a caller gives to all that an instruction needs, without I/O.

A `Plan` is made once for an instruction: its accounts in order, groups opened, and the names by which each may be
given. A `Resolution` is one call of it. It fills in what it can and says which account data it must see next; whoever
drives it fetches (or says that there is no connection), so the offline `build`, the asynchronous client and its
synchronous twin share it:

    resolution = plan.resolve(args, accounts, program_id=…, wallet=…, online=True)
    while wanted := resolution.wanted():
        resolution.supply(zip(wanted, await transport.get_accounts(wanted)))
    metas = resolution.metas()

What is filled in, in this order; the first that applies:
  1. what the caller gave (null: an optional account is absent)
  2. the IDL's fixed address
  3. the IDL's PDA (its seeds may be constants, arguments, accounts, and fields of accounts that are fetched)
  4. the IDL's default value (Codama), the spec's associated token account
  5. a signer: the wallet; but not a new account that signs for its own creation beside another signer
  6. relations: a field of that name in the state of the account that names this one, fetched
  7. Anchor's event pair: `event_authority`, and `program` after it
  8. well-known programs and sysvars by name (wellknown.py); the associated token account of its siblings `mint` and
     `owner` or `wallet`
  9. an optional account is absent
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.accounts.pda import associated_token, event_authority, find_pda
from mcpsol_py.accounts.wellknown import TOKEN_2022_PROGRAM, TOKEN_PROGRAM, certain, foreign_field
from mcpsol_py.codec.account import decode_account
from mcpsol_py.errors import EncodeError, McpsolError, MissingAccount, PdaError, UnknownName
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    IdentityValue,
    Instruction,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    RemainingAccounts,
    ResolverValue,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.types import Array, Int, SizePrefixed, String, Struct, Tuple, Type
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.names import forms, snake

if TYPE_CHECKING:
    from mcpsol_py.codec.compile import Codecs

__all__ = ["AccountData", "Leaf", "Plan", "Resolution", "Resolver", "address_of", "aliases"]


class AccountData(Protocol):
    """What is read from the chain; solders' Account is one."""

    @property
    def owner(self) -> Pubkey:
        """The program that owns the account."""

    @property
    def data(self) -> bytes:
        """Its data."""


#: A Codama resolver given by the caller: the resolution (`.argument(name)`, `.address(name)`) -> a value, or None.
Resolver = Callable[["Resolution"], Any]

#: Names of signers that act or pay, never of accounts being created.
_PEOPLE = frozenset(
    (
        *("payer", "fee_payer", "rent_payer", "authority", "owner", "user", "signer", "funder", "admin", "wallet"),
        *("sender", "creator", "maker", "taker", "operator", "depositor", "withdrawer", "buyer", "seller", "delegate"),
        "manager",
    )
)
_MAX_DEPTH = 64


def aliases(names: Iterable[str]) -> dict[str, str]:
    """Every form (as written, snake, camel, Pascal) of *names* -> the name; forms that two names share are left out."""
    names = list(names)
    out: dict[str, str] = {}
    clash: set[str] = set()
    for name in names:
        for form in forms(name):
            if out.setdefault(form, name) != name:
                clash.add(form)
    for form in clash:
        out.pop(form)
    out.update((name, name) for name in names)
    return out


def address_of(value: object) -> Pubkey | None:
    """A solders Pubkey, base58 text, a Keypair (anything with `pubkey()`) or an AccountMeta as a Pubkey; else None."""
    if isinstance(value, Pubkey):
        return value
    if isinstance(value, str):
        try:
            return Pubkey.from_string(value)
        except ValueError:
            return None
    if isinstance(value, AccountMeta):
        return value.pubkey
    method = getattr(value, "pubkey", None) or getattr(value, "public_key", None)  # the latter: anchorpy's Wallet
    found = method() if callable(method) else method
    return found if isinstance(found, Pubkey) else None


@dataclass(frozen=True, slots=True)
class Leaf:
    """One account of the flat list: `path` from the outermost group, `name` dotted."""

    index: int
    path: tuple[str, ...]
    account: Account

    @property
    def name(self) -> str:
        """The path as text, for messages."""
        return ".".join(self.path)


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

    def _fills_by_nature(self, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]) -> bool:
        if leaf.account.signer and wallet and self.wallet_may_sign(leaf):
            return True
        if online and any(
            (at := self.locate((name,), leaf)) is not None
            and (self.leaves[at].account.optional or not self._fills(self.leaves[at], wallet, online, memo))
            for name in leaf.account.relations
        ):
            return True  # the related account has to be given anyway, and its data then names this one
        if self.is_event_part(leaf) or certain(leaf.account.name) is not None:
            return True
        return self.ata_of(leaf) is not None

    def _account_fills(
        self, path: tuple[str, ...], leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None], *, read: bool
    ) -> bool:
        """An account that another is derived from: it is fine that the caller must give it."""
        at = self.locate(path, leaf)
        if at is None or at == leaf.index or (read and not online):
            return False
        if at in memo:
            return memo[at] is not None
        self._fills(self.leaves[at], wallet, online, memo)
        return True

    def _pda_fills(self, pda: Pda, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]) -> bool:
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

    def _value_fills(self, value: Value, leaf: Leaf, wallet: bool, online: bool, memo: dict[int, bool | None]) -> bool:
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
            other.account.signer and other.account.writable and other.index != leaf.index for other in self.leaves
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
            return "program" if same_group and snake(before.account.name) == "event_authority" else None
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
        return Resolution(self, args, accounts, program_id, wallet, payer, remaining, resolvers or {}, online)


class _Need(Exception):
    """Account data that must be fetched first."""

    def __init__(self, key: Pubkey) -> None:
        super().__init__()
        self.key = key


class Resolution:
    """One call's accounts on their way. See the module's text."""

    def __init__(
        self,
        plan: Plan,
        args: Mapping[str, Any],
        accounts: Mapping[str, Any],
        program_id: Pubkey,
        wallet: object,
        payer: object,
        remaining: Sequence[Any],
        resolvers: Mapping[str, Resolver],
        online: bool,
    ) -> None:
        self.plan = plan
        self.args = args
        self.program_id = program_id
        self.wallet = self._key(wallet, "wallet") if wallet is not None else None
        self.payer = self._key(payer, "payer") if payer is not None else self.wallet
        self.resolvers = resolvers
        self.online = online
        given, rest = plan.collect(accounts)
        self._signs: dict[int, bool] = {}
        self._done: dict[int, Pubkey | None] = {}
        for index, value in given.items():
            self._done[index] = self._take(index, value)
        self._rest = self._take_remaining(rest, remaining)
        self._open: list[int] = []
        self._open_args: list[str] = []
        self._data: dict[Pubkey, AccountData | None] = {}
        self._asked: set[Pubkey] = set()

    # --- what the driver calls -----------------------------------------------------------------------------------

    def wanted(self) -> list[Pubkey]:
        """The addresses whose account data is needed next; empty when all is known. Raises MissingAccount, PdaError."""
        needs: dict[Pubkey, None] = {}
        for leaf in self.plan.leaves:
            try:
                self._resolve(leaf.index)
            except _Need as need:
                needs[need.key] = None
        return list(needs)

    def supply(self, found: Iterable[tuple[Pubkey, AccountData | None]]) -> None:
        """The accounts asked for; None for one that does not exist."""
        self._data.update(found)

    def metas(self) -> list[AccountMeta]:
        """The instruction's accounts in order, once `wanted()` is empty."""
        if self.wanted():
            raise RuntimeError("metas() before wanted() was empty")
        out: list[AccountMeta] = []
        instruction = self.plan.instruction
        for leaf in self.plan.leaves:
            key = self._done[leaf.index]
            account = leaf.account
            if key is None:
                if instruction.optional_accounts == "program_id":
                    out.append(AccountMeta(self.program_id, False, False))
                continue
            signer = account.signer if isinstance(account.signer, bool) else self._either_signs(leaf.index, key)
            out.append(AccountMeta(key, signer, account.writable))
        return out + self._rest

    def addresses(self) -> dict[str, Pubkey | None]:
        """Every account by dotted name, as resolved; None for an absent optional one."""
        return {leaf.name: self._done.get(leaf.index) for leaf in self.plan.leaves}

    # --- for resolvers -------------------------------------------------------------------------------------------

    def address(self, name: str) -> Pubkey | None:
        """The address of another account of the instruction, by dotted name."""
        index = self.plan.locate(tuple(name.split(".")))
        if index is None:
            raise UnknownName("account", name, self.plan.names(), self.plan.instruction.name)
        return self._resolve(index)

    def argument(self, name: str) -> Any:
        """An argument by dotted name, or None when it is neither given nor has a default."""
        return self._argument(tuple(name.split(".")))[0]

    # --- what was given ------------------------------------------------------------------------------------------

    def _key(self, value: object, name: str) -> Pubkey:
        key = address_of(value)
        if key is None:
            raise EncodeError(
                "is no address: give base58 text of 32 bytes, a Pubkey or a Keypair.",
                value=value,
                path=f"{self.plan.instruction.name}.{name}",
                type="pubkey",
            )
        return key

    def _take(self, index: int, value: object) -> Pubkey | None:
        leaf = self.plan.leaves[index]
        if value is None:
            if leaf.account.optional:
                return None
            raise MissingAccount(self.plan.instruction.name, leaf.name, "null was given, and it is not optional")
        key = self._key(value, leaf.name)
        if isinstance(value, AccountMeta):
            self._signs[index] = value.is_signer
        elif not isinstance(value, (str, Pubkey)):
            self._signs[index] = True  # a key pair
        return key

    def _take_remaining(self, named: Mapping[str, Sequence[Any]], raw: Sequence[Any]) -> list[AccountMeta]:
        out: list[AccountMeta] = []
        for group in self.plan.instruction.remaining:
            values: Any = named.get(group.name, ())
            if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
                raise EncodeError(
                    f"remaining accounts are given as a list of addresses; found {type(values).__name__}.",
                    value=values,
                    path=f"{self.plan.instruction.name}.{group.name}",
                    type="accounts",
                )
            out += [self._remaining_meta(group, place, value) for place, value in enumerate(values)]
        for place, value in enumerate(raw):
            if isinstance(value, AccountMeta):
                out.append(value)
            else:
                key = self._key(value, f"remaining[{place}]")
                out.append(AccountMeta(key, not isinstance(value, (str, Pubkey)), False))
        return out

    def _remaining_meta(self, group: RemainingAccounts, place: int, value: object) -> AccountMeta:
        key = self._key(value, f"{group.name}[{place}]")
        if isinstance(value, AccountMeta):
            return AccountMeta(key, value.is_signer or group.signer is True, value.is_writable or group.writable)
        return AccountMeta(key, bool(group.signer), group.writable)

    def _either_signs(self, index: int, key: Pubkey) -> bool:
        """Codama's "either": it signs if given as a key pair or if it is the wallet. With no wallet known it signs,
        unless signers among the remaining accounts (a multisig's members) do so for it."""
        if index in self._signs:
            return self._signs[index]
        if any(meta.is_signer for meta in self._rest):
            return False
        if self.wallet is None:
            return True
        return key in (self.wallet, self.payer)

    # --- resolving -----------------------------------------------------------------------------------------------

    def _missing(self, leaf: Leaf, why: str) -> MissingAccount:
        return MissingAccount(self.plan.instruction.name, leaf.name, why)

    def _resolve(self, index: int) -> Pubkey | None:
        if index in self._done:
            return self._done[index]
        leaf = self.plan.leaves[index]
        if index in self._open or len(self._open) > _MAX_DEPTH:
            ring = [self.plan.leaves[i].name for i in [*self._open[self._open.index(index) :], index]]
            raise self._missing(leaf, f"{' -> '.join(ring)} are derived from one another")
        self._open.append(index)
        try:
            key = self._find(leaf)
        except (MissingAccount, PdaError):
            if not leaf.account.optional:
                raise
            key = None  # the source says that the instruction works without it
        finally:
            self._open.pop()
        self._done[index] = key
        return key

    def _find(self, leaf: Leaf) -> Pubkey | None:
        account = leaf.account
        if account.address is not None:
            return self._key(account.address, leaf.name)
        if account.pda is not None:
            return self._derive(account.pda, leaf)
        if account.default is not None:
            value = self._value(account.default, leaf)
            if value is not None:
                return self._key(value, leaf.name)
        if account.constraints is not None and account.constraints.token is not None:
            token = account.constraints.token
            if token.kind == "associated" and token.mint and token.authority:
                return self._ata(leaf, (token.authority,), (token.mint,), (token.program or "token_program",))
        if account.signer and self.wallet is not None and self.plan.wallet_may_sign(leaf):
            return self.wallet
        return self._find_by_nature(leaf)

    def _find_by_nature(self, leaf: Leaf) -> Pubkey | None:
        account = leaf.account
        why = ""
        for related in account.relations:
            try:
                found = self._related(leaf, related)
            except MissingAccount as error:
                why = why or error.why
                continue
            if found is not None:
                return found
        part = self.plan.is_event_part(leaf)
        if part == "authority":
            return event_authority(self.program_id)
        if part == "program":
            return self.program_id
        if account.optional:
            return None
        known = certain(account.name)
        if known is not None:
            return self._token_program(leaf) if known == TOKEN_PROGRAM else known
        ata = self.plan.ata_of(leaf)
        if ata is not None:
            owner, mint, program = (None if i is None else self.plan.leaves[i].path for i in ata)
            assert owner is not None
            assert mint is not None
            return self._ata(leaf, owner, mint, program or ("token_program",))
        if not why:
            why = (
                "it signs, and there is no wallet"
                if account.signer and self.wallet is None
                else "it signs for its own creation, so it is a new key pair of yours"
                if account.signer
                else "neither the IDL nor its name says what it is"
            )
        raise self._missing(leaf, why)

    def _token_program(self, leaf: Leaf) -> Pubkey:
        """SPL Token, or Token-2022 where the instruction's one mint is owned by it."""
        if self.online:
            at = self.plan.locate(("mint",), leaf)
            if at is not None and at not in self._open and self._done.get(at) is not None:
                mint = self._account(self._done[at])
                if mint is not None and mint.owner in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
                    return mint.owner
        return TOKEN_PROGRAM

    def _ata(self, leaf: Leaf, owner: tuple[str, ...], mint: tuple[str, ...], program: tuple[str, ...]) -> Pubkey:
        token_program: Pubkey | None = None
        if self.plan.locate(program, leaf) is not None:
            token_program = self._other(program, leaf, "its token program")
        return associated_token(
            self._other(owner, leaf, "its owner"),
            self._other(mint, leaf, "its mint"),
            token_program or self._token_program(leaf),
        )

    def _other(self, path: tuple[str, ...], leaf: Leaf, role: str) -> Pubkey:
        """The address of another account that *leaf* is derived from."""
        name = ".".join(path)
        index = self.plan.locate(path, leaf)
        if index is None:
            raise self._missing(leaf, f"{role} is account {name!r}, which the instruction does not have")
        try:
            key = self._resolve(index)
        except MissingAccount as error:
            raise self._missing(leaf, f"{role} is account {name!r}, which is missing ({error.why})") from error
        if key is None:
            raise self._missing(leaf, f"{role} is the optional account {name!r}, which is absent")
        return key

    def _account(self, key: Pubkey | None) -> AccountData | None:
        assert key is not None
        if key not in self._data:
            raise _Need(key)
        return self._data[key]

    def _related(self, leaf: Leaf, related: str) -> Pubkey | None:
        """The field of *leaf*'s name in the state of the account *related* (Anchor's has_one)."""
        value = self._read_field((related,), (leaf.account.name,), None, leaf, "its relation")[1]
        return value if isinstance(value, Pubkey) else None

    # --- values --------------------------------------------------------------------------------------------------

    def _argument(self, path: tuple[str, ...]) -> tuple[Any, Type | None, bool]:
        """An argument: its value, its type, and whether it is there."""
        if not path:
            return None, None, False
        name = self.plan.arg_alias.get(path[0])
        if name is None:  # not an argument of the data (Codama's extra arguments): taken as it is
            return (self.args[path[0]], None, True) if path[0] in self.args else (None, None, False)
        field = self.plan.args[name]
        there = False
        value: Any = None
        for key in dict.fromkeys((name, path[0], *forms(name))):
            if key in self.args:
                value, there = self.args[key], True
                break
        if not there and field.default is not None:
            value, there = field.default.value, True
        if not there and name in self.plan.arg_values and name not in self._open_args:
            value = self._arg_value(name)
            there = value is not None
        node = self.plan.walk_type(field.type, path[1:])
        for step in path[1:]:
            value = _member(value, step)
        return value, node, there

    def _arg_value(self, name: str) -> Any:
        """An argument that the IDL derives (Codama: from accounts, the wallet, a bump). None where it cannot be."""
        self._open_args.append(name)
        try:
            return self._value(self.plan.arg_values[name], Leaf(-1, (name,), Account(name)))
        except (MissingAccount, PdaError):
            return None  # then it is missing like any other argument, and the codec says so
        finally:
            self._open_args.pop()

    def complete_args(self) -> dict[str, Any]:
        """The arguments given, and those that the IDL derives, once `wanted()` is empty."""
        out = dict(self.args)
        for name in self.plan.arg_values:
            if not any(form in out for form in forms(name)):
                value = self._arg_value(name)
                if value is not None:
                    out[name] = value
        return out

    def _bump(self, path: tuple[str, ...], leaf: Leaf) -> int:
        """The bump of another account's derived address."""
        index = self.plan.locate(path, leaf)
        if index is None:
            raise self._missing(
                leaf, f"it is the bump of account {'.'.join(path)!r}, which the instruction does not have"
            )
        other = self.plan.leaves[index]
        pda = other.account.pda or (other.account.default.pda if isinstance(other.account.default, PdaValue) else None)
        if pda is None:
            raise self._missing(leaf, f"it is the bump of account {other.name!r}, which has no seeds")
        return self._find_pda(pda, other)[1]

    def _value(self, value: Value, leaf: Leaf) -> Any:
        """A value that an address (or a condition) is; None when there is none."""
        match value:
            case ConstValue(constant, _):
                return constant
            case ArgValue(path):
                return self._argument(path)[0]
            case AccountValue(path, (), _):
                index = self.plan.locate(path, leaf)
                if index is None:
                    raise self._missing(leaf, f"it is account {'.'.join(path)!r}, which the instruction does not have")
                if self.plan.leaves[index].account.optional:
                    return self._resolve(index)
                return self._other(path, leaf, "it")
            case AccountValue(path, fields, type_name):
                return self._read_field(path, fields, type_name, leaf, "it")[1]
            case AccountBumpValue(path):
                return self._bump(path, leaf)
            case ProgramIdValue():
                return self.program_id
            case IdentityValue():
                return self._person(leaf, self.wallet, "the acting wallet")
            case PayerValue():
                return self._person(leaf, self.payer, "the paying wallet")
            case PdaValue(pda):
                return self._derive(pda, leaf)
            case ResolverValue(name, depends):
                resolver = self.resolvers.get(name)
                if resolver is None:
                    needs = f" (from {', '.join(depends)})" if depends else ""
                    raise self._missing(leaf, f"the IDL leaves it to a resolver {name!r}{needs}, and none was given")
                return resolver(self)
            case ConditionalValue():
                chosen = value.then if self._holds(value, leaf) else value.otherwise
                return None if chosen is None else self._value(chosen, leaf)

    def _person(self, leaf: Leaf, key: Pubkey | None, role: str) -> Pubkey:
        if key is None:
            raise self._missing(leaf, f"it is {role}, and there is none")
        return key

    def _holds(self, condition: ConditionalValue, leaf: Leaf) -> bool:
        asked = condition.condition
        if isinstance(asked, AccountValue) and not asked.field:
            index = self.plan.locate(asked.account, leaf)
            if index is None or index in self._open:
                return False
            try:
                found: Any = self._resolve(index)
            except MissingAccount:
                return False
        else:
            found = self._value(asked, leaf)
        if condition.equals is None:
            return found is not None and found is not False
        return _same(found, condition.equals)

    # --- seeds ---------------------------------------------------------------------------------------------------

    def _derive(self, pda: Pda, leaf: Leaf) -> Pubkey:
        return self._find_pda(pda, leaf)[0]

    def _find_pda(self, pda: Pda, leaf: Leaf) -> tuple[Pubkey, int]:
        program = self.program_id
        if pda.program is not None:  # an unknown foreign program never becomes our own (FIELD-NOTES C-29)
            try:
                value = self._value(pda.program, leaf)
            except MissingAccount as error:
                raise self._missing(leaf, f"the program that owns the address: {error.why}") from error
            if value is None:
                raise self._missing(leaf, "the program that owns the address is not given")
            program = self._key(value, leaf.name)
        seeds = [self._seed(seed, place + 1, leaf) for place, seed in enumerate(pda.seeds)]
        return find_pda(seeds, program, account=f"{self.plan.instruction.name}.{leaf.name}")

    def _seed(self, seed: Seed, place: int, leaf: Leaf) -> bytes:
        match seed:
            case ConstSeed(value):
                return value
            case ProgramIdSeed():
                return bytes(self.program_id)
            case UnknownSeed(why):
                raise self._missing(leaf, f"seed {place} cannot be derived: {why}")
            case ArgSeed(path, node, encoding):
                name = ".".join(path)
                value, found_type, there = self._argument(path)
                if not there or value is None:
                    raise self._missing(leaf, f"seed {place} is the argument {name!r}, which is not given")
                node = node or found_type
                if node is None:
                    raise self._missing(leaf, f"seed {place} is the argument {name!r}, whose type is not known")
                return self._seed_bytes(node, value, encoding, leaf, f"seed {place}, the argument {name!r}")
            case AccountSeed():
                return self._account_seed(seed, place, leaf)

    def _account_seed(self, seed: AccountSeed, place: int, leaf: Leaf) -> bytes:
        role = f"seed {place}"
        if not seed.field:
            raw = bytes(self._other(seed.account, leaf, role))
            if seed.sort is not None:
                other = bytes(self._other(seed.other, leaf, role))
                return min(raw, other) if seed.sort == "min" else max(raw, other)
            return raw
        node, value, raw_bytes = self._read_field(seed.account, seed.field, seed.account_type, leaf, role)
        if raw_bytes is not None and seed.encoding is None:
            return raw_bytes
        node = seed.type or node
        where = f"{role}, the field {'.'.join(seed.field)!r} of account {'.'.join(seed.account)!r}"
        if node is None:
            raise self._missing(leaf, f"{where}, has no known type")
        return self._seed_bytes(node, value, seed.encoding, leaf, where)

    def _seed_bytes(self, node: Type, value: Any, encoding: str | None, leaf: Leaf, where: str) -> bytes:
        """A value as a seed: strings, bytes and vecs without their length (FIELD-NOTES C-24, C-25)."""
        if encoding == "utf8":
            return str(value).encode()
        try:
            bare = self.plan.codecs.layouts.resolver.target(node)
            while isinstance(bare, SizePrefixed):
                bare = self.plan.codecs.layouts.resolver.target(bare.item)
            if isinstance(bare, String) and bare.encoding == "utf8" and isinstance(value, str):
                return value.encode()
            if isinstance(bare, Array) and not isinstance(bare.count, int):
                bare = Array(bare.item, None)
            raw = self.plan.codecs.codec(bare).encode(_address_text(bare, value))
        except McpsolError as error:
            raise PdaError(f"{self.plan.instruction.name}.{leaf.name}", f"{where}: {error}") from error
        if encoding == "be":
            if not isinstance(bare, Int):
                raise PdaError(
                    f"{self.plan.instruction.name}.{leaf.name}", f"{where} is no number, so it has no big-endian form."
                )
            return raw if bare.big_endian else raw[::-1]
        return raw

    def _read_field(
        self, path: tuple[str, ...], fields: tuple[str, ...], type_name: str | None, leaf: Leaf, role: str
    ) -> tuple[Type | None, Any, bytes | None]:
        """A field of another account's data: its type, its value, and its bytes where they are known as such."""
        what = f"{role} is the field {'.'.join(fields)!r} of account {'.'.join(path)!r}"
        key = self._other(path, leaf, role)
        if not self.online:
            raise self._missing(leaf, f"{what}, which must be read from the chain")
        account = self._account(key)
        if account is None:
            raise self._missing(leaf, f"{what}, and {key} does not exist")
        data = bytes(account.data)
        state = self.plan.state_type(type_name) if type_name else None
        if state is None or account.owner in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
            foreign = foreign_field(type_name, fields[-1], account.owner, data) if len(fields) == 1 else None
            if foreign is not None:
                return None, foreign[1], foreign[0]
            if state is None and type_name is not None:
                raise self._missing(leaf, f"{what}, of type {type_name!r}, which this program does not define")
        if account.owner != (self.plan.facade_of or self.program_id):
            raise self._missing(leaf, f"{what}, and {key} belongs to program {account.owner}")
        try:
            decoded, value = decode_account(self.plan.codecs, data, type_name)
        except McpsolError as error:
            raise self._missing(leaf, f"{what}: {error}") from error
        state = state or self.plan.state_type(decoded)
        node = self.plan.walk_type(state, fields) if state is not None else None
        for step in fields:
            value = _member(value, step)
        if value is None or node is None:
            raise self._missing(leaf, f"{what}, and {decoded} has no such field")
        return node, value, None


def _member(value: Any, step: str) -> Any:
    """A field of a decoded or given value, in any spelling, or None."""
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        known = aliases(str(k) for k in value).get(step)
        if known is None:
            wanted = snake(step)
            known = next((k for k in value if snake(str(k)) == wanted), None)
        return None if known is None else value[known]
    if isinstance(value, (list, tuple)) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return None


def _address_text(node: Type, value: Any) -> Any:
    """A key pair where the argument is an address."""
    if isinstance(node, PubkeyType):
        return address_of(value) or value
    return value


def _same(found: Any, wanted: Any) -> bool:
    """Does an argument, in natural or JSON form, equal the JSON form of a constant?"""
    if isinstance(found, Mapping) and len(found) == 1:
        found = next(iter(found))
    if isinstance(wanted, Mapping) and len(wanted) == 1:
        wanted = next(iter(wanted))
    if isinstance(found, str) and isinstance(wanted, str):
        return found == wanted or snake(found) == snake(wanted)
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return bool(str(found) == str(wanted)) if found is not None and wanted is not None else found is wanted
