"""Attempts to spend what a sending bridge's wallet does not own and can move all the same: as a delegate, as a signer
of a multisig, as a mint's permanent delegate, by an address derived from its own. None may go unmeasured.
"""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py import load
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.balances import changes, minted, outflows, withheld_taken
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.signing_power import SigningPower, signing_power
from mcpsol_py.calls.takeovers import takeovers
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from tests.functional.bridges import TOKEN, key, served
from tests.support.faulty_rpc import faulty
from tests.support.policy_scene import (
    SYSTEM,
    SYSTEM_IDL,
    TOKEN_MORE,
    Scene,
    broken,
    ix,
    policy,
    scene,
    transfer,
    yes,
)

pytestmark = pytest.mark.usefixtures("quick_retries")

ME, OTHER, THIRD = (
    wallet("alice").pubkey(),
    wallet("mallory").pubkey(),
    wallet("bob").pubkey(),
)
BOX, BOX2, MINT, JOINT, SEEDED = (Pubkey(bytes([n] * 32)) for n in (81, 82, 83, 84, 85))
STAKE = Pubkey.from_string("Stake11111111111111111111111111111111111111")

TOKEN_JOINT = {
    **TOKEN_MORE,
    "instructions": [
        *TOKEN_MORE["instructions"],
        ix(
            "joint_transfer",
            [3],
            ["source+", "destination+", "joint", "signer!"],
            {"amount": "u64"},
        ),
        ix(
            "joint_approve",
            [4],
            ["source+", "delegate", "joint", "signer!"],
            {"amount": "u64"},
        ),
    ],
}
SYSTEM_SEEDED = {
    **SYSTEM_IDL,
    "instructions": [
        *SYSTEM_IDL["instructions"],
        {
            **ix("seeded", [11, 0, 0, 0], ["source+", "base!", "to+"], {}),
            "args": [
                {"name": "lamports", "type": "u64"},
                {"name": "length", "type": "u64"},
                {"name": "seed", "type": {"array": ["u8", 4]}},
                {"name": "owner", "type": "pubkey"},
            ],
        },
    ],
}


def token(
    owner: Pubkey,
    amount: int,
    *,
    mint: Pubkey = MINT,
    delegate: Pubkey | None = None,
    delegated: int = 0,
    closer: Pubkey | None = None,
    native: bool = False,
    program: Pubkey = TOKEN_PROGRAM,
    tail: bytes = b"",
) -> Account:
    """A token account as the programs lay it out."""

    def option(of: Pubkey | None) -> bytes:
        return bytes(36) if of is None else b"\1\0\0\0" + bytes(of)

    lamports = 2_039_280 + (amount if native else 0)
    data = (
        bytes(mint)
        + bytes(owner)
        + struct.pack("<Q", amount)
        + option(delegate)
        + b"\1"
    )
    data += (
        (struct.pack("<IQ", 1, 2_039_280) if native else bytes(12))
        + struct.pack("<Q", delegated)
        + option(closer)
    )
    return Account(lamports, data + (b"\2" + tail if tail else b""), program)


def mint_of(authority: Pubkey | None, *extensions: tuple[int, bytes]) -> Account:
    base = (
        (b"\1\0\0\0" + bytes(authority) if authority else bytes(36))
        + struct.pack("<Q", 10**9)
        + bytes([6, 1])
    )
    tail = b"".join(
        struct.pack("<HH", kind, len(data)) + data for kind, data in extensions
    )
    return Account(
        10**9, (base + bytes(36)).ljust(165, b"\0") + b"\1" + tail, TOKEN_2022_PROGRAM
    )


def joint(*signers: Pubkey, needed: int = 1) -> Account:
    data = bytes([needed, len(signers), 1]) + b"".join(map(bytes, signers))
    return Account(3_000_000, data.ljust(355, b"\0"), TOKEN_PROGRAM)


def rule(local: LocalCluster) -> Policy:
    usdc = local.names["usdc"]
    ids = (str(TOKEN), SYSTEM)
    return policy(
        local,
        programs=tuple(ProgramRule(i, frozenset({"*"})) for i in ids),
        limits=(
            (usdc, OutflowLimit(1_000, 10_000)),
            ("SOL", OutflowLimit(100_000, 10**6)),
        ),
    )


