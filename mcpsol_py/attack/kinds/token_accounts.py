"""Attacks with token accounts and mints that are not what the instruction asks for."""

from __future__ import annotations

from collections.abc import Iterator

from solders.pubkey import Pubkey

from mcpsol_py.attack.derivation import constraints_of
from mcpsol_py.attack.kinds.variations import Attack, Variations, existing_accounts
from mcpsol_py.model.program import TokenConstraint
from mcpsol_py.solana import tokens

__all__ = ["forged_tokens", "wrong_tokens"]

#: (kind, what, data of the account, the error that must refuse it)
_Forgery = tuple[str, str, bytes, str]

_BAD_LAYOUT = "AccountDidNotDeserialize"


def wrong_tokens(calls: Variations) -> Iterator[Attack]:
    """A mint or token account has another type or another field."""
    for leaf, account in existing_accounts(calls.base):
        token = constraints_of(leaf).token
        if token is None:
            continue
        stranger = calls.stranger(f"{leaf.name} tokens")
        forged = forged_tokens(token, bytes(account.data), stranger)
        for kind, what, data, expected in forged:
            yield calls.attack(
                kind=kind,
                target=leaf,
                what=what,
                expected=expected,
                trial=calls.holding(leaf, data),
            )


def forged_tokens(
    token: TokenConstraint, data: bytes, stranger: Pubkey
) -> Iterator[_Forgery]:
    """Yield *data*, which is a token account or a mint as *token* says, with one thing wrong."""
    forge = _forged_mints if token.kind == "mint" else _forged_accounts
    return forge(token, data, stranger)


def _forged_mints(
    token: TokenConstraint, data: bytes, stranger: Pubkey
) -> Iterator[_Forgery]:
    uninitialized = tokens.patch_mint(data, is_initialized=0)
    yield "not-a-mint", "is not initialized", uninitialized, _BAD_LAYOUT
    token_account = tokens.TokenAccount(stranger, stranger, 1).to_bytes()
    yield "not-a-mint", "is a token account", token_account, _BAD_LAYOUT
    extended = tokens.forged_extended_mint(data)
    yield "not-a-mint", "is a token account with extensions", extended, _BAD_LAYOUT
    if token.authority is not None:
        expected = "ConstraintMintMintAuthority"
        other = tokens.patch_mint(data, mint_authority=stranger)
        yield "mint-authority", "has another mint authority", other, expected
        none = tokens.patch_mint(data, has_mint_authority=0)
        yield "mint-authority", "has no mint authority", none, expected
    if token.decimals is not None:
        other = tokens.patch_mint(data, decimals=token.decimals ^ 1)
        yield "mint-decimals", "has other decimals", other, "ConstraintMintDecimals"


def _forged_accounts(
    token: TokenConstraint, data: bytes, stranger: Pubkey
) -> Iterator[_Forgery]:
    uninitialized = tokens.patch_token_account(data, state=0)
    yield "not-a-token-account", "is not initialized", uninitialized, _BAD_LAYOUT
    mint = tokens.Mint(supply=10**15, decimals=6).to_bytes()
    yield "not-a-token-account", "is a mint", mint, _BAD_LAYOUT
    yield (
        "not-a-token-account",
        "is a multisig",
        tokens.forged_multisig(data),
        _BAD_LAYOUT,
    )
    extended = tokens.forged_extended_account(data)
    yield "not-a-token-account", "is a mint with extensions", extended, _BAD_LAYOUT
    # an associated address depends on the mint, so no account of another mint can be made there
    if token.mint is not None and token.kind != "associated":
        other = tokens.patch_token_account(data, mint=stranger)
        yield "wrong-mint", "is of another mint", other, "ConstraintTokenMint"
    if token.authority is not None:
        other = tokens.patch_token_account(data, owner=stranger)
        yield "wrong-token-owner", "has another owner", other, "ConstraintTokenOwner"
