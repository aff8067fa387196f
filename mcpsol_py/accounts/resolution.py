"""Completes the accounts of one call from those that the caller gives, without I/O.

A `Resolution` fills in the accounts that it can, and says which account data it needs next. Its
caller fetches the data, or has no connection. So the offline `build`, the asynchronous client and
its synchronous twin share it:

    resolution = plan.resolve(args, accounts, program_id=..., wallet=..., online=True)
    while wanted := resolution.wanted():
        resolution.supply(zip(wanted, await transport.get_accounts(wanted)))
    metas = resolution.metas()

An account's address comes from the first of these that applies:

  1. the caller (None: an optional account is absent)
  2. the IDL's fixed address
  3. the IDL's PDA, with seeds from constants, arguments, accounts, and fields of fetched accounts
  4. the IDL's default value (Codama), the associated token account of the owner and the mint that a spec gives to it
     (of the wallet, if the spec gives no owner)
  5. the wallet, for a signer that is not a new account
  6. relations: the field for it in the state of the account that names this one, fetched
  7. Anchor's event pair: `event_authority`, and `program` after it
  8. for the token program of associated token accounts: the program that owns their mints, fetched
  9. the names of well-known programs and sysvars (known_names.py); the associated token account of
     `mint` and of `owner` or `wallet` beside it
  10. an optional account is absent
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.accounts.arguments import Arguments
from mcpsol_py.accounts.conventions import (
    MintSeed,
    ata_of,
    event_part,
    held_token,
    is_payer,
    wallet_may_sign,
)
from mcpsol_py.accounts.given import GivenAccounts
from mcpsol_py.accounts.inputs import require_address
from mcpsol_py.accounts.known_names import known_address
from mcpsol_py.accounts.leaf import MAX_DEPTH, Leaf
from mcpsol_py.accounts.seeds import derive, seed_bytes
from mcpsol_py.accounts.state import read_field
from mcpsol_py.accounts.values import value_of
from mcpsol_py.errors import MissingAccount, PdaError, UnknownName
from mcpsol_py.model.program import Value
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM, TOKEN_PROGRAMS
from mcpsol_py.solana.pda import associated_token, event_authority

if TYPE_CHECKING:
    from mcpsol_py.accounts.plan import Plan

__all__ = ["AccountData", "Resolution", "Resolver"]

_Path = tuple[str, ...]
_Found = TypeVar("_Found")


class AccountData(Protocol):
    """An account as read from the chain, such as solders' Account."""

    @property
    def owner(self) -> Pubkey:
        """The program that owns the account."""

    @property
    def data(self) -> bytes:
        """Its data."""


#: A Codama resolver given by the caller: takes the resolution (`.argument(name)`, `.address(name)`)
#: and returns a value, or None.
Resolver = Callable[["Resolution"], Any]


class _NeedsData(Exception):
    """Account data must be fetched first."""

    def __init__(self, key: Pubkey) -> None:
        super().__init__()
        self.key = key


