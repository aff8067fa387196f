"""The guard: a program that behaves otherwise when its transaction lands cannot take more than the policy allows.

The programs are real, in an SVM. The puppet (tests/puppet) does what an account of its owner says, with the wallet's
signature; the owner writes the account between the simulation and the transaction.
"""

from __future__ import annotations

import re
import struct

import pytest
from solders.account import Account
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.token.state import TokenAccount, TokenAccountState

from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.solana.addresses import (
    GUARD_PROGRAM,
    LIGHTHOUSE_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from tests.functional.bridges import key
from tests.support.puppet_stage import (
    LIGHTHOUSE_SO,
    PUPPET,
    RENT,
    SCRIPT,
    SLOTS,
    SOL_LIMIT,
    SYSTEM,
    TOKEN,
    WALLET,
    WRAPPED,
    A,
    B,
    C,
    D,
    Stage,
    call,
    send_sol,
    send_tokens,
    set_authority,
    stage,
    u64,
)

MALLORY = Pubkey.from_string(key("mallory"))
USDC = {"a": "@alice_usdc", "b": "@bob_usdc"}
OTHER = {"a": "@alice_other", "b": "@bob_other"}
#: What the puppet does when the transaction lands, and with which accounts.
BAITS: dict[str, tuple[bytes, dict[str, str]]] = {
    "all lamports but one unit of rent": (send_sol(9 * 10**9), {"a": "@bob"}),
    "a lamport over the limit": (send_sol(SOL_LIMIT - 5_000 + 1), {"a": "@bob"}),
    "lamports in two steps": (send_sol(SOL_LIMIT // 2) * 2, {"a": "@bob"}),
    "lamports to two accounts": (
        send_sol(15_000, A) + send_sol(15_000, B),
        {"a": "@bob", "b": "@mallory"},
    ),
    "a token unit over what needs no confirmation": (send_tokens(300_001), USDC),
    "all tokens": (send_tokens(1_000_000), USDC),
    "a token without a limit": (send_tokens(1), OTHER),
    "tokens of two accounts": (
        send_tokens(300_000) + send_tokens(1, C, D),
        {**USDC, "c": "@alice_other", "d": "@bob_other"},
    ),
    "tokens that are burnt": (
        call(TOKEN, [A, B, WALLET], bytes([8]) + u64(300_001)),
        {"a": "@alice_usdc", "b": "@usdc"},
    ),
    "tokens that are minted for others": (
        call(TOKEN, [B, A, WALLET], bytes([7]) + u64(1)),
        {"a": "@bob_usdc", "b": "@usdc"},
    ),
    "wrapped SOL": (
        send_tokens(SOL_LIMIT, A, B),
        {"a": str(WRAPPED), "b": "@bob_wrapped"},
    ),
    "wrapped SOL by closing its account": (
        call(TOKEN, [A, B, WALLET], bytes([9])),
        {"a": str(WRAPPED), "b": "@bob"},
    ),
    "the rent of an empty token account": (
        call(TOKEN, [A, B, WALLET], bytes([9])),
        {"a": "@alice_empty", "b": "@bob"},
    ),
    "a delegate": (
        call(TOKEN, [A, B, WALLET], bytes([4]) + u64(10**12)),
        {"a": "@alice_usdc", "b": "@mallory"},
    ),
    "the owner of a token account": (set_authority(A, 2, MALLORY), USDC),
    "the owner of an empty token account": (
        set_authority(A, 2, MALLORY),
        {"a": "@alice_empty"},
    ),
    "the closer of a token account": (set_authority(A, 3, MALLORY), USDC),
    "the mint authority": (set_authority(A, 0, MALLORY), {"a": "@usdc"}),
    "the mint authority, to nobody": (
        call(TOKEN, [A, WALLET], bytes([6, 0, 0])),
        {"a": "@usdc"},
    ),
    "an account of somebody else that delegates to the wallet": (
        send_tokens(1),
        {"a": "@carol_usdc", "b": "@bob_usdc"},
    ),
    "fees withheld in a mint": (
        call(C, [A, B, WALLET], bytes([26, 2])),
        {"a": "@fee", "b": "@mallory_fee", "c": "@token_2022"},
    ),
    "fees withheld in an account": (
        call(C, [A, B, WALLET, D], bytes([26, 3, 1])),
        {"a": "@fee", "b": "@mallory_fee", "c": "@token_2022", "d": "@bob_fee"},
    ),
    "the wallet is assigned to a program": (
        call(SYSTEM, [WALLET], bytes([1, 0, 0, 0]) + bytes(PUPPET)),
        {},
    ),
    "the wallet gets data, so that it can never pay again": (
        call(SYSTEM, [WALLET], bytes([8, 0, 0, 0]) + u64(8)),
        {},
    ),
}


def with_carols_delegation(s: Stage) -> None:
    """Carol's token account, from which alice may spend."""
    where = Pubkey(bytes([87]) * 32)
    state = TokenAccount(
        mint=Pubkey.from_string(s.local.names["usdc"]),
        owner=Pubkey.from_string(key("carol")),
        amount=10**6,
        delegate=Pubkey.from_string(key("alice")),
        state=TokenAccountState.Initialized,
        is_native=None,
        delegated_amount=10**6,
        close_authority=None,
    )
    s.local.transport.set_account(where, Account(RENT, bytes(state), TOKEN_PROGRAM))
    s.local.names["carol_usdc"] = str(where)


def with_fees(s: Stage) -> None:
    """A mint whose withheld fees alice may withdraw: 70 base units in it, 50 in bob's account."""
    alice = bytes(Pubkey.from_string(key("alice")))
    fee = Pubkey(bytes([88]) * 32)
    config = alice + alice + u64(70) + struct.pack("<QQH", 0, 10**9, 100) * 2
    mint = bytes(36) + u64(10**6) + bytes([6, 1]) + bytes(36)

    def account(owner: str, amount: int, withheld: int) -> bytes:
        state = bytes(36) + b"\1" + bytes(12) + bytes(8) + bytes(36)
        body = bytes(fee) + bytes(Pubkey.from_string(key(owner))) + u64(amount) + state
        return body + struct.pack("<BHHQ", 2, 2, 8, withheld)

    made = {
        "fee": mint.ljust(165, b"\0") + struct.pack("<BHH", 1, 1, len(config)) + config,
        "mallory_fee": account("mallory", 0, 0),
        "bob_fee": account("bob", 0, 50),
    }
    for n, (name, data) in enumerate(made.items()):
        where = Pubkey(bytes([88 + n]) * 32)
        s.local.transport.set_account(where, Account(10**7, data, TOKEN_2022_PROGRAM))
        s.local.names[name] = str(where)
    s.local.names["token_2022"] = str(TOKEN_2022_PROGRAM)


def with_bobs_wrapped(s: Stage) -> None:
    where = Pubkey(bytes([84]) * 32)
    account = s.local.svm.get_account(WRAPPED)
    assert account is not None
    data = bytes(account.data)
    bob = bytes(Pubkey.from_string(key("bob")))
    s.local.transport.set_account(
        where, Account(account.lamports, data[:32] + bob + data[64:], account.owner)
    )
    s.local.names["bob_wrapped"] = str(where)


@pytest.mark.parametrize("bait", BAITS)
async def test_what_a_program_takes_after_the_simulation_fails_on_chain(
    bait: str, puppet: bytes
) -> None:
    then, accounts = BAITS[bait]
    s = stage(puppet)
    with_bobs_wrapped(s)
    with_carols_delegation(s)
    with_fees(s)
    before = s.of_alice()
    reply = await s.act(b"", then, accounts)
    assert reply.details.get("name") == "GuardFailed", reply.text
    after = s.of_alice()
    alice = key("alice")
    paid, had = after.pop(alice), before.pop(alice)
    assert paid is not None
    assert had is not None
    assert (paid.lamports, paid.owner, paid.data) == (
        had.lamports - 5_000,
        had.owner,
        had.data,
    )
    assert after == before
    assert s.audit.spent(alice) == {"SOL": 5_000}


@pytest.mark.parametrize("bait", BAITS if LIGHTHOUSE_SO else list(BAITS)[:1])
async def test_lighthouse_itself_enforces_the_same(bait: str, puppet: bytes) -> None:
    """With the real program where MCPSOL_LIGHTHOUSE_SO is the path of its binary, else once with ours in its place."""
    then, accounts = BAITS[bait]
    s = stage(puppet)
    with_bobs_wrapped(s)
    with_carols_delegation(s)
    with_fees(s)
    s.local.transport.add_program(
        LIGHTHOUSE_PROGRAM, LIGHTHOUSE_SO or bundled_so("guard")
    )
    reply = await s.act(b"", then, accounts)
    assert reply.details.get("name") == "GuardFailed", reply.text
    assert s.audit.entries()[0]["guard"] == str(LIGHTHOUSE_PROGRAM)
    again = await s.act(b"", None, accounts)
    assert not again.is_error, again.text


@pytest.mark.parametrize("bait", BAITS)
async def test_without_the_guard_each_of_them_takes_it(
    bait: str, puppet: bytes
) -> None:
    """So the test above shows the guard, and the wallet is stopped where balances show the difference."""
    then, accounts = BAITS[bait]
    s = stage(puppet, guard="off")
    with_bobs_wrapped(s)
    with_carols_delegation(s)
    with_fees(s)
    before = s.of_alice()
    reply = await s.act(b"", then, accounts)
    assert s.of_alice() != before
    moved = reply.details.get("reason") == "landed_differently"
    assert moved or not reply.is_error, reply.text
    assert s.audit.entries()[0]["guard"] == "off"


async def test_more_than_simulated_within_the_limit_lands_is_told_and_stops(
    puppet: bytes,
) -> None:
    s = stage(puppet)
    reply = await s.act(send_tokens(1_000), send_tokens(2_000), USDC)
    assert reply.details["reason"] == "landed_differently", reply.text
    assert s.tokens("bob_usdc") == 2_000
    assert s.audit.spent(key("alice")) == {"SOL": 5_000, s.local.names["usdc"]: 2_000}
    assert (await s.act(b"", None, USDC)).details["rule"] == "stopped"


HONEST: dict[str, tuple[bytes, dict[str, str]]] = {
    "nothing": (b"", {}),
    "lamports up to the limit": (send_sol(SOL_LIMIT - 5_000), {"a": "@bob"}),
    "tokens up to the confirmation": (send_tokens(300_000), USDC),
    "tokens between own accounts": (
        send_tokens(9, A, B),
        {"a": "@alice_usdc", "b": "@alice_usdc2"},
    ),
    "unwrapping": (call(TOKEN, [A, WALLET, WALLET], bytes([9])), {"a": str(WRAPPED)}),
    "closing an empty account": (
        call(TOKEN, [A, WALLET, WALLET], bytes([9])),
        {"a": "@alice_empty"},
    ),
    "wrapping": (
        send_sol(10**9, A) + call(TOKEN, [A], bytes([17])),
        {"a": str(WRAPPED)},
    ),
    "minting for oneself": (
        call(TOKEN, [B, A, WALLET], bytes([7]) + u64(7)),
        {"a": "@alice_usdc", "b": "@usdc"},
    ),
}


def with_a_second_account(s: Stage) -> None:
    where = Pubkey(bytes([85]) * 32)
    account = s.local.svm.get_account(Pubkey.from_string(s.local.names["alice_usdc"]))
    assert account is not None
    s.local.transport.set_account(where, account)
    s.local.names["alice_usdc2"] = str(where)


@pytest.mark.parametrize("what", HONEST)
async def test_what_lands_as_simulated_passes_the_guard(
    what: str, puppet: bytes
) -> None:
    now, accounts = HONEST[what]
    s = stage(puppet)
    with_a_second_account(s)
    reply = await s.act(now, None, accounts)
    assert not reply.is_error, reply.text
    assert s.audit.entries()[0]["guard"] == str(GUARD_PROGRAM)


async def test_the_guard_is_cheap(puppet: bytes) -> None:
    s = stage(puppet)
    reply = await s.act(send_tokens(9), None, USDC)
    assert reply.structured is not None
    (landed,) = (o for o in s.local.transport._landed.values() if o.logs)
    used = [
        int(found[1])
        for line in landed.logs
        if (found := re.match(rf"Program {GUARD_PROGRAM} consumed (\d+)", line))
    ]
    print("compute units of the guard's instructions:", used)
    assert len(used) >= 3
    assert max(used) <= 400
    assert sum(used) <= 1_500


# --- where there is no guard program ---------------------------------------------------------------------------------


async def test_where_no_guard_is_deployed_nothing_is_sent_unless_the_owner_says_so(
    puppet: bytes,
) -> None:
    s = stage(puppet, chain=SvmTransport(LiteSVM()))
    reply = await s.act(b"")
    assert reply.details["rule"] == "guard", reply.text
    assert 'guard = "off"' in reply.text
    assert s.audit.entries() == []
    off = stage(puppet, chain=SvmTransport(LiteSVM()), guard="off")
    assert not (await off.act(b"")).is_error


async def test_lighthouse_comes_first_and_the_owner_may_name_another(
    puppet: bytes,
) -> None:
    guard = bundled_so("guard").read_bytes()
    s = stage(puppet)
    s.local.transport.add_program(LIGHTHOUSE_PROGRAM, guard)
    assert not (await s.act(b"")).is_error
    assert s.audit.entries()[0]["guard"] == str(LIGHTHOUSE_PROGRAM)
    own = Pubkey(bytes([86]) * 32)
    named = stage(puppet, guard=str(own))
    assert (await named.act(b"")).details["rule"] == "guard"
    named.local.transport.add_program(own, guard)
    assert not (await named.act(b"")).is_error
    assert named.audit.entries()[0]["guard"] == str(own)


async def test_a_call_that_leaves_no_room_for_the_guard_is_refused_in_plain_words(
    puppet: bytes,
) -> None:
    s = stage(puppet)
    s.script(b"")
    others = [{"address": str(Pubkey(bytes([n]) * 32))} for n in range(100, 125)]
    accounts = dict.fromkeys(SLOTS, "@alice_usdc")
    programs = {"system": "1" * 32, "token": str(TOKEN_PROGRAM)}
    reply = await s.bridge.call(
        "act",
        {
            "accounts": {
                **accounts,
                **programs,
                "wallet": key("alice"),
                "script": str(SCRIPT),
            },
            "remaining_accounts": others,
        },
    )
    assert reply.details["rule"] == "guard", reply.text
    assert "1,232 fit" in reply.text