def reaching() -> Scene:
    """Alice is mallory's delegate, signs for a multisig, and has an address derived from hers."""
    s = scene(rule)
    usdc = Pubkey.from_string(s.local.names["usdc"])
    system = ServedProgram(
        load(SYSTEM_SEEDED),
        Pubkey.from_string(SYSTEM),
        s.local.transport,
        "a test",
        "local",
    )
    s.bridge.registry.serve([served(s.local, load(TOKEN_JOINT)), system])
    put = s.local.svm.set_account
    put(BOX, token(OTHER, 500_000, mint=usdc, delegate=ME, delegated=400_000))
    put(JOINT, joint(ME, THIRD))
    put(BOX2, token(JOINT, 500_000, mint=usdc))
    put(_derived(), Account(10**9, b"", SYSTEM_PROGRAM))
    return s


def _derived() -> Pubkey:
    return Pubkey.create_with_seed(ME, "seed", SYSTEM_PROGRAM)


def _seeded(lamports: int) -> dict[str, Any]:
    accounts = {"source": str(_derived()), "base": "@alice", "to": "@mallory"}
    return {
        "lamports": str(lamports),
        "length": "4",
        "seed": list(b"seed"),
        "owner": SYSTEM,
        "accounts": accounts,
    }


def _joint(source: Pubkey, **more: str) -> dict[str, Any]:
    return {
        "amount": "400000",
        "accounts": {
            "source": str(source),
            "joint": str(JOINT),
            "signer": "@alice",
            **more,
        },
    }


ATTEMPTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "tokens of a multisig that the wallet signs for": (
        "token_joint_transfer",
        _joint(BOX2, destination="@bob_usdc"),
        "outflow.per_call",
    ),
    "a delegate over a multisig's account": (
        "token_joint_approve",
        _joint(BOX2, delegate="@mallory"),
        "takeover",
    ),
    "lamports at an address derived from the wallet's": (
        "system_seeded",
        _seeded(900_000_000),
        "outflow.per_call",
    ),
    "tokens that someone else delegated to the wallet": (
        "token_transfer",
        {
            "amount": "400000",
            "accounts": {
                "source": str(BOX),
                "destination": "@bob_usdc",
                "authority": "@alice",
            },
        },
        "outflow.per_call",
    ),
}


@pytest.mark.parametrize("what", ATTEMPTS)
async def test_what_the_wallet_can_move_is_measured(what: str) -> None:
    name, arguments, refusal = ATTEMPTS[what]
    s = reaching()
    reply = await s.bridge.call(name, arguments, yes)
    assert reply.is_error, reply.text
    assert reply.details.get("rule") == refusal, reply.text
    assert s.sent() == 0


async def test_what_others_delegated_is_held_against_the_limits_net() -> None:
    s = reaching()
    take = {"source": str(BOX), "destination": "@bob_usdc", "authority": "@alice"}
    assert not (
        await s.bridge.call("token_transfer", {"amount": "1000", "accounts": take}, yes)
    ).is_error
    home = {**take, "destination": "@alice_usdc"}
    assert not (
        await s.bridge.call(
            "token_transfer", {"amount": "300000", "accounts": home}, yes
        )
    ).is_error
    assert s.audit.spent(key("alice"))[s.local.names["usdc"]] == 1000


# --- what is in reach, and what is taken from it ----------------------------------------------------------------------

# A program of somebody's, which has signatures of its own to give.
SOMETHING = Pubkey(bytes([86] * 32))


def flows_of(
    before: dict[Pubkey, Account | None], after: dict[Pubkey, Account | None]
) -> dict[str, int]:
    """What counts as outflow of a call of SOMETHING."""
    reach = signing_power(ME, [Instruction(SOMETHING, b"", [])], before)
    made = minted(before, after, reach.owners)
    for mint, amount in withheld_taken(before, after, {}, reach.owners).items():
        made[mint] = made.get(mint, 0) + amount
    return {
        f.mint: f.amount
        for f in outflows(changes(before, after), reach.owners, made, reach.accounts)
    }


def fees(authority: Pubkey, withheld: int) -> tuple[int, bytes]:
    """A mint's TransferFeeConfig."""
    return 1, bytes(OTHER) + bytes(authority) + struct.pack("<Q", withheld) + bytes(36)


