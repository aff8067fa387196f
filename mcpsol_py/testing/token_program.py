"""SPL Token and the associated token program as a simulated program calls it, with its own errors."""

from __future__ import annotations

import struct
from collections.abc import Callable

from solders.pubkey import Pubkey as Key

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.numbers import u8, u64
from mcpsol_py.errors import NotUsable
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import (
    Extension,
    is_paused,
    listed_extensions,
    requires_memo,
    transfer_fee,
    transfer_hook,
    withholding,
)
from mcpsol_py.testing.ledger import (
    TOKEN_PROGRAM,
    Ledger,
    MintState,
    TokenState,
)

__all__ = ["TOKEN_CALLS", "TokenFailure", "initialize"]


#: By the extension of a mint, that of its accounts: its type, and the bytes of its value.
_OF_ACCOUNTS = {
    Extension.TRANSFER_FEE_CONFIG: (Extension.TRANSFER_FEE_AMOUNT, 8),
    Extension.NON_TRANSFERABLE: (Extension.NON_TRANSFERABLE_ACCOUNT, 0),
    Extension.TRANSFER_HOOK: (Extension.TRANSFER_HOOK_ACCOUNT, 1),
    Extension.PAUSABLE: (Extension.PAUSABLE_ACCOUNT, 0),
}
#: Extensions of accounts that only move by a call that names the mint.
_WANT_THE_MINT = {
    Extension.TRANSFER_FEE_AMOUNT,
    Extension.TRANSFER_HOOK_ACCOUNT,
    Extension.PAUSABLE_ACCOUNT,
}


class TokenFailure(Exception):
    """The token program refuses a call. `name` and `code` are its own error's."""

    def __init__(self, name: str, code: int) -> None:
        self.name, self.code = name, code
        super().__init__(f"{name} ({code})")


def _need(condition: bool, name: str, code: int) -> None:
    if not condition:
        raise TokenFailure(name, code)


def _account(ledger: Ledger, at: Pubkey) -> TokenState:
    """Return a token account, which an earlier call may have closed."""
    _need(at in ledger.tokens, "InvalidAccountData", 0)
    return ledger.tokens[at]


def _thawed(*accounts: TokenState) -> None:
    for account in accounts:
        _need(not account.is_frozen, "AccountFrozen", 17)


def _authorize(
    account: TokenState, authority: Pubkey, amount: u64, *, is_spent: bool
) -> None:
    """The owner may move tokens, and the delegate as many as it was allowed, which then become fewer."""
    if account.delegate != authority:
        _need(account.owner == authority, "OwnerMismatch", 4)
        return
    _need(account.delegated_amount >= amount, "InsufficientFunds", 1)
    if is_spent:
        account.delegated_amount -= amount
        if account.delegated_amount == 0:
            account.delegate = None


def transfer(
    ledger: Ledger, roles: dict[str, Pubkey], amount: u64, decimals: u8 | None = None
) -> None:
    """Move tokens. An account may send to itself. `decimals`: those of the mint, if the mint is given too.

    SPL Token looks at the destination first, Token-2022 last. The destination withholds the mint's transfer fee.
    """
    source = _account(ledger, roles["source"])
    destination = _account(ledger, roles["destination"])
    early = destination if source.program == TOKEN_PROGRAM else source
    _thawed(source, early)
    _need(source.amount >= amount, "InsufficientFunds", 1)
    _need(source.mint == early.mint, "MintMismatch", 3)
    own = listed_extensions(source.extensions)
    _need(Extension.NON_TRANSFERABLE_ACCOUNT not in own, "NonTransferable", 37)
    fee = 0
    if decimals is None:
        needs_mint = not _WANT_THE_MINT.isdisjoint(own)
        _need(not needs_mint, "MintRequiredForTransfer", 31)
    else:
        _need(source.mint == roles["mint"], "MintMismatch", 3)
        mint = ledger.mints[roles["mint"]]
        _need(mint.decimals == decimals, "MintDecimalsMismatch", 18)
        fee = _fee(mint, amount, ledger.epoch)
    _authorize(source, roles["authority"], amount, is_spent=source is not destination)
    _thawed(destination)
    _need(source.mint == destination.mint, "MintMismatch", 3)
    if source is not destination:
        _need_no_memo(destination)
        source.amount -= amount
        destination.amount += u64(int(amount) - fee)
        if fee:
            _withhold(destination, fee)


def _fee(mint: MintState, amount: u64, epoch: int) -> int:
    """Return the fee of a transfer that the mint allows now."""
    found = listed_extensions(mint.extensions)
    _need(not is_paused(found), "MintPaused", 67)
    if transfer_hook(found) is not None:
        why = "the simulator does not run the program that transfers of it call"
        raise NotUsable("mint", "with a transfer hook", why)
    return transfer_fee(found, int(amount), epoch)


def _need_no_memo(account: TokenState) -> None:
    """Refuse an account that wants a memo: bodies call no memo program."""
    memo_is_wanted = requires_memo(listed_extensions(account.extensions))
    _need(not memo_is_wanted, "NoMemo", 36)


