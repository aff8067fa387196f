"""Tokens of which a payee would get less, or nothing, are refused by buyer and facilitator with the reason."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from x402.schemas import PaymentPayload

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.tokens import Extension, extensions, highest_transfer_fee
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.channels.program import OURS
from mcpsol_py.x402.channels.upto_client import UptoClient
from mcpsol_py.x402.exact import mechanism
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import TOKEN_2022
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.wallet_channels import WalletChannels
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World, mint_data, token_data

PROGRAM = Pubkey.from_string(TOKEN_2022)
KEY = bytes(Pubkey.new_unique())
NONE = bytes(32)


def extended(data: bytes, account_type: int, *found: tuple[int, bytes]) -> bytes:
    """An account with Token-2022 extensions."""
    listed = b"".join(
        struct.pack("<HH", kind, len(body)) + body for kind, body in found
    )
    return data.ljust(165, b"\0") + bytes([account_type]) + listed


def fees(older: tuple[int, int], newer: tuple[int, int]) -> bytes:
    """A TransferFeeConfig with (highest fee, basis points) twice."""
    return bytes(72) + struct.pack("<QQH", 0, *older) + struct.pack("<QQH", 9, *newer)


def confidential(plain: int) -> bytes:
    return bytes(261) + bytes([1, plain]) + bytes(32)


def world_of(
    mint: tuple[tuple[int, bytes], ...] = (),
    payee: tuple[tuple[int, bytes], ...] = (),
    state: int = 1,
) -> World:
    """A world whose mint is of Token-2022, with extensions of the mint and of the payee's account."""
    world = World()

    def put(address: Pubkey, data: bytes) -> None:
        world.svm.set_account(address, Account(10**8, data, PROGRAM))

    put(USDC, extended(mint_data(6, 1_000_000), 1, *mint))
    for owner, amount, found in (
        (world.payer.pubkey(), 1_000_000, ()),
        (world.payee.pubkey(), 0, payee),
    ):
        data = bytearray(token_data(USDC, owner, amount))
        if owner == world.payee.pubkey():
            data[108] = state
        account_needs = [(2, bytes(8))] if any(kind == 1 for kind, _ in mint) else []
        address = associated_token_address(owner, USDC, PROGRAM)
        put(address, extended(bytes(data), 2, *account_needs, *found))
    return world


REFUSED: dict[str, tuple[str, Callable[[], World]]] = {
    "fee": (
        "token_transfer_fee",
        lambda: world_of(((1, fees((10**6, 100), (10**6, 100))),)),
    ),
    "fee that begins soon": (
        "token_transfer_fee",
        lambda: world_of(((1, fees((0, 0), (5, 1))),)),
    ),
    "hook": ("token_transfer_hook", lambda: world_of(((14, NONE + KEY),))),
    "not transferable": ("token_non_transferable", lambda: world_of(((9, b""),))),
    "paused": ("token_paused", lambda: world_of(((26, KEY + b"\1"),))),
    "confidential mint": (
        "token_confidential_only",
        lambda: world_of(((24, bytes(196)),)),
    ),
    "confidential account": (
        "token_confidential_only",
        lambda: world_of((), ((5, confidential(0)),)),
    ),
    "memo": ("token_memo_required", lambda: world_of((), ((8, b"\1"),))),
    "default frozen": ("token_account_frozen", lambda: world_of(((6, b"\2"),), (), 2)),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_buyer_does_not_sign_what_its_payee_would_not_get(name: str) -> None:
    code, make = REFUSED[name]
    world = make()
    with pytest.raises(PaymentError) as caught:
        world.pay(world.requirements())
    assert caught.value.code == code


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_channel_does_not_pay_what_its_payee_would_not_get(name: str) -> None:
    code, make = REFUSED[name]
    world = make()
    record = WalletChannels(Database(), str(world.payer.pubkey()))
    extra: dict[str, Any] = {
        "receiverAuthorizer": str(world.payee.pubkey()),
        "tokenProgram": TOKEN_2022,
        "withdrawDelay": 900,
    }
    for client in (
        BatchClient(
            world.payer, world.chain, OURS, record, deposit=deposits({str(USDC): 10**6})
        ),
        UptoClient(world.payer, world.chain, OURS),
    ):
        asked = world.requirements(**extra).model_copy(update={"scheme": client.scheme})
        with pytest.raises(PaymentError) as caught:
            client.create_payment_payload(asked)
        assert caught.value.code == code
    assert record.all() == []


def signed_anyway(world: World, monkeypatch: pytest.MonkeyPatch) -> PaymentPayload:
    """A payment of a buyer that checks nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(mechanism, "check_mint", lambda *_: None)
        patch.setattr(mechanism, "check_account", lambda *_: None)
        return world.pay(world.requirements())


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_sponsor_does_not_sign_what_the_payee_would_not_get(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, make = REFUSED[name]
    world = make()
    payment = signed_anyway(world, monkeypatch)
    verified = world.facilitator.verify(payment, world.requirements())
    settled = world.facilitator.settle(payment, world.requirements())
    assert (verified.is_valid, verified.invalid_reason) == (False, code)
    assert (settled.success, settled.error_reason, settled.transaction) == (
        False,
        code,
        "",
    )


@pytest.mark.parametrize(
    ("mint", "payee"),
    [
        ((), ()),
        (((1, fees((0, 0), (0, 0))),), ()),
        (((1, fees((0, 500), (0, 500))),), ()),
        (((14, KEY + NONE),), ((15, b"\0"),)),
        (((26, KEY + b"\0"),), ((27, b""),)),
        (((6, b"\2"),), ()),
        (((12, KEY),), ()),
        ((), ((8, b"\0"),)),
        ((), ((5, confidential(1)),)),
    ],
)
def test_extensions_that_take_nothing_are_paid_with(
    mint: tuple[tuple[int, bytes], ...], payee: tuple[tuple[int, bytes], ...]
) -> None:
    """A fee of nothing, no hook, not paused, a thawed account: PYUSD has some of these."""
    world = world_of(mint, payee)
    requirements = world.requirements()
    assert world.facilitator.verify(world.pay(requirements), requirements).is_valid


def test_a_mint_that_was_paused_since_the_last_payment_is_refused() -> None:
    world = world_of()
    world.pay(world.requirements())
    paused = extended(mint_data(6, 1_000_000), 1, (26, KEY + b"\1"))
    world.svm.set_account(USDC, Account(10**8, paused, PROGRAM))
    with pytest.raises(PaymentError) as caught:
        world.pay(world.requirements())
    assert caught.value.code == "token_paused"


def test_a_frozen_payee_of_the_old_token_program_is_named() -> None:
    world = World()
    payment = world.pay(world.requirements())
    address = associated_token_address(world.payee.pubkey(), USDC, TOKEN_PROGRAM)
    frozen = bytearray(token_data(USDC, world.payee.pubkey(), 0))
    frozen[108] = 2
    world.set_account(address, bytes(frozen), TOKEN_PROGRAM)
    verified = world.facilitator.verify(payment, world.requirements())
    assert (verified.is_valid, verified.invalid_reason) == (
        False,
        "token_account_frozen",
    )


def test_the_fee_is_rounded_up_and_limited() -> None:
    mint = Account(1, extended(mint_data(6), 1, (1, fees((7, 1), (3, 5_000)))), PROGRAM)
    found = extensions(mint)
    assert Extension.TRANSFER_FEE_CONFIG in found
    assert [highest_transfer_fee(found, n) for n in (0, 1, 4, 10**6)] == [0, 1, 2, 7]