def withheld(amount: int) -> bytes:
    """A token account's TransferFeeAmount."""
    return struct.pack("<HHQ", 2, 8, amount)


T22 = TOKEN_2022_PROGRAM
CASES: dict[
    str,
    tuple[dict[Pubkey, Account | None], dict[Pubkey, Account | None], dict[str, int]],
] = {
    "a delegate's, through a program": (
        {BOX: token(THIRD, 500, delegate=ME, delegated=400), BOX2: token(OTHER, 0)},
        {BOX: token(THIRD, 100, delegate=None), BOX2: token(OTHER, 400)},
        {str(MINT): 400},
    ),
    "nobody's delegate": (
        {BOX: token(THIRD, 500), BOX2: token(OTHER, 0)},
        {BOX: token(THIRD, 100), BOX2: token(OTHER, 400)},
        {},
    ),
    "a delegate's, home to its owner": (
        {BOX: token(THIRD, 500, delegate=ME, delegated=400), BOX2: token(THIRD, 0)},
        {BOX: token(THIRD, 100), BOX2: token(THIRD, 400)},
        {},
    ),
    "a multisig's, through a program": (
        {JOINT: joint(OTHER, ME), BOX: token(JOINT, 500), BOX2: token(OTHER, 0)},
        {JOINT: joint(OTHER, ME), BOX: token(JOINT, 100), BOX2: token(OTHER, 400)},
        {str(MINT): 400},
    ),
    "wrapped SOL that the wallet may close": (
        {
            BOX: token(THIRD, 10**9, closer=ME, native=True),
            OTHER: Account(1, b"", SYSTEM_PROGRAM),
        },
        {BOX: None, OTHER: Account(10**9 + 2_039_281, b"", SYSTEM_PROGRAM)},
        {"SOL": 10**9 + 2_039_280},
    ),
    "as permanent delegate of the mint": (
        {
            MINT: mint_of(None, (12, bytes(ME))),
            BOX: token(THIRD, 500, program=T22, tail=bytes(1)),
            BOX2: token(OTHER, 0, program=T22, tail=bytes(1)),
        },
        {
            MINT: mint_of(None, (12, bytes(ME))),
            BOX: token(THIRD, 100, program=T22, tail=bytes(1)),
            BOX2: token(OTHER, 400, program=T22, tail=bytes(1)),
        },
        {str(MINT): 400},
    ),
    "the lamports of a mint that it may close": (
        {MINT: mint_of(None, (3, bytes(ME)))},
        {MINT: None},
        {"SOL": 10**9},
    ),
    "lamports over the rent of a mint of its own": (
        {MINT: mint_of(ME)},
        {MINT: Account(5, bytes(mint_of(ME).data), T22)},
        {"SOL": 10**9 - 5},
    ),
    "withheld fees, from the mint": (
        {
            MINT: mint_of(None, fees(ME, 70)),
            BOX: token(OTHER, 0, program=T22, tail=withheld(0)),
        },
        {
            MINT: mint_of(None, fees(ME, 0)),
            BOX: token(OTHER, 70, program=T22, tail=withheld(0)),
        },
        {str(MINT): 70},
    ),
    "withheld fees, from an account, to the wallet": (
        {
            MINT: mint_of(None, fees(ME, 0)),
            BOX: token(ME, 0, program=T22, tail=withheld(70)),
        },
        {
            MINT: mint_of(None, fees(ME, 0)),
            BOX: token(ME, 70, program=T22, tail=withheld(0)),
        },
        {},
    ),
    "withheld fees, gathered in the mint": (
        {
            MINT: mint_of(None, fees(ME, 0)),
            BOX: token(OTHER, 0, program=T22, tail=withheld(70)),
        },
        {
            MINT: mint_of(None, fees(ME, 70)),
            BOX: token(OTHER, 0, program=T22, tail=withheld(0)),
        },
        {},
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_what_counts_as_outflow(what: str) -> None:
    before, after, expected = CASES[what]
    assert flows_of(before, after) == expected


def test_making_a_mint_locks_its_rent_away() -> None:
    before: dict[Pubkey, Account | None] = {
        MINT: None,
        ME: Account(10**10, b"", SYSTEM_PROGRAM),
    }
    after: dict[Pubkey, Account | None] = {
        MINT: mint_of(ME),
        ME: Account(9 * 10**9, b"", SYSTEM_PROGRAM),
    }
    assert flows_of(before, after)["SOL"] == 10**9


def stake(
    staker: Pubkey,
    withdrawer: Pubkey,
    lockup: bytes = bytes(16),
    custodian: Pubkey | None = None,
) -> Account:
    head = (2).to_bytes(4, "little") + bytes(8) + bytes(staker) + bytes(withdrawer)
    return Account(
        10**9,
        head + lockup + (bytes(custodian) if custodian else bytes(32)) + bytes(76),
        STAKE,
    )


LONG = struct.pack("<qQ", 2**40, 0)
HANDED: dict[str, tuple[Account, Account, bool]] = {
    "a stake locked up": (stake(ME, ME), stake(ME, ME, LONG, OTHER), False),
    "a stake locked up for ever": (stake(ME, ME), stake(ME, ME, LONG), False),
    "a stake of a derived address": (stake(SEEDED, SEEDED), stake(OTHER, OTHER), True),
    "a delegate over what is another's": (
        token(JOINT, 5),
        token(JOINT, 5, delegate=OTHER, delegated=5),
        True,
    ),
    "an account that is another's": (token(SEEDED, 5), token(OTHER, 5), True),
    "the mint authority of another": (mint_of(SEEDED), mint_of(OTHER), True),
    "fees withheld in secret": (
        mint_of(None, (4, bytes(ME)), (16, b"old")),
        mint_of(None, (4, bytes(ME)), (16, b"new")),
        False,
    ),
    "lamports at an address that was derived, given to a program": (
        Account(10**9, b"", SYSTEM_PROGRAM),
        Account(10**9, b"", SOMETHING),
        True,
    ),
    "tokens made in secret": (
        mint_of(ME, (24, b"old")),
        mint_of(ME, (24, b"new")),
        False,
    ),
}


@pytest.mark.parametrize("what", HANDED)
def test_power_that_is_handed_on_is_seen(what: str) -> None:
    before, after, reached = HANDED[what]
    accounts = [BOX] if reached else []
    assert takeovers({BOX: before}, {BOX: after}, [str(ME)], accounts)
    assert not takeovers({BOX: before}, {BOX: before}, [str(ME)], accounts)
    assert (
        not takeovers(
            {BOX: after}, {BOX: before}, [str(SEEDED), str(JOINT), str(ME)], accounts
        )
        or not reached
    )


def test_a_lockup_that_the_wallet_itself_lifts_is_its_own_matter() -> None:
    assert not takeovers(
        {BOX: stake(ME, ME)}, {BOX: stake(ME, ME, LONG, ME)}, [str(ME)]
    )


@pytest.mark.parametrize(
    "account",
    [
        None,
        Account(1, b"", SYSTEM_PROGRAM),
        Account(1, bytes(355), TOKEN_PROGRAM),
        Account(1, bytes(joint(ME).data), SYSTEM_PROGRAM),
        joint(OTHER, THIRD),
    ],
)
def test_what_is_no_multisig_of_the_wallets(account: Account | None) -> None:
    assert signing_power(
        ME, [Instruction(SOMETHING, b"", [])], {JOINT: account}
    ).owners == {str(ME)}


def test_in_a_direct_call_of_a_native_program_everything_is_in_reach() -> None:
    accounts = {BOX: token(THIRD, 5), SEEDED: Account(5, b"", SYSTEM_PROGRAM)}
    every = [AccountMeta(address, False, True) for address in accounts]
    direct = Instruction(SYSTEM_PROGRAM, b"", every)
    assert signing_power(ME, [direct], accounts).accounts == {BOX, SEEDED}
    indirect = Instruction(SOMETHING, b"", every)
    part = Instruction(SYSTEM_PROGRAM, b"", every[:1])
    assert signing_power(ME, [indirect, part], accounts).accounts == {BOX}
    assert signing_power(
        ME, [Instruction(SOMETHING, b"", [])], accounts
    ) == SigningPower(frozenset({str(ME)}))


# --- balances that change while they are measured ---------------------------------------------------------------------


async def test_a_deposit_that_lands_while_a_call_is_simulated_does_not_hide_what_it_spends() -> (
    None
):
    s = scene()
    mine, usdc = (
        Pubkey.from_string(s.local.names[name]) for name in ("alice_usdc", "usdc")
    )
    real, times = s.local.transport.accounts_at, [0]

    async def behind(keys: Any, since: int = 0) -> Any:
        """A node that has not seen yet what came last: 900,000 less of the wallet's tokens."""
        slot, found = await real(keys, since=since)
        times[0] += 1
        if times[0] % 2 == 1 and times[0] <= late:
            found[keys.index(mine)] = token(ME, 100_000, mint=usdc)
        return slot, found

    broken(s, accounts_at=behind)
    late = 100
    reply = await s.bridge.call(*transfer(700_000), yes)
    assert reply.details["reason"] == "transport_error", reply.text
    assert "nothing can be measured" in reply.text
    times[0], late = 0, 2
    reply = await s.bridge.call(*transfer(700_000), yes)
    assert reply.details["rule"] == "outflow.per_call", reply.text
    assert s.sent() == 0


def _slot(answer: bytes, slot: int) -> bytes:
    document = json.loads(answer)
    document["result"]["context"]["slot"] = slot
    return json.dumps(document).encode()


async def test_a_simulation_on_an_older_state_than_was_seen_is_none() -> None:
    slots = {"getMultipleAccounts": 500, "simulateTransaction": 499}

    def fault(asked: str, forward: Any) -> bytes:
        answer: bytes = forward()
        return _slot(answer, slots[asked]) if asked in slots else answer

    async with faulty(fault) as it:
        reply = await it.call()
        assert "slot 500 was seen before" in reply.text
        slots["simulateTransaction"] = 501  # and the second look is behind that
        reply = await it.call()
        assert "slot 501 was seen before" in reply.text
        assert (it.moved, it.wires, it.events) == (0, [], [])
        slots["getMultipleAccounts"] = slots["simulateTransaction"] = 500
        assert not (await it.call()).is_error


async def test_a_node_is_told_which_slot_it_must_have_reached() -> None:
    told: list[Any] = []

    def fault(asked: str, forward: Any) -> bytes:
        return forward()  # type: ignore[no-any-return]  # it is given as such

    async with faulty(fault) as it:
        transport = it.scene.bridge.box.programs[0].transport
        inner = transport.request  # type: ignore[union-attr]  # it has one

        async def request(method: str, params: Any = ()) -> Any:
            if method in ("simulateTransaction", "getMultipleAccounts"):
                told.append((method, params[1].get("minContextSlot")))
            return await inner(method, params)

        transport.request = request  # type: ignore[union-attr]  # to see what is asked
        assert not (await it.call()).is_error
    (seen,) = {slot for _, slot in told if slot is not None}
    assert ("simulateTransaction", seen) in told
    assert ("getMultipleAccounts", seen) in told


async def test_a_url_that_leads_to_another_chain_meanwhile_is_not_signed_for() -> None:
    genesis = ["5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"]

    def fault(asked: str, forward: Any) -> bytes:
        answer: bytes = forward()
        return (
            json.dumps({"jsonrpc": "2.0", "result": genesis[0]}).encode()
            if genesis and asked == "getGenesisHash"
            else answer
        )

    async with faulty(fault) as it:
        reply = await it.call()
        assert reply.details["rule"] == "clusters", reply.text
        assert "is of mainnet now" in reply.text
        assert (it.moved, it.wires, it.events) == (0, [], [])
        genesis.clear()
        assert not (await it.call()).is_error


# --- any calls at all, with the chain itself as the judge -------------------------------------------------------------

PLACES = [
    *(
        f"@{name}"
        for name in (
            "alice",
            "bob",
            "mallory",
            "usdc",
            "other",
            "alice_usdc",
            "bob_usdc",
            "alice_other",
        )
    ),
    *map(
        str,
        (BOX, BOX2, JOINT, Pubkey.create_with_seed(ME, "seed", SYSTEM_PROGRAM), TOKEN),
    ),
    SYSTEM,
]
AMOUNTS = st.sampled_from(
    ["0", "1", "999", "1000", "1001", "5000", "100000", "400000", str(2**64 - 1)]
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A call of any instruction of SPL Token and of the system program, mostly with accounts that make sense."""
    program, prefix = draw(
        st.sampled_from([(TOKEN_JOINT, "token"), (SYSTEM_SEEDED, "system")])
    )
    ix = draw(st.sampled_from(program["instructions"]))
    accounts = {}
    for account in ix["accounts"]:
        fits = {
            "source": ["@alice_usdc", str(BOX), str(BOX2)]
            if prefix == "token"
            else ["@alice"],
            "account": ["@alice_usdc", str(BOX2)] if prefix == "token" else ["@alice"],
            "destination": ["@bob_usdc", "@alice_usdc"]
            if prefix == "token"
            else ["@bob", "@mallory"],
            "mint": ["@usdc"],
            "joint": [str(JOINT)],
        }.get(account["name"], ["@alice"] if account.get("signer") else ["@mallory"])
        if (ix["name"], account["name"]) == ("seeded", "source"):
            fits = [str(_derived())]
        accounts[account["name"]] = draw(
            st.sampled_from(fits if draw(st.integers(0, 9)) else PLACES)
        )
    args: dict[str, Any] = {}
    for arg in ix["args"]:
        match arg["name"], arg["type"]:
            case "seed", _:
                args["seed"] = list(b"seed")
            case "length", _:
                args["length"] = "4"
            case "space", _:
                args["space"] = "0"
            case "owner", _:
                args["owner"] = draw(st.sampled_from([SYSTEM, str(TOKEN)]))
            case name, "pubkey":
                args[name] = draw(
                    st.sampled_from(["@mallory", "@alice", SYSTEM, str(TOKEN)])
                )
            case name, _:
                args[name] = draw(AMOUNTS)
    return f"{prefix}_{ix['name']}", {**args, "accounts": accounts}


def owned(s: Scene, of: Pubkey) -> tuple[int, int]:
    """Tokens of usdc and lamports that a signature of *of* could take, as the chain has it now."""
    usdc, tokens, lamports = Pubkey.from_string(s.local.names["usdc"]), 0, 0
    for key_ in {
        *map(Pubkey.from_string, s.local.names.values()),
        BOX,
        BOX2,
        _derived(),
        of,
    }:
        account = s.local.svm.get_account(key_)
        if account is None:
            continue
        data = bytes(account.data)
        if key_ in (of, _derived()) and account.owner == SYSTEM_PROGRAM:
            lamports += account.lamports
        if account.owner != TOKEN_PROGRAM or len(data) != 165:
            continue
        owner, delegate = data[32:64], data[76:108] if data[72] else b""
        if owner in (bytes(of), bytes(JOINT)):
            lamports += account.lamports
        if data[:32] == bytes(usdc):
            amount, delegated = (
                struct.unpack_from("<Q", data, 64)[0],
                struct.unpack_from("<Q", data, 121)[0],
            )
            held = owner in (bytes(of), bytes(JOINT))
            tokens += (
                amount
                if held
                else min(amount, delegated)
                if delegate == bytes(of)
                else 0
            )
    return tokens, lamports


@given(sequence=st.lists(calls(), min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_whatever_is_called_the_wallet_loses_no_more_than_a_days_limits(
    sequence: list[Any],
) -> None:
    s = reaching()

    async def whole() -> None:
        before, others = owned(s, ME), owned(s, OTHER)
        for name, arguments in sequence:
            tokens, lamports = owned(s, ME)
            await s.bridge.call(name, arguments, yes)
            now = owned(s, ME)
            assert (tokens - now[0] <= 1_000, lamports - now[1] <= 100_000) == (
                True,
                True,
            ), (
                name,
                arguments,
            )
        after = owned(s, ME)
        assert before[0] - after[0] <= 10_000
        assert before[1] - after[1] <= 10**6
        assert owned(s, OTHER)[0] - others[0] <= 10_000
        spent = s.audit.spent(key("alice"))
        assert spent.get(s.local.names["usdc"], 0) >= before[0] - after[0]
        assert spent.get("SOL", 0) >= before[1] - after[1]
        mint = s.local.svm.get_account(Pubkey.from_string(s.local.names["usdc"]))
        assert mint is not None
        assert bytes(mint.data)[4:36] == bytes(ME)

    asyncio.run(whole())