def _withhold(account: TokenState, fee: int) -> None:
    held = withholding(account.extensions, fee)
    if held is None:
        raise TokenFailure("InvalidAccountData", 0)
    account.extensions = held


def approve(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Let a delegate move tokens, in place of another one."""
    source = _account(ledger, roles["source"])
    _thawed(source)
    _need(source.owner == roles["owner"], "OwnerMismatch", 4)
    source.delegate, source.delegated_amount = roles["delegate"], amount


def revoke(ledger: Ledger, roles: dict[str, Pubkey]) -> None:
    """Take back what the delegate may move."""
    source = _account(ledger, roles["source"])
    _thawed(source)
    _need(roles["authority"] in (source.owner, source.delegate), "OwnerMismatch", 4)
    source.delegate, source.delegated_amount = None, u64(0)


def mint_to(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Make new tokens."""
    mint, account = ledger.mints[roles["mint"]], _account(ledger, roles["account"])
    _thawed(account)
    _need(account.mint == roles["mint"], "MintMismatch", 3)
    _need(mint.authority is not None, "FixedSupply", 5)
    _need(mint.authority == roles["mint_authority"], "OwnerMismatch", 4)
    _need(int(mint.supply) + int(amount) <= int(u64.MAX), "Overflow", 14)
    mint.supply += amount
    account.amount += amount


def burn(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Destroy tokens."""
    mint, account = ledger.mints[roles["mint"]], _account(ledger, roles["account"])
    _thawed(account)
    _need(account.amount >= amount, "InsufficientFunds", 1)
    _need(account.mint == roles["mint"], "MintMismatch", 3)
    _authorize(account, roles["authority"], amount, is_spent=True)
    account.amount -= amount
    mint.supply -= amount


def close_account(ledger: Ledger, roles: dict[str, Pubkey]) -> None:
    """Close an empty token account."""
    account = _account(ledger, roles["account"])
    _need(account.amount == 0, "NonNativeHasBalance", 11)
    _need(account.owner == roles["authority"], "OwnerMismatch", 4)
    ledger.move(
        roles["account"], roles["destination"], ledger.lamports.get(roles["account"], 0)
    )
    del ledger.tokens[roles["account"]]


def create_idempotent(ledger: Ledger, roles: dict[str, Pubkey]) -> None:
    """Create an associated token account, unless it exists. The payer pays its rent."""
    at, program = roles["account"], roles["token_program"]
    owner, mint_address = Key(bytes(roles["owner"])), Key(bytes(roles["mint"]))
    found = associated_token(owner, mint_address, Key(bytes(program)))
    _need(bytes(found) == bytes(at), "InvalidSeeds", 0)
    held = ledger.tokens.get(at)
    if held is not None and held.program == program:
        _need(held.owner == roles["owner"], "InvalidOwner", 0)
        _need(held.mint == roles["mint"], "InvalidAccountData", 0)
        return
    _need(not ledger.exists(at), "IllegalOwner", 0)
    mint = ledger.mints.get(roles["mint"])
    if mint is None or mint.program != program:
        raise TokenFailure("IncorrectProgramId", 0)
    extensions = b"" if program == TOKEN_PROGRAM else _new_extensions(mint)
    made = TokenState(
        roles["mint"], roles["owner"], u64(0), program=program, extensions=extensions
    )
    is_paid = ledger.pay_rent(roles["payer"], at, made.size)
    _need(is_paid, "ResultWithNegativeLamports", 1)
    ledger.tokens[at] = made


def initialize(
    ledger: Ledger, at: Pubkey, mint: Pubkey, owner: Pubkey, program: Pubkey
) -> None:
    """Make an account with room for no extensions a token account."""
    _need(ledger.owner(mint) == program, "IncorrectProgramId", 0)
    found = ledger.mints.get(mint)
    if found is None:
        raise TokenFailure("InvalidMint", 2)
    _need(not _of_accounts(found), "InvalidAccountData", 0)
    ledger.tokens[at] = TokenState(mint, owner, u64(0), program=program)


def _new_extensions(mint: MintState) -> bytes:
    """Return the extensions that Token-2022 gives to a new associated account."""
    kinds = [(Extension.IMMUTABLE_OWNER, 0)]
    kinds += _of_accounts(mint)
    return b"".join(
        struct.pack("<HH", kind, length) + bytes(length) for kind, length in kinds
    )


def _of_accounts(mint: MintState) -> list[tuple[Extension, int]]:
    """Return the extensions that each account of a mint needs: the type, and the bytes of its value."""
    listed = listed_extensions(mint.extensions)
    return [_OF_ACCOUNTS[Extension(kind)] for kind in listed if kind in _OF_ACCOUNTS]


#: By the names that bodies use.
TOKEN_CALLS: dict[str, Callable[..., None]] = {
    "transfer": transfer,
    "transfer_checked": transfer,
    "approve": approve,
    "revoke": revoke,
    "mint_to": mint_to,
    "burn": burn,
    "close_account": close_account,
    "create_idempotent": create_idempotent,
}
