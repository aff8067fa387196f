"""A sending bridge before a node that fails as endpoints do: nothing is sent twice, and what became of a send is known,
or said to be unknown with its signature.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.bridge.bridge import Reply
from mcpsol_py.client.rpc import RpcTransport
from tests.functional.validator.node import Fault
from tests.support.faulty_rpc import AMOUNT, SLOW, Faulty, faulty

pytestmark = pytest.mark.usefixtures("quick_retries")

Answer = Callable[[], bytes]


def times(
    count: int, method: str, fault: Callable[[Answer], bytes | int | None]
) -> Fault:
    """*fault* for the first *count* requests of *method*."""
    left = [count]

    def decide(asked: str, forward: Answer) -> bytes | int | None:
        if asked == method and left[0] > 0:
            left[0] -= 1
            return fault(forward)
        return forward()

    return decide


def always(method: str, fault: Callable[[Answer], bytes | int | None]) -> Fault:
    return times(10**6, method, fault)


def hang(forward: Answer) -> bytes | None:
    import time

    time.sleep(SLOW * 1.5)
    return None


def cut(forward: Answer) -> bytes:
    return forward()[:-20]


def taken_then(what: bytes | int | None) -> Callable[[Answer], bytes | int | None]:
    """The node does it, and its answer is lost."""

    def fault(forward: Answer) -> bytes | int | None:
        forward()
        return what

    return fault


def error(code: int, message: str, data: Any = None) -> bytes:
    said = {
        "code": code,
        "message": message,
        **({} if data is None else {"data": data}),
    }
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": said}).encode()


def result(value: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": None, "result": value}).encode()


#: of what is read before a signature: each method is asked for
READS = ("getMultipleAccounts", "getLatestBlockhash", "simulateTransaction")
PASSING: dict[str, Callable[[Answer], bytes | int | None]] = {
    "a timeout": hang,
    "429": lambda _: 429,
    "500": lambda _: 500,
    "503": lambda _: 503,
    "a closed connection": lambda _: None,
    "truncated JSON": cut,
    "no JSON": lambda _: b"<html>busy</html>",
    "another request's answer": lambda forward: json.dumps(
        {**json.loads(forward()), "id": 10**6}
    ).encode(),
    "no JSON-RPC": lambda _: b'{"ok": true}',
    "a node that is behind": lambda _: error(-32005, "Node is behind by 42 slots"),
}


@pytest.mark.parametrize("method", READS)
@pytest.mark.parametrize("what", PASSING)
async def test_a_read_that_fails_once_is_asked_again_and_one_transfer_is_made(
    method: str, what: str
) -> None:
    async with faulty(times(1, method, PASSING[what])) as it:
        reply = await it.call()
        assert not reply.is_error, reply.text
        assert it.moved == AMOUNT
        # On a busy machine a slow answer is asked for again, with the same bytes.
        assert len(set(it.wires)) == 1
        assert it.events == ["intent", "signed", "sent"]


@pytest.mark.parametrize("method", READS)
@pytest.mark.parametrize("what", [w for w in PASSING if w != "a timeout"])
async def test_a_read_that_always_fails_leaves_nothing_signed(
    method: str, what: str
) -> None:
    async with faulty(always(method, PASSING[what])) as it:
        reply = await it.call()
        assert reply.details["reason"] == "transport_error", reply.text
        assert (it.moved, it.wires, it.events) == (0, [], [])


MISSHAPEN: list[Any] = [
    None,
    {},
    [],
    "text",
    5,
    {"value": None},
    {"value": {}},
    {"value": []},
    {"value": [None]},
    {"value": [{}]},
]


@pytest.mark.parametrize("method", READS)
@pytest.mark.parametrize("value", MISSHAPEN, ids=[json.dumps(v) for v in MISSHAPEN])
async def test_an_answer_in_another_form_leaves_nothing_signed(
    method: str, value: Any
) -> None:
    async with faulty(always(method, lambda _: result(value))) as it:
        reply = await it.call()
        assert reply.is_error, reply.text
        assert reply.details["reason"] != "error"
        assert "Traceback" not in reply.text
        assert (it.moved, it.wires, it.events) == (0, [], [])


# --- handing in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [None, 500, 502, 504, b"", b'{"jsonrpc":', b"<html>", result("1" * 64), result(7)],
)
async def test_a_send_whose_answer_is_lost_lands_once_and_is_known(answer: Any) -> None:
    async with faulty(always("sendTransaction", taken_then(answer))) as it:
        reply = await it.call()
        assert not reply.is_error, reply.text
        assert it.moved == AMOUNT
        # The very same bytes each time: the chain takes them once.
        assert len(set(it.wires)) == 1
        assert it.events == ["intent", "signed", "sent"]
        assert reply.structured is not None
        assert (
            reply.structured["signature"] == it.scene.audit.entries()[-1]["signature"]
        )


@pytest.mark.parametrize("what", ["429", "503", "a closed connection", "a timeout"])
async def test_a_send_that_does_not_get_through_at_first_lands_once(what: str) -> None:
    async with faulty(times(1, "sendTransaction", PASSING[what])) as it:
        reply = await it.call()
        assert not reply.is_error, reply.text
        assert it.moved == AMOUNT
        assert len(set(it.wires)) == 1


@pytest.mark.parametrize("status", [429, 401, 403, 413])
async def test_a_send_that_the_endpoint_refuses_is_known_not_to_have_happened(
    status: int,
) -> None:
    async with faulty(always("sendTransaction", lambda _: status)) as it:
        reply = await it.call()
        assert reply.details["reason"] == "transport_error", reply.text
        assert str(status) in reply.text
        assert it.events == ["intent", "signed", "failed"]
        assert it.scene.audit.spent(str(it.scene.bridge.wallet)) == {}
        assert (it.moved, it.wires) == (0, [])
        it.proxy.fault = None
        assert not (await it.call(AMOUNT + 1)).is_error


async def test_a_refusal_of_the_preflight_is_known() -> None:
    simulated = {
        "err": {"InstructionError": [0, {"Custom": 1}]},
        "logs": [],
        "unitsConsumed": 5,
    }
    refusal = error(-32002, "Transaction simulation failed", simulated)
    async with faulty(always("sendTransaction", lambda _: refusal)) as it:
        reply = await it.call()
        assert reply.details["reason"] == "program_failed"
        assert "InsufficientFunds" in reply.text
        assert it.events == ["intent", "signed", "failed"]
        assert it.moved == 0


async def test_a_blockhash_that_expires_before_it_is_handed_in_is_known() -> None:
    def expired(forward: Answer) -> bytes:
        it.expire()
        return forward()

    async with faulty(always("sendTransaction", expired)) as it:
        reply = await it.call()
        assert reply.is_error
        assert "BlockhashNotFound" in reply.text
        assert it.events == ["intent", "signed", "failed"]
        assert it.moved == 0
        assert len(it.wires) == 1


async def test_a_refusal_after_a_lost_answer_does_not_say_that_it_has_not_landed() -> (
    None
):
    calls: list[str] = []

    def fault(asked: str, forward: Answer) -> bytes | int | None:
        if asked != "sendTransaction":
            return forward()
        calls.append(asked)
        answer = forward()
        if len(calls) == 1:
            return None
        simulated = {"err": "BlockhashNotFound", "logs": []}
        return (
            answer
            if len(calls) > 5
            else error(-32002, "Blockhash not found", simulated)
        )

    async with faulty(fault) as it:
        reply = await it.call()
        assert not reply.is_error, reply.text
        assert it.moved == AMOUNT
        assert it.events == ["intent", "signed", "sent"]


def unknown(it: Faulty, reply: Reply, why: str) -> None:
    """It is said to be unknown, with the signature of the very transaction, and it counts as spent."""
    assert reply.details["reason"] == "send_unknown", reply.text
    signature = reply.details["signature"]
    assert len(set(it.wires)) <= 1
    for wire in it.wires:
        assert (
            str(VersionedTransaction.from_bytes(base64.b64decode(wire)).signatures[0])
            == signature
        )
    assert signature in reply.text
    assert why in reply.text
    assert it.events == ["intent", "signed", "unknown"]
    assert it.scene.audit.entries()[-1]["signature"] == signature
    # It counts with the most that it may take without a person's confirmation.
    assert (
        it.scene.audit.spent(str(it.scene.bridge.wallet))[it.scene.local.names["usdc"]]
        == 300_000
    )


async def test_a_node_that_goes_away_after_the_send_leaves_it_unknown_with_its_signature() -> (
    None
):
    gone: list[bool] = []

    def fault(asked: str, forward: Answer) -> bytes | int | None:
        if asked == "sendTransaction":
            gone.append(True)
            return forward()
        return 503 if gone else forward()

    async with faulty(fault) as it:
        unknown(it, await it.call(), "no longer answers")
        assert len(it.wires) == 1


async def test_a_transaction_that_never_lands_is_unknown_after_its_last_block() -> None:
    def fault(asked: str, forward: Answer) -> bytes | int | None:
        if asked == "sendTransaction":
            return result(signature_in(it))  # accepted, and then dropped
        if asked == "getSignatureStatuses":
            it.expire()
        return forward()

    def signature_in(faulty: Faulty) -> str:
        found: str = faulty.scene.audit.entries()[-1]["signature"]
        return found

    async with faulty(fault) as it:
        unknown(it, await it.call(), "block height")
        assert it.moved == 0


async def test_a_transaction_that_was_seen_on_a_fork_and_is_gone_is_unknown() -> None:
    asked_after = [0]

    def fault(asked: str, forward: Answer) -> bytes | int | None:
        if asked == "getSignatureStatuses":
            asked_after[0] += 1
            if asked_after[0] == 1:
                row = {
                    "confirmationStatus": "processed",
                    "confirmations": 0,
                    "err": None,
                    "slot": 1,
                }
                return result({"context": {"slot": 1}, "value": [row]})
            it.expire()
            return result({"context": {"slot": 2}, "value": [None]})
        return forward()

    async with faulty(fault) as it:
        unknown(it, await it.call(), "block height")
        assert asked_after[0] >= 3


async def test_a_status_that_comes_late_is_waited_for() -> None:
    late = times(
        4,
        "getSignatureStatuses",
        lambda _: result({"context": {"slot": 1}, "value": [None]}),
    )
    async with faulty(late) as it:
        assert not (await it.call()).is_error
        assert it.events == ["intent", "signed", "sent"]


async def test_an_unknown_send_counts_for_the_next_one() -> None:
    gone: list[bool] = []

    def fault(asked: str, forward: Answer) -> bytes | int | None:
        if asked == "sendTransaction":
            gone.append(True)
        return (
            503
            if gone and asked in ("getSignatureStatuses", "getBlockHeight")
            else forward()
        )

    async with faulty(fault) as it:
        for amount in (300_000, 299_000):
            assert (await it.call(amount)).details["reason"] == "send_unknown"
            gone.clear()
        it.proxy.fault = None
        assert (await it.call(300_001)).details["rule"] == "outflow.per_day"
        assert it.moved == 599_000


async def test_calls_at_once_under_faults_send_each_once() -> None:
    flaky = [0]

    def fault(asked: str, forward: Answer) -> bytes | int | None:
        flaky[0] += 1
        answer = forward()
        return 503 if flaky[0] % 3 == 0 else answer

    async with faulty(fault) as it:
        replies = await asyncio.gather(*(it.call(1000 + i) for i in range(5)))
        assert not any(r.is_error for r in replies), [
            r.text for r in replies if r.is_error
        ]
        assert it.moved == sum(1000 + i for i in range(5))
        assert len(set(it.wires)) == 5


# --- what a simulation says -------------------------------------------------------------------------------------------


def simulated_with(change: Callable[[dict[str, Any]], None]) -> Fault:
    def fault(forward: Answer) -> bytes:
        answer = json.loads(forward())
        change(answer["result"]["value"])
        return json.dumps(answer).encode()

    return always("simulateTransaction", fault)


async def test_return_data_of_another_program_is_not_taken_for_the_programs_own() -> (
    None
):
    def foreign(value: dict[str, Any]) -> None:
        value["returnData"] = {
            "programId": str(Pubkey(bytes([3] * 32))),
            "data": ["AQID", "base64"],
        }

    async with faulty(simulated_with(foreign)) as it:
        reply = await it.call()
        assert not reply.is_error, reply.text
        assert reply.structured is not None
        assert "returns" not in reply.structured["simulation"]


@pytest.mark.parametrize("data", [["AQ", "base64"], [], None, {"x": 1}, [5, "base64"]])
async def test_return_data_that_is_none_leaves_nothing_signed(data: Any) -> None:
    def broken(value: dict[str, Any]) -> None:
        value["returnData"] = {"programId": str(Pubkey(bytes([3] * 32))), "data": data}

    async with faulty(simulated_with(broken)) as it:
        reply = await it.call()
        assert reply.is_error, reply.text
        assert (it.moved, it.wires, it.events) == (0, [], [])


@pytest.mark.parametrize("accounts", [None, [], [None], "x"])
async def test_a_simulation_without_its_accounts_leaves_nothing_signed(
    accounts: Any,
) -> None:
    async with faulty(
        simulated_with(lambda value: value.update(accounts=accounts))
    ) as it:
        reply = await it.call()
        assert reply.is_error, reply.text
        assert (it.moved, it.wires, it.events) == (0, [], [])


async def test_no_error_tells_the_endpoints_path() -> None:
    async with faulty(always("simulateTransaction", lambda _: 500)) as it:
        for served in it.scene.bridge.box.programs:
            assert isinstance(served.transport, RpcTransport)
            served.transport.url += "/v2/SECRET-KEY?token=SECRET"
        reply = await it.call()
        assert "SECRET" not in reply.text + json.dumps(reply.details, default=str)
