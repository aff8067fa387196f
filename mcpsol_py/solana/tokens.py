"""SPL Token and Token-2022 accounts: token accounts, mints, multisigs and extensions.

The only module that knows at which byte of such an account a field is. Layouts (little-endian):
program/src/state.rs of solana-program/token. Token-2022 accounts begin with the same bytes. If they
are longer than 165 bytes, byte 165 says whether it is a mint (1) or a token account (2), and
extensions follow from byte 166: type u16, length u16, data.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal, Protocol, Self

from solders.pubkey import Pubkey

from mcpsol_py.names import snake
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAMS

__all__ = [
    "MINT_SIZE",
    "MULTISIG_SIZE",
    "TOKEN_ACCOUNT_SIZE",
    "TOKEN_PROGRAMS",
    "Extension",
    "Mint",
    "Multisig",
    "OwnedData",
    "TokenAccount",
    "TokenAccountState",
    "TransferFeeConfig",
    "extension_address",
    "extensions",
    "forged_extended_account",
    "forged_extended_mint",
    "forged_multisig",
    "highest_transfer_fee",
    "is_mint",
    "is_paused",
    "is_token_account",
    "listed_extensions",
    "mint_filter",
    "nonzero_address",
    "owner_filter",
    "parse_mint",
    "parse_token_account",
    "patch_mint",
    "patch_token_account",
    "read_mint",
    "read_multisig",
    "read_token_account",
    "requires_memo",
    "state_field",
    "takes_plain_transfers",
    "transfer_fee",
    "transfer_fee_config",
    "transfer_hook",
    "withholding",
    "with_extensions",
    "withheld_fees",
    "withheld_place",
]

#: Sizes in bytes, without extensions.
TOKEN_ACCOUNT_SIZE, MINT_SIZE, MULTISIG_SIZE = 165, 82, 355
_ACCOUNT_TYPE = 165
_MINT_TYPE, _TOKEN_ACCOUNT_TYPE = 1, 2
#: Of a transfer fee config, after two authorities.
_WITHHELD_IN_MINT = 64
_FIRST_EXTENSION = 166

# mint, owner, amount, delegate (tag, key), state, rent reserve (tag, lamports), delegated amount,
# close authority (tag, key)
_TOKEN_ACCOUNT = struct.Struct("<32s32sQI32sBIQQI32s")
# mint authority (tag, key), supply, decimals, initialized, freeze authority (tag, key)
_MINT = struct.Struct("<I32sQBBI32s")
# first epoch, highest fee, basis points: twice in a transfer fee config, from byte 72
_TRANSFER_FEE = struct.Struct("<QQH")
_TRANSFER_FEES = 72
#: ConfidentialTransferAccount: the byte that allows transfers that are not confidential.
_ALLOWS_PLAIN = 262
_U64, _U32, _U8, _KEY = map(struct.Struct, ("<Q", "<I", "B", "32s"))

#: Single fields: name -> (offset, format).
_Fields = dict[str, tuple[int, struct.Struct]]
_TOKEN_ACCOUNT_FIELDS: _Fields = {
    "mint": (0, _KEY),
    "owner": (32, _KEY),
    "authority": (32, _KEY),
    "amount": (64, _U64),
    "state": (108, _U8),
}
_MINT_FIELDS: _Fields = {
    "has_mint_authority": (0, _U32),
    "mint_authority": (4, _KEY),
    "supply": (36, _U64),
    "decimals": (44, _U8),
    "is_initialized": (45, _U8),
}


class OwnedData(Protocol):
    """An account's owner and data. solders' `Account` is one."""

    @property
    def owner(self) -> Pubkey:
        """The program that owns the account."""

    @property
    def data(self) -> bytes:
        """The account's data."""


class TokenAccountState(IntEnum):
    """The state of a token account."""

    UNINITIALIZED = 0
    INITIALIZED = 1
    FROZEN = 2


