"""Deposits: the channels of a token together lock no more than the wallet's owner allows, whatever sellers ask for."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, SpendingLimits
from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.wallet_channels import WalletChannel, WalletChannels
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import USDC, keypair

MOST = 25_000


def varied(terms: PaymentRequirements, n: int) -> PaymentRequirements:
    """The same price on terms for which the wallet has no channel yet."""
    changes: list[dict[str, Any]] = [
        {"withdrawDelay": 900 + n},
        {"receiverAuthorizer": str(keypair(100 + n).pubkey())},
        {"feePayer": str(keypair(150 + n).pubkey())},
    ]
    pay_to = {} if n % 4 else {"pay_to": str(keypair(200 + n).pubkey())}
    return terms.model_copy(
        update={"extra": {**terms.extra, **changes[n % 3]}, **pay_to}
    )


def deposited(client: BatchClient, terms: PaymentRequirements) -> int:
    """The deposit that the client signs for a call, or 0 if it refuses one."""
    try:
        payload = client.create_payment_payload(terms)
    except PaymentError as error:
        return {"DEPOSIT_NOT_ALLOWED": 0}[error.code]
    return int(payload["deposit"]["amount"])


def test_terms_that_vary_lock_no_more_than_the_owner_allows() -> None:
    world = ChannelWorld()
    terms = BatchShop(world, Database()).terms(1_000)
    client = batch_client(world, calls=10, most=MOST)
    for n in range(0, 12, 4):  # a payee without an account gets no deposit
        world.give(keypair(200 + n).pubkey(), 0)
    made = [deposited(client, varied(terms, n)) for n in range(12)]
    assert made[:3] == [10_000, 10_000, 5_000]
    assert sum(made) == MOST == client.channels.locked(DEVNET, str(USDC))


def test_a_call_that_is_charged_frees_what_it_cost() -> None:
    world = ChannelWorld()
    terms = BatchShop(world, Database()).terms(10_000)
    client = batch_client(world, calls=10, most=MOST)
    opened = client.create_payment_payload(terms)
    assert deposited(client, varied(terms, 1)) == 0
    client.channels.confirmed(opened["voucher"]["channelId"], 10_000)
    assert deposited(client, varied(terms, 1)) == 10_000


def test_a_deposit_that_can_no_longer_land_locks_nothing() -> None:
    world = ChannelWorld()
    terms = BatchShop(world, Database()).terms(1_000)
    client = batch_client(world, calls=100, most=MOST)
    assert deposited(client, terms) == MOST
    assert deposited(client, varied(terms, 1)) == 0  # it may still land
    world.svm.expire_blockhash()
    assert deposited(client, varied(terms, 1)) == MOST


def test_a_second_deposit_waits_for_the_first() -> None:
    """Both could land, and only one would be on record."""
    world = ChannelWorld()
    shop = BatchShop(world, Database())
    client = batch_client(world, calls=1)
    first = client.create_payment_payload(shop.terms(1_000))
    channel = first["voucher"]["channelId"]
    client.channels.saw(channel, deposit=1_000, state="open", drop_pending=True)
    client.channels.confirmed(channel, 1_000)
    topped = client.create_payment_payload(shop.terms(1_000))
    assert client.create_payment_payload(shop.terms(1_000)) == topped
    with pytest.raises(PaymentError) as caught:
        client.create_payment_payload(shop.terms(5_000))
    assert caught.value.code == "CHANNEL_CONFLICT"
    assert client.channels.locked(DEVNET, str(USDC)) == 1_000


def test_of_many_deposits_at_once_one_is_made(storage: Storage) -> None:
    """Each process decided on its deposit when nothing was locked yet."""
    Budget(storage.open(), "w", SpendingLimits({}), session="s")
    channel = WalletChannel(
        "w",
        "",
        DEVNET,
        "f",
        "p",
        str(USDC),
        "t",
        "r",
        900,
        "1",
        1,
        pending=MOST,
        transaction="x",
    )
    barrier, outcomes = threading.Barrier(6), list[str]()

    def deposit(n: int) -> None:
        channels = WalletChannels(storage.open(migrate=False), "w")
        barrier.wait()
        try:
            channels.begin(replace(channel, channel_id=f"channel {n}"), locked=0)
            outcomes.append("made")
        except PaymentError as error:
            outcomes.append(error.code)

    threads = [threading.Thread(target=deposit, args=[n]) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["CHANNEL_CONFLICT"] * 5 + ["made"]


def test_a_top_up_counts_what_other_channels_lock() -> None:
    channels = WalletChannels(Database(), "w")
    one = WalletChannel(
        "w",
        "one",
        DEVNET,
        "f",
        "p",
        str(USDC),
        "t",
        "r",
        900,
        "1",
        1,
        state="open",
        deposit=100,
    )
    channels.begin(one)
    channels.begin(replace(one, channel_id="two"))
    with pytest.raises(PaymentError) as caught:
        channels.sign("one", 150, 150, pending=100, transaction="x", locked=100)
    assert caught.value.code == "CHANNEL_CONFLICT"
    channels.sign("one", 150, 150, pending=100, transaction="x", locked=200)
    assert channels.locked(DEVNET, str(USDC)) == 300


def test_the_policy_gives_what_is_left() -> None:
    policy = deposits({"mint": 100}, calls=5)
    assert [policy("mint", 10, None, locked) for locked in (0, 60, 90)] == [50, 40, 10]
    for mint, locked in (("mint", 91), ("other", 0)):
        with pytest.raises(PaymentError) as caught:
            policy(mint, 10, None, locked)
        assert caught.value.code == "DEPOSIT_NOT_ALLOWED"
