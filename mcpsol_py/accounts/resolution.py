"""From the accounts that a caller gives to all that an instruction needs, without I/O.

A `Resolution` is one call of an instruction whose `Plan` is made. It fills in what it can and says which account data
it must see next; whoever drives it fetches (or says that there is no connection), so the offline `build`, the
asynchronous client and its synchronous twin share it:

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
  8. well-known programs and sysvars by name (known_names.py); the associated token account of its siblings `mint` and
     `owner` or `wallet`
  9. an optional account is absent
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.known_names import known_address
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.codec.account import decode_account
from mcpsol_py.errors import EncodeError, McpsolError, MissingAccount, PdaError, UnknownName
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    IdentityValue,
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
from mcpsol_py.model.types import Array, Int, SizePrefixed, String, Type
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.names import aliases, forms, snake
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token, event_authority, find_pda
from mcpsol_py.solana.tokens import state_field

if TYPE_CHECKING:
    from mcpsol_py.accounts.plan import Plan

__all__ = ["AccountData", "Resolution", "Resolver"]

_MAX_DEPTH = 64


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
            signer = (
                account.signer
                if isinstance(account.signer, bool)
                else self._either_signs(leaf.index, key)
            )
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
            raise MissingAccount(
                self.plan.instruction.name, leaf.name, "null was given, and it is not optional"
            )
        key = self._key(value, leaf.name)
        if isinstance(value, AccountMeta):
            self._signs[index] = value.is_signer
        elif not isinstance(value, (str, Pubkey)):
            self._signs[index] = True  # a key pair
        return key

    def _take_remaining(
        self, named: Mapping[str, Sequence[Any]], raw: Sequence[Any]
    ) -> list[AccountMeta]:
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
            return AccountMeta(
                key, value.is_signer or group.signer is True, value.is_writable or group.writable
            )
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
            ring = [
                self.plan.leaves[i].name for i in [*self._open[self._open.index(index) :], index]
            ]
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
                return self._ata(
                    leaf, (token.authority,), (token.mint,), (token.program or "token_program",)
                )
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
        known = known_address(account.name)
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

    def _ata(
        self, leaf: Leaf, owner: tuple[str, ...], mint: tuple[str, ...], program: tuple[str, ...]
    ) -> Pubkey:
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
            raise self._missing(
                leaf, f"{role} is account {name!r}, which the instruction does not have"
            )
        try:
            key = self._resolve(index)
        except MissingAccount as error:
            raise self._missing(
                leaf, f"{role} is account {name!r}, which is missing ({error.why})"
            ) from error
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
                leaf,
                f"it is the bump of account {'.'.join(path)!r}, which the instruction does not have",
            )
        other = self.plan.leaves[index]
        pda = other.account.pda or (
            other.account.default.pda if isinstance(other.account.default, PdaValue) else None
        )
        if pda is None:
            raise self._missing(
                leaf, f"it is the bump of account {other.name!r}, which has no seeds"
            )
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
                    raise self._missing(
                        leaf,
                        f"it is account {'.'.join(path)!r}, which the instruction does not have",
                    )
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
                    raise self._missing(
                        leaf, f"the IDL leaves it to a resolver {name!r}{needs}, and none was given"
                    )
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
        if (
            pda.program is not None
        ):  # an unknown foreign program never becomes our own (FIELD-NOTES C-29)
            try:
                value = self._value(pda.program, leaf)
            except MissingAccount as error:
                raise self._missing(
                    leaf, f"the program that owns the address: {error.why}"
                ) from error
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
                    raise self._missing(
                        leaf, f"seed {place} is the argument {name!r}, which is not given"
                    )
                node = node or found_type
                if node is None:
                    raise self._missing(
                        leaf, f"seed {place} is the argument {name!r}, whose type is not known"
                    )
                return self._seed_bytes(
                    node, value, encoding, leaf, f"seed {place}, the argument {name!r}"
                )
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
        node, value, raw_bytes = self._read_field(
            seed.account, seed.field, seed.account_type, leaf, role
        )
        if raw_bytes is not None and seed.encoding is None:
            return raw_bytes
        node = seed.type or node
        where = f"{role}, the field {'.'.join(seed.field)!r} of account {'.'.join(seed.account)!r}"
        if node is None:
            raise self._missing(leaf, f"{where}, has no known type")
        return self._seed_bytes(node, value, seed.encoding, leaf, where)

    def _seed_bytes(
        self, node: Type, value: Any, encoding: str | None, leaf: Leaf, where: str
    ) -> bytes:
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
            raise PdaError(
                f"{self.plan.instruction.name}.{leaf.name}", f"{where}: {error}"
            ) from error
        if encoding == "be":
            if not isinstance(bare, Int):
                raise PdaError(
                    f"{self.plan.instruction.name}.{leaf.name}",
                    f"{where} is no number, so it has no big-endian form.",
                )
            return raw if bare.big_endian else raw[::-1]
        return raw

    def _read_field(
        self,
        path: tuple[str, ...],
        fields: tuple[str, ...],
        type_name: str | None,
        leaf: Leaf,
        role: str,
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
            foreign = state_field(type_name, fields[0], account) if len(fields) == 1 else None
            if foreign is not None:
                return None, foreign[1], foreign[0]
            if state is None and type_name is not None:
                raise self._missing(
                    leaf, f"{what}, of type {type_name!r}, which this program does not define"
                )
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
    return (
        bool(str(found) == str(wanted))
        if found is not None and wanted is not None
        else found is wanted
    )