@dataclass(frozen=True, slots=True)
class TokenAccount:
    """A token account. Amounts are in base units.

    `delegated_amount` is 0 without a delegate. `rent_reserve` is set for wrapped SOL: the
    lamports that are not part of `amount`.
    """

    mint: Pubkey
    owner: Pubkey
    amount: int = 0
    delegate: Pubkey | None = None
    delegated_amount: int = 0
    close_authority: Pubkey | None = None
    rent_reserve: int | None = None
    state: int = TokenAccountState.INITIALIZED

    @property
    def is_native(self) -> bool:
        """Whether the account holds wrapped SOL."""
        return self.rent_reserve is not None

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the first 165 bytes of *data*. Raises ValueError if there are fewer."""
        if len(data) < TOKEN_ACCOUNT_SIZE:
            raise ValueError(
                f"expected a token account of {TOKEN_ACCOUNT_SIZE} bytes, got {len(data)}"
            )
        (
            mint,
            owner,
            amount,
            has_delegate,
            delegate,
            state,
            is_native,
            rent_reserve,
            delegated_amount,
            has_close_authority,
            close_authority,
        ) = _TOKEN_ACCOUNT.unpack_from(data)
        return cls(
            mint=Pubkey(mint),
            owner=Pubkey(owner),
            amount=amount,
            delegate=Pubkey(delegate) if has_delegate else None,
            delegated_amount=delegated_amount if has_delegate else 0,
            close_authority=Pubkey(close_authority) if has_close_authority else None,
            rent_reserve=rent_reserve if is_native else None,
            state=state,
        )

    def to_bytes(self) -> bytes:
        """Return the account's 165 bytes."""
        return _TOKEN_ACCOUNT.pack(
            bytes(self.mint),
            bytes(self.owner),
            self.amount,
            *_optional_key(self.delegate),
            self.state,
            int(self.is_native),
            self.rent_reserve or 0,
            self.delegated_amount,
            *_optional_key(self.close_authority),
        )


@dataclass(frozen=True, slots=True)
class Mint:
    """A mint. `supply` is in base units."""

    mint_authority: Pubkey | None = None
    supply: int = 0
    decimals: int = 0
    freeze_authority: Pubkey | None = None
    is_initialized: bool = True

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the first 82 bytes of *data*. Raises ValueError if there are fewer."""
        if len(data) < MINT_SIZE:
            raise ValueError(f"expected a mint of {MINT_SIZE} bytes, got {len(data)}")
        (
            has_authority,
            authority,
            supply,
            decimals,
            is_initialized,
            has_freezer,
            freezer,
        ) = _MINT.unpack_from(data)
        return cls(
            mint_authority=Pubkey(authority) if has_authority else None,
            supply=supply,
            decimals=decimals,
            freeze_authority=Pubkey(freezer) if has_freezer else None,
            is_initialized=bool(is_initialized),
        )

    def to_bytes(self) -> bytes:
        """Return the mint's 82 bytes."""
        return _MINT.pack(
            *_optional_key(self.mint_authority),
            self.supply,
            self.decimals,
            int(self.is_initialized),
            *_optional_key(self.freeze_authority),
        )


@dataclass(frozen=True, slots=True)
class Multisig:
    """A multisig account: `required` of `signers` must sign."""

    required: int
    signers: tuple[Pubkey, ...]


def _optional_key(key: Pubkey | None) -> tuple[int, bytes]:
    return (0, bytes(32)) if key is None else (1, bytes(key))


def with_extensions(
    base: bytes, kind: Literal["account", "mint"], listed: bytes
) -> bytes:
    """Return a token account or a mint with extensions of Token-2022, *listed* as its data lists them."""
    if not listed:
        return base
    byte = _TOKEN_ACCOUNT_TYPE if kind == "account" else _MINT_TYPE
    return base.ljust(_ACCOUNT_TYPE, b"\0") + bytes([byte]) + listed


# --- reading ---------------------------------------------------------------------------------


def is_token_account(data: bytes) -> bool:
    """Whether *data* has the size and account type of a token account."""
    return _has_type(data, TOKEN_ACCOUNT_SIZE, _TOKEN_ACCOUNT_TYPE)


def is_mint(data: bytes) -> bool:
    """Whether *data* has the size and account type of a mint."""
    return _has_type(data, MINT_SIZE, _MINT_TYPE)


def _has_type(data: bytes, size: int, account_type: int) -> bool:
    if len(data) == size:
        return True
    # The token programs never make an account with extensions as long as a multisig.
    if len(data) <= _ACCOUNT_TYPE or len(data) == MULTISIG_SIZE:
        return False
    return data[_ACCOUNT_TYPE] == account_type


