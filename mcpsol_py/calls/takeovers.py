"""Power that a transaction gives away without moving a balance: owners, delegates, authorities, lockups.

Each finding is a sentence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import AccountMap, AccountState
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.native_accounts import (
    NATIVE_PROGRAMS,
    StakeAccount,
    read_stake,
    withdraw_authority,
)
from mcpsol_py.solana.tokens import (
    TOKEN_PROGRAMS,
    Extension,
    Mint,
    TokenAccount,
    extensions,
    nonzero_address,
    read_mint,
    read_token_account,
)

__all__ = ["handed_over", "takeovers"]

_U64_MAX = (1 << 64) - 1
#: Programs whose accounts are read field by field.
_KNOWN_PROGRAMS = (*NATIVE_PROGRAMS, *TOKEN_PROGRAMS)
#: Extensions of a token account with encrypted balances: its own, and the fees withheld in it.
_ENCRYPTED_IN_ACCOUNT = (
    Extension.CONFIDENTIAL_TRANSFER_ACCOUNT,
    Extension.CONFIDENTIAL_TRANSFER_FEE_AMOUNT,
)
#: Extensions of a mint with encrypted amounts: the fees withheld in it, and its supply.
_ENCRYPTED_IN_MINT = (
    Extension.CONFIDENTIAL_TRANSFER_FEE_CONFIG,
    Extension.CONFIDENTIAL_MINT_BURN,
)


#: An account that does not exist, as a program sees it.
_NO_ACCOUNT: AccountState = Account(0, b"", SYSTEM_PROGRAM)


def _state(account: AccountState | None) -> AccountState:
    return _NO_ACCOUNT if account is None else account


@dataclass(frozen=True, slots=True)
class _AccountChange:
    """One account before and after a transaction. `reachable`: *wallets* can take from it, though others own it."""

    key: Pubkey
    before: AccountState
    after: AccountState
    wallets: frozenset[str]
    reachable: bool

    @property
    def is_new(self) -> bool:
        """Whether the account did not exist before."""
        return self.before is _NO_ACCOUNT

    def is_ours(self, address: Pubkey | None) -> bool:
        """Whether *address* is one of the wallets."""
        return str(address) in self.wallets

    def gives(self, before: Pubkey | None, after: Pubkey | None) -> bool:
        """Whether a power passes from *before* to *after*, who is somebody else."""
        return after not in (None, before) and not self.is_ours(after)

    def loses(self, holder: Pubkey | None, heir: Pubkey | None) -> bool:
        """Whether *holder* had a power that passes to somebody else, or to nobody."""
        return holder not in (None, heir) and not self.is_ours(heir)

    def could_take(self, owner: Pubkey | None) -> bool:
        """Whether the wallets had the power over the account that *owner* had before."""
        return self.reachable or self.is_ours(owner)

    def differs_in(self, kinds: Collection[Extension]) -> bool:
        """Whether one of the extensions *kinds* is not the same after."""
        old, new = extensions(self.before), extensions(self.after)
        return any(old.get(kind) != new.get(kind) for kind in kinds)


def _named(heir: Pubkey | None) -> str:
    return "nobody" if heir is None else str(heir)


def takeovers(
    before: AccountMap,
    after: AccountMap,
    wallets: Iterable[str],
    accounts: Collection[Pubkey] = (),
) -> list[str]:
    """Return what gives others power over property of *wallets* without moving it now, a sentence each.

    That is a new owner, delegate or close authority of a token account, a new authority over a mint or an account of a
    native program, a lockup of a stake, a wallet that is assigned to a program or given data, and encrypted amounts
    that change. *accounts* are accounts of others that the wallets can take from (see `signing_power`).
    """
    mine = frozenset(wallets)
    found: list[str] = []
    for key, account in before.items():
        states = _state(account), _state(after.get(key))
        change = _AccountChange(key, *states, mine, key in accounts)
        found += _wallet_assigned(change)
        lost = list(_mint_authorities_lost(change))
        found += lost
        token = read_token_account(change.after)
        if token is not None:
            found += _token_account_takeovers(change, token)
        elif not lost:
            found += _known_program_takeovers(change)
    return found


def _wallet_assigned(change: _AccountChange) -> Iterator[str]:
    before, after = change.before, change.after
    if before.owner != SYSTEM_PROGRAM or not change.is_ours(change.key):
        return
    if after.owner != SYSTEM_PROGRAM or bytes(after.data):
        yield f"wallet {change.key} is assigned to program {after.owner}"


# --- tokens ----------------------------------------------------------------------------------------------------------


def _mint_authorities_lost(change: _AccountChange) -> Iterator[str]:
    before, after = _mint(change.before), _mint(change.after)
    yield from _authority_lost(
        change, "mint", before.mint_authority, after.mint_authority
    )
    yield from _authority_lost(
        change, "freeze", before.freeze_authority, after.freeze_authority
    )


def _mint(account: AccountState) -> Mint:
    """Return the mint in *account*, or one without authorities."""
    return read_mint(account) or Mint()


def _authority_lost(
    change: _AccountChange, kind: str, holder: Pubkey | None, heir: Pubkey | None
) -> Iterator[str]:
    if change.could_take(holder) and change.loses(holder, heir):
        yield f"{kind} authority of mint {change.key} passes from {holder} to {_named(heir)}"


def _token_account_takeovers(
    change: _AccountChange, after: TokenAccount
) -> Iterator[str]:
    key, known = change.key, read_token_account(change.before)
    if not _is_held(change, known, after):
        return
    if known is not None and change.differs_in(_ENCRYPTED_IN_ACCOUNT):
        yield f"the confidential balance of token account {key} changes and cannot be measured"
    # A new account is compared with an empty one of the same owner.
    before = known if known is not None else TokenAccount(after.mint, after.owner)
    if change.gives(before.owner, after.owner):
        yield f"token account {key} passes from {before.owner} to {after.owner}"
    allowance = before.delegated_amount if before.delegate == after.delegate else 0
    if change.gives(None, after.delegate) and after.delegated_amount > allowance:
        amount = after.delegated_amount
        units = {_U64_MAX: "everything"}.get(amount, f"{amount} base units")
        yield f"would let {after.delegate} spend up to {units} of mint {after.mint} from token account {key}"
    if change.gives(before.close_authority, after.close_authority):
        yield f"would let {after.close_authority} close token account {key}"


def _is_held(
    change: _AccountChange, before: TokenAccount | None, after: TokenAccount
) -> bool:
    """Whether the wallets own the token account, before or after, or could take from it before."""
    if change.is_ours(after.owner):
        return True
    return before is not None and change.could_take(before.owner)


# --- accounts of native and token programs ---------------------------------------------------------------------------


def _known_program_takeovers(change: _AccountChange) -> Iterator[str]:
    before, after = change.before, change.after
    if (
        change.is_new
        or change.is_ours(change.key)
        or before.owner not in _KNOWN_PROGRAMS
    ):
        return
    lost = next(_replaced(before, after, change.wallets), None) if after.data else None
    if lost is not None:
        yield (
            f"authority over account {change.key} (byte {lost.offset}) passes from {lost.wallet} "
            f"to {_named(lost.heir)}"
        )
        return
    if change.reachable and _assigned(before, after):
        yield f"account {change.key} is assigned to program {after.owner}"
    elif after.data:
        yield from _authority_takeovers(change, before, after)


def _assigned(before: AccountState, after: AccountState) -> bool:
    """Whether an account with lamports leaves the System program."""
    return before.owner == SYSTEM_PROGRAM != after.owner and before.lamports > 0


def _authority_takeovers(
    change: _AccountChange, before: AccountState, after: AccountState
) -> Iterator[str]:
    """Find losses in accounts that do not name a wallet, or still name it afterwards."""
    stake = read_stake(before)
    if stake is not None:
        yield from _stake_takeovers(
            change, stake, StakeAccount.from_bytes(bytes(after.data))
        )
    elif change.reachable:
        yield from _withdrawer_replaced(change, before, after)
    if change.differs_in(_ENCRYPTED_IN_MINT) and (
        change.reachable or _names_a_wallet(change)
    ):
        yield f"encrypted amounts in mint {change.key} change and cannot be measured"


def _stake_takeovers(
    change: _AccountChange, before: StakeAccount, after: StakeAccount
) -> Iterator[str]:
    locked = before.lockup != after.lockup and not change.is_ours(after.custodian)
    if locked and change.could_take(before.withdrawer):
        yield f"stake account {change.key} gets a lockup that only {after.custodian} can lift"
    if not change.reachable:
        return
    if change.gives(before.staker, after.staker):
        yield f"authority over stake account {change.key} passes to {after.staker}"
    if change.gives(before.withdrawer, after.withdrawer):
        yield f"authority over stake account {change.key} passes to {after.withdrawer}"


def _withdrawer_replaced(
    change: _AccountChange, before: AccountState, after: AccountState
) -> Iterator[str]:
    had, has = withdraw_authority(before), withdraw_authority(after)
    if change.loses(had, has):
        yield f"authority over account {change.key} passes to {_named(has)}"


def _names_a_wallet(change: _AccountChange) -> bool:
    data = bytes(change.before.data)
    return any(bytes(Pubkey.from_string(wallet)) in data for wallet in change.wallets)


# --- accounts of other programs --------------------------------------------------------------------------------------


def handed_over(
    before: AccountMap, after: AccountMap, wallets: Iterable[str]
) -> list[str]:
    """Return where another address replaces one of *wallets* in an account of some other program, a sentence each.

    Such a program probably keeps its own kind of ownership there.
    """
    mine = frozenset(wallets)
    found: list[str] = []
    for key, account in before.items():
        was, now = _state(account), _state(after.get(key))
        if was.owner in _KNOWN_PROGRAMS:
            continue
        found += (
            f"in account {key} of program {was.owner}, {one.heir} takes the place of {one.wallet} (byte {one.offset})"
            for one in _first_heirs(_replaced(was, now, mine))
        )
    return found


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A wallet's address that an account had at a byte offset. `heir` is the address there now, None for zeros."""

    wallet: str
    offset: int
    heir: Pubkey | None


def _replaced(
    before: AccountState, after: AccountState, wallets: Collection[str]
) -> Iterator[_Replaced]:
    """Find the places where an address of *wallets* was and no longer is."""
    old, new = bytes(before.data), bytes(after.data)
    for wallet in sorted(wallets):
        address = bytes(Pubkey.from_string(wallet))
        for at in _offsets(old, address):
            place = new[at : at + 32]
            if place != address:
                yield _Replaced(wallet, at, nonzero_address(place))


def _first_heirs(found: Iterable[_Replaced]) -> Iterable[_Replaced]:
    """Return the first place of each wallet that has the address of an heir now."""
    first: dict[str, _Replaced] = {}
    for replaced in found:
        if replaced.heir is not None:
            first.setdefault(replaced.wallet, replaced)
    return first.values()


def _offsets(data: bytes, wanted: bytes) -> Iterator[int]:
    at = data.find(wanted)
    while at >= 0:
        yield at
        at = data.find(wanted, at + 1)