class Resolution:
    """The accounts of one call while they are completed. The module's docstring has the order."""

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
        self.program_id = program_id
        self.wallet = None if wallet is None else self._address(wallet, "wallet")
        self.payer = self.wallet if payer is None else self._address(payer, "payer")
        self.resolvers = resolvers
        self.online = online
        self.arguments = Arguments(self, plan, args)
        given = GivenAccounts(plan, accounts, remaining)
        #: the indices of the accounts that the caller gave
        self.given = frozenset(given.addresses)
        self._given_signs = given.signs
        self._remaining = given.remaining
        self._done = given.addresses
        #: the accounts being resolved, the outermost first
        self._open: list[int] = []
        self._data: dict[Pubkey, AccountData | None] = {}

    # --- for the caller ------------------------------------------------------------------------

    def wanted(self) -> list[Pubkey]:
        """Return the addresses whose account data is needed next, or [] when all is known.

        Raises MissingAccount and PdaError.
        """
        needed: dict[Pubkey, None] = {}
        for leaf in self.plan.leaves:
            try:
                self.resolve(leaf.index)
            except _NeedsData as need:
                needed[need.key] = None
        return list(needed)

    def supply(self, found: Iterable[tuple[Pubkey, AccountData | None]]) -> None:
        """Take the accounts that `wanted` named. None is an account that does not exist."""
        self._data.update(found)

    def metas(self) -> list[AccountMeta]:
        """Return the instruction's accounts in order, once `wanted()` is empty."""
        is_complete = len(self._done) == len(self.plan.leaves)
        if not is_complete and self.wanted():
            raise RuntimeError("metas() before wanted() was empty")
        metas: list[AccountMeta] = []
        for leaf in self.plan.leaves:
            key = self._done[leaf.index]
            if key is not None:
                metas.append(
                    AccountMeta(key, self._signs(leaf, key), leaf.account.writable)
                )
            elif self.plan.instruction.optional_accounts == "program_id":
                metas.append(AccountMeta(self.program_id, False, False))
        return metas + self._remaining

    def addresses(self) -> dict[str, Pubkey | None]:
        """Return every account's address by dotted name, None for an absent optional account."""
        return {leaf.name: self._done.get(leaf.index) for leaf in self.plan.leaves}

    def complete_args(self) -> dict[str, Any]:
        """Return the given arguments and those that the IDL derives, once `wanted()` is empty."""
        return self.arguments.complete()

    def _signs(self, leaf: Leaf, key: Pubkey) -> bool:
        """Return whether an account signs.

        An account that may sign (Codama's "either") signs if it was given as a key pair or is the
        wallet. Without a wallet it signs, unless signers among the remaining accounts (a multisig's
        members) sign for it.
        """
        signer = leaf.account.signer
        if signer != "either":
            return signer
        if leaf.index in self._given_signs:
            return self._given_signs[leaf.index]
        if any(meta.is_signer for meta in self._remaining):
            return False
        return self.wallet is None or key in (self.wallet, self.payer)

    # --- for resolvers -------------------------------------------------------------------------

    def address(self, name: str) -> Pubkey | None:
        """Return the address of another account of the instruction, by dotted name."""
        index = self.plan.locate(tuple(name.split(".")))
        if index is None:
            raise UnknownName(
                "account", name, self.plan.names(), self.plan.instruction.name
            )
        return self.resolve(index)

    def argument(self, name: str) -> Any:
        """Return an argument by dotted name, or None if it is not given and has no default."""
        return self.arguments.find(tuple(name.split("."))).value

    # --- for the other modules of this package -------------------------------------------------

    def resolve(self, index: int) -> Pubkey | None:
        """Return the address of the account at *index*, None for an absent optional account.

        Raises MissingAccount and PdaError.
        """
        if index in self._done:
            return self._done[index]
        leaf = self.plan.leaves[index]
        if index in self._open or len(self._open) > MAX_DEPTH:
            raise self._ring(leaf)
        self._open.append(index)
        try:
            key = self._find(leaf)
        except (MissingAccount, PdaError):
            if not leaf.account.optional:
                raise
            key = None  # the instruction works without it
        finally:
            self._open.pop()
        self._done[index] = key
        return key

    def is_open(self, index: int) -> bool:
        """Return whether the account at *index* is being resolved."""
        return index in self._open

    def address_at(self, path: _Path, leaf: Leaf, role: str) -> Pubkey:
        """Return the address of the account at *path*, from which *leaf* is derived.

        *role*: what that account is to *leaf*, for errors. Raises MissingAccount.
        """
        name = ".".join(path)
        index = self.plan.locate(path, leaf)
        if index is None:
            why = f"{role} is account {name!r}, which the instruction does not have"
            raise self.missing(leaf, why)
        try:
            key = self.resolve(index)
        except MissingAccount as error:
            why = f"{role} is account {name!r}, which is missing ({error.why})"
            raise self.missing(leaf, why) from error
        if key is None:
            raise self.missing(
                leaf, f"{role} is the optional account {name!r}, which is absent"
            )
        return key

    def account_data(self, key: Pubkey) -> AccountData | None:
        """Return the account at *key*, None if it does not exist.

        Interrupts the resolution if the account must be fetched first.
        """
        if key not in self._data:
            raise _NeedsData(key)
        return self._data[key]

    def value(self, value: Value, leaf: Leaf) -> Any:
        """Return *value* for the account *leaf*, or None. Raises MissingAccount and PdaError."""
        return value_of(self, value, leaf)

    def missing(self, leaf: Leaf, why: str) -> MissingAccount:
        """Return the error for an account whose address cannot be found."""
        return MissingAccount(self.plan.instruction.name, leaf.name, why)

    def require(self, found: _Found | None, leaf: Leaf, why: str) -> _Found:
        """Return *found*. Raises MissingAccount with *why* if it is None."""
        if found is None:
            raise self.missing(leaf, why)
        return found

    # --- finding an address, in the order of the module's docstring ----------------------------

    def _find(self, leaf: Leaf) -> Pubkey | None:
        found = self._from_model(leaf)
        if found is not None:
            return found
        found, why = self._from_relations(leaf)
        if found is None:
            found = self._from_event_pair(leaf)
        if found is not None or leaf.account.optional:
            return found
        found = self._from_name(leaf)
        if found is None:
            raise self.missing(leaf, why or self._why_unknown(leaf))
        return found

    def _from_model(self, leaf: Leaf) -> Pubkey | None:
        account = leaf.account
        if account.address is not None and account.address == self.plan.own_address:
            return self.program_id  # which may run at another address
        if account.address is not None:
            return self._address(account.address, leaf.name)
        if account.pda is not None:
            return derive(self, account.pda, leaf)[0]
        if account.default is not None:
            value = value_of(self, account.default, leaf)
            if value is not None:
                return self._address(value, leaf.name)
        found = self._from_token_constraint(leaf)
        if found is not None:
            return found
        if account.signer and wallet_may_sign(self.plan, leaf):
            return self.wallet
        return None

    def _from_token_constraint(self, leaf: Leaf) -> Pubkey | None:
        token = held_token(leaf)
        if token is None or not token.mint:
            return None
        mint, program = (token.mint,), (token.program or "token_program",)
        if token.authority:
            return self._ata(leaf, (token.authority,), mint, program)
        return (
            None
            if self.wallet is None
            else self._ata_of(leaf, self.wallet, mint, program)
        )

    def _from_relations(self, leaf: Leaf) -> tuple[Pubkey | None, str]:
        """Return the address that a related account's state has, or why the first has none."""
        why = ""
        for relation in self.plan.relations(leaf):
            field = tuple(relation.field.split("."))
            try:
                found = read_field(
                    self, relation.account, field, relation.state, leaf, "its relation"
                ).value
            except MissingAccount as error:
                why = why or error.why
                continue
            if isinstance(found, Pubkey):
                return found, ""
        return None, why

    def _from_event_pair(self, leaf: Leaf) -> Pubkey | None:
        part = event_part(self.plan, leaf)
        if part is None:
            return None
        return (
            event_authority(self.program_id) if part == "authority" else self.program_id
        )

    def _from_name(self, leaf: Leaf) -> Pubkey | None:
        mints = self.plan.token_program_mints.get(leaf.index)
        if mints is not None:
            return self._program_of_mints(leaf, mints)
        if is_payer(leaf) and self.wallet is not None:
            return self.wallet
        known = known_address(leaf.account.name)
        if known is not None:
            return self._token_program(leaf) if known == TOKEN_PROGRAM else known
        ata = ata_of(self.plan, leaf)
        if ata is None:
            return None
        leaves = self.plan.leaves
        program: _Path = ("token_program",)
        if ata.token_program is not None:
            program = leaves[ata.token_program].path
        return self._ata(leaf, leaves[ata.owner].path, leaves[ata.mint].path, program)

    def _why_unknown(self, leaf: Leaf) -> str:
        if not leaf.account.signer:
            return "neither the IDL nor the account's name decides it"
        if self.wallet is None:
            return "it signs, and no wallet was given"
        return "it signs for its own creation: create a new key pair for it"

    def _ata(self, leaf: Leaf, owner: _Path, mint: _Path, program: _Path) -> Pubkey:
        return self._ata_of(
            leaf, self.address_at(owner, leaf, "its owner"), mint, program
        )

    def _ata_of(self, leaf: Leaf, owner: Pubkey, mint: _Path, program: _Path) -> Pubkey:
        token_program: Pubkey | None = None
        if self.plan.locate(program, leaf) is not None:
            token_program = self.address_at(program, leaf, "its token program")
        return associated_token(
            owner,
            self.address_at(mint, leaf, "its mint"),
            token_program or self._token_program(leaf),
        )

    def _token_program(self, leaf: Leaf) -> Pubkey:
        """Return SPL Token, or Token-2022 if that owns the instruction's mint."""
        mint_at = self.plan.locate(("mint",), leaf) if self.online else None
        if mint_at is None:
            return TOKEN_PROGRAM
        key = self._done.get(mint_at)  # None if it is absent, or being resolved
        mint = None if key is None else self.account_data(key)
        if mint is None or mint.owner != TOKEN_2022_PROGRAM:
            return TOKEN_PROGRAM
        return TOKEN_2022_PROGRAM

    def _program_of_mints(self, leaf: Leaf, mints: Sequence[MintSeed]) -> Pubkey:
        """Return the token program that owns the mints of the accounts derived with it.

        Raises MissingAccount if nobody knows it: offline, for mints that do not exist, or of two programs.
        """
        ask = "give SPL Token or Token-2022, as the mint has it"
        if not self.online:
            raise self.missing(
                leaf,
                f"it is the program that owns the mint, which is not read here; {ask}",
            )
        owners: dict[Pubkey, None] = {}
        for mint in mints:
            key = Pubkey.from_bytes(seed_bytes(self, mint.seed, mint.leaf, 3))
            found = self.account_data(key)
            if found is None or found.owner not in TOKEN_PROGRAMS:
                state = (
                    "does not exist" if found is None else f"belongs to {found.owner}"
                )
                raise self.missing(
                    leaf,
                    f"it is the program that owns mint {key}, which {state}; {ask}",
                )
            owners[found.owner] = None
        if len(owners) > 1:
            raise self.missing(
                leaf, f"its mints belong to SPL Token and Token-2022; {ask}"
            )
        return next(iter(owners))

    def _ring(self, leaf: Leaf) -> MissingAccount:
        """Return the error for an account that is derived from itself, or too many times."""
        start = self._open.index(leaf.index) if self.is_open(leaf.index) else 0
        ring = [
            self.plan.leaves[index].name for index in [*self._open[start:], leaf.index]
        ]
        return self.missing(leaf, f"{' -> '.join(ring)} are derived from one another")

    def _address(self, value: object, name: str) -> Pubkey:
        return require_address(value, self.plan.instruction.name, name)