def parse_token_account(data: bytes) -> TokenAccount | None:
    """Return the initialized token account in *data*, or None if it is something else."""
    if not is_token_account(data):
        return None
    found = TokenAccount.from_bytes(data)
    return None if found.state == TokenAccountState.UNINITIALIZED else found


def parse_mint(data: bytes) -> Mint | None:
    """Return the mint in *data*, or None if it is something else."""
    return Mint.from_bytes(data) if is_mint(data) else None


def read_token_account(account: OwnedData | None) -> TokenAccount | None:
    """Return *account* as an initialized token account, or None if it is something else."""
    data = _token_data(account)
    return parse_token_account(data) if data else None


def read_mint(account: OwnedData | None) -> Mint | None:
    """Return *account* as a mint, or None if it is something else."""
    return parse_mint(_token_data(account))


def read_multisig(account: OwnedData | None) -> Multisig | None:
    """Return *account* as an initialized multisig, or None if it is something else."""
    data = _token_data(account)
    if len(data) != MULTISIG_SIZE:
        return None
    required, count, is_initialized = data[:3]
    if is_initialized != 1 or not 1 <= count <= 11:
        return None
    signers = (Pubkey(data[at : at + 32]) for at in range(3, 3 + 32 * count, 32))
    return Multisig(required, tuple(signers))


def _token_data(account: OwnedData | None) -> bytes:
    """Return the data of a token program's account, and b"" for any other."""
    if account is None or account.owner not in TOKEN_PROGRAMS:
        return b""
    return bytes(account.data)


def owner_filter(owner: Pubkey) -> tuple[int, bytes]:
    """Return the memcmp filter (offset, bytes) that finds the token accounts of *owner*."""
    return _TOKEN_ACCOUNT_FIELDS["owner"][0], bytes(owner)


def mint_filter(mint: Pubkey) -> tuple[int, bytes]:
    """Return the memcmp filter (offset, bytes) that finds the token accounts of *mint*."""
    return _TOKEN_ACCOUNT_FIELDS["mint"][0], bytes(mint)


#: Fields by the name that Anchor IDLs give to the account type.
_FIELDS_BY_TYPE = {
    "TokenAccount": _TOKEN_ACCOUNT_FIELDS,
    "Account": _TOKEN_ACCOUNT_FIELDS,
    "Token": _TOKEN_ACCOUNT_FIELDS,
    "Mint": _MINT_FIELDS,
}
_SEED_FIELDS = frozenset({"mint", "owner", "authority", "amount", "supply", "decimals"})


def state_field(
    type_name: str | None, field: str, account: OwnedData
) -> tuple[bytes, Any] | None:
    """Return one field of a token account or mint as (its bytes, its value).

    *type_name* is the account type that an IDL names. Without it, the data's size decides. Returns
    None if another program owns *account*, or if the type or field is unknown.
    """
    if (
        account.owner not in TOKEN_PROGRAMS
        or (name := snake(field)) not in _SEED_FIELDS
    ):
        return None
    data = bytes(account.data)
    if type_name is None:
        fields = _MINT_FIELDS if len(data) == MINT_SIZE else _TOKEN_ACCOUNT_FIELDS
    else:
        fields = _FIELDS_BY_TYPE.get(type_name, {})
    if name not in fields:
        return None
    offset, form = fields[name]
    if len(data) < offset + form.size:
        return None
    raw = data[offset : offset + form.size]
    return raw, Pubkey(raw) if form is _KEY else form.unpack(raw)[0]


# --- extensions ------------------------------------------------------------------------------


class Extension(IntEnum):
    """Types of Token-2022 extensions (ExtensionType in its extension/mod.rs)."""

    TRANSFER_FEE_CONFIG = 1
    TRANSFER_FEE_AMOUNT = 2
    MINT_CLOSE_AUTHORITY = 3
    CONFIDENTIAL_TRANSFER_ACCOUNT = 5
    IMMUTABLE_OWNER = 7
    MEMO_TRANSFER = 8
    NON_TRANSFERABLE = 9
    PERMANENT_DELEGATE = 12
    NON_TRANSFERABLE_ACCOUNT = 13
    TRANSFER_HOOK = 14
    TRANSFER_HOOK_ACCOUNT = 15
    CONFIDENTIAL_TRANSFER_FEE_CONFIG = 16
    CONFIDENTIAL_TRANSFER_FEE_AMOUNT = 17
    CONFIDENTIAL_MINT_BURN = 24
    PAUSABLE = 26
    PAUSABLE_ACCOUNT = 27


def extensions(account: OwnedData | None) -> dict[int, bytes]:
    """Return the Token-2022 extensions of a mint or token account: type -> data."""
    if account is None or account.owner != TOKEN_2022_PROGRAM:
        return {}
    data = bytes(account.data)
    if len(data) == MULTISIG_SIZE:
        return {}
    return listed_extensions(data[_FIRST_EXTENSION:])


def _extension_places(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the type, the offset and the length of each extension in an account's data."""
    at = _FIRST_EXTENSION
    while at + 4 <= len(data):
        kind, length = struct.unpack_from("<HH", data, at)
        if kind == 0:
            return
        yield kind, at + 4, length
        at += 4 + length


@dataclass(frozen=True, slots=True)
class TransferFeeConfig:
    """A mint's transfer fees: who may withdraw them, and the fees withheld in the mint itself."""

    withdraw_authority: Pubkey
    withheld: int


def transfer_fee_config(found: dict[int, bytes]) -> TransferFeeConfig | None:
    """Return the transfer fee config among a mint's extensions, or None."""
    data = found.get(Extension.TRANSFER_FEE_CONFIG, b"")
    if len(data) < 72:
        return None
    return TransferFeeConfig(
        Pubkey(data[32:64]), _U64.unpack_from(data, _WITHHELD_IN_MINT)[0]
    )


def highest_transfer_fee(found: dict[int, bytes], amount: int) -> int:
    """Return the fee of a transfer of *amount* base units, from a mint's extensions.

    A mint has a fee until some epoch and one from then on. The higher one counts.
    """
    return max((fee.of(amount) for fee in _transfer_fees(found)), default=0)


def transfer_fee(found: dict[int, bytes], amount: int, epoch: int) -> int:
    """Return the fee of a transfer of *amount* base units in *epoch*, from a mint's extensions."""
    begun = [fee for fee in _transfer_fees(found)[1:] if epoch >= fee.epoch]
    valid = begun or _transfer_fees(found)[:1]
    return valid[0].of(amount) if valid else 0


@dataclass(frozen=True, slots=True)
class _TransferFee:
    """A fee from an epoch on: at most `most` base units, in hundredths of a percent."""

    epoch: int
    most: int
    points: int

    def of(self, amount: int) -> int:
        return min(self.most, -(-amount * self.points // 10_000))


def _transfer_fees(found: dict[int, bytes]) -> list[_TransferFee]:
    """Return a mint's fees, the older one first; none without the extension."""
    data = found.get(Extension.TRANSFER_FEE_CONFIG, b"")
    if len(data) < _TRANSFER_FEES + 2 * _TRANSFER_FEE.size:
        return []
    parts = _TRANSFER_FEE.iter_unpack(data[_TRANSFER_FEES : _TRANSFER_FEES + 36])
    return [_TransferFee(*part) for part in parts]


def listed_extensions(listed: bytes) -> dict[int, bytes]:
    """Return extensions, type -> data, from the part of an account's data that lists them."""
    data = bytes(_FIRST_EXTENSION) + listed
    return {
        kind: data[at : at + length] for kind, at, length in _extension_places(data)
    }


def withholding(listed: bytes, fee: int) -> bytes | None:
    """Return the extensions of a token account that withholds *fee* more; None if it withholds no fees."""
    data = bytearray(_FIRST_EXTENSION) + listed
    for kind, at, length in _extension_places(bytes(data)):
        if kind == Extension.TRANSFER_FEE_AMOUNT and length == _U64.size:
            _U64.pack_into(data, at, _U64.unpack_from(data, at)[0] + fee)
            return bytes(data[_FIRST_EXTENSION:])
    return None


def transfer_hook(found: dict[int, bytes]) -> Pubkey | None:
    """Return the program that a mint's transfers call, from its extensions, or None."""
    program = found.get(Extension.TRANSFER_HOOK, b"")[32:64]
    return Pubkey(program) if len(program) == 32 and any(program) else None


def is_paused(found: dict[int, bytes]) -> bool:
    """Whether a mint is paused, from its extensions."""
    return found.get(Extension.PAUSABLE, b"")[32:33] == b"\1"


def requires_memo(found: dict[int, bytes]) -> bool:
    """Whether a token account takes only transfers with a memo before them, from its extensions."""
    return found.get(Extension.MEMO_TRANSFER, b"")[:1] == b"\1"


def takes_plain_transfers(found: dict[int, bytes]) -> bool:
    """Whether a token account takes transfers that are not confidential, from its extensions."""
    data = found.get(Extension.CONFIDENTIAL_TRANSFER_ACCOUNT, b"")
    return data[_ALLOWS_PLAIN : _ALLOWS_PLAIN + 1] != b"\0"


def withheld_fees(found: dict[int, bytes]) -> int:
    """Return the transfer fees withheld in a token account, from its extensions."""
    data = found.get(Extension.TRANSFER_FEE_AMOUNT, b"")
    return int(_U64.unpack_from(data)[0]) if len(data) >= _U64.size else 0


def withheld_place(account: OwnedData) -> int | None:
    """Return the offset of the withheld fees in the data of a mint or token account, None if it has none."""
    if not extensions(account):
        return None
    places: dict[int, int] = {
        kind: at for kind, at, _ in _extension_places(bytes(account.data))
    }
    if Extension.TRANSFER_FEE_CONFIG in places:
        return places[Extension.TRANSFER_FEE_CONFIG] + _WITHHELD_IN_MINT
    return places.get(Extension.TRANSFER_FEE_AMOUNT)


def extension_address(found: dict[int, bytes], kind: Extension) -> Pubkey | None:
    """Return the address that an extension consists of, or None if it is missing or all zeros."""
    return nonzero_address(found.get(kind, b""))


def nonzero_address(data: bytes) -> Pubkey | None:
    """Return the address in *data*, or None if it is shorter than an address or all zeros."""
    return Pubkey(data) if len(data) == 32 and any(data) else None


#: Bytes of extensions in a forged account: any, so that it is longer than an account without.
_FORGED_EXTENSIONS = 34

# --- writing ---------------------------------------------------------------------------------


def patch_token_account(data: bytes, **changes: Pubkey | int) -> bytes:
    """Return *data* with fields of its token account overwritten, and all other bytes kept.

    Fields: `mint`, `owner`, `amount`, `state`.
    """
    return _patch(data, _TOKEN_ACCOUNT_FIELDS, changes)


def patch_mint(data: bytes, **changes: Pubkey | int) -> bytes:
    """Return *data* with fields of its mint overwritten, and all other bytes kept.

    Fields: `has_mint_authority`, `mint_authority`, `supply`, `decimals`, `is_initialized`.
    """
    return _patch(data, _MINT_FIELDS, changes)


def _patch(data: bytes, fields: _Fields, changes: dict[str, Pubkey | int]) -> bytes:
    out = bytearray(data)
    for name, value in changes.items():
        offset, form = fields[name]
        form.pack_into(
            out, offset, bytes(value) if isinstance(value, Pubkey) else value
        )
    return bytes(out)


def forged_extended_account(token_account: bytes) -> bytes:
    """Return a mint with extensions that also reads as the given token account: the type byte is a mint's."""
    return (
        token_account[:TOKEN_ACCOUNT_SIZE]
        + bytes([_MINT_TYPE])
        + bytes(_FORGED_EXTENSIONS)
    )


def forged_extended_mint(mint: bytes) -> bytes:
    """Return a token account with extensions that also reads as the given mint: the type byte is an account's."""
    padded = mint[:MINT_SIZE].ljust(TOKEN_ACCOUNT_SIZE, b"\0")
    return padded + bytes([_TOKEN_ACCOUNT_TYPE]) + bytes(_FORGED_EXTENSIONS)


def forged_multisig(token_account: bytes) -> bytes:
    """Return a multisig's 355 bytes that also read as the given token account.

    The signers' keys are chosen so. Programs that trust the account type byte alone accept it.
    """
    padded = bytearray(token_account[:TOKEN_ACCOUNT_SIZE].ljust(MULTISIG_SIZE, b"\x02"))
    padded[_ACCOUNT_TYPE] = _TOKEN_ACCOUNT_TYPE
    return bytes(padded)
