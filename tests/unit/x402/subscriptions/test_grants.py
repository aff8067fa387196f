"""Calls that a subscription pays for: who proves a wallet gets them, counted against the quota, once each."""

from __future__ import annotations

import asyncio
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server
from x402.extensions.sign_in_with_x import SIWxPayload, create_siwx_message
from x402.extensions.sign_in_with_x.solana import encode_base58
from x402.schemas import PaymentRequired

from mcpsol_py.x402.protocol.mcp_wire import RESPONSE_META, read_demand
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused
from mcpsol_py.x402.protocol.proof import (
    PROOF_META,
    SIGN_IN_WITH_X,
    read_proof,
    request_mark,
    sign_proof,
)
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.database import now_ms
from mcpsol_py.x402.store.receipts import Receipts
from tests.support.x402_shop import Crash
from tests.unit.x402.payments import keypair
from tests.unit.x402.subscriptions.merchant import DAY, DOMAIN, Merchant

ASKED = {"city": "Bern"}


async def call(
    merchant: Merchant, proof: Any, arguments: object = ASKED, **options: Any
) -> Any:
    parsed = read_proof({PROOF_META: proof})
    return await merchant.paid_calls(**options).call(
        merchant.offer(), None, arguments, merchant.run, parsed
    )


async def test_a_subscriber_calls_until_the_quota_is_used_up_and_again_in_the_next_period(
    merchant: Merchant,
) -> None:
    merchant.plan(quota=2)
    merchant.subscribed()
    answers = [await call(merchant, merchant.proof(ASKED)) for _ in range(2)]
    used = [a.receipt.extensions["subscription"]["info"]["used"] for a in answers]
    assert used == [1, 2]
    refused = await call(merchant, merchant.proof(ASKED))
    assert isinstance(refused, PaymentRequiredReply)
    assert refused.reason == "quota_exceeded"
    assert len(merchant.shop.runs) == 2
    assert merchant.shop.paid == 0
    merchant.clock.ms += DAY  # the grace: calls count for the period that is due now
    assert isinstance(await call(merchant, merchant.proof(ASKED)), Answer)
    merchant.clock.ms += DAY // 4
    ended = await call(merchant, merchant.proof(ASKED))
    assert isinstance(ended, PaymentRequiredReply)
    assert ended.reason == "no_subscription"
    # what was granted is no payment, so it leaves no receipt of one
    assert Receipts(merchant.shop.database).history() == []


async def test_a_proof_is_one_call(merchant: Merchant) -> None:
    merchant.plan()
    merchant.subscribed()
    proof = merchant.proof(ASKED)
    first, again = await call(merchant, proof), await call(merchant, proof)
    assert (again.result, again.repeated, len(merchant.shop.runs)) == (
        first.result,
        True,
        1,
    )
    unbound = sign_proof(
        merchant.wallet, {k: v for k, v in proof.items() if k != "requestId"}, DEVNET
    )
    # The same nonce, for another call.
    moved = await call(merchant, unbound, {"city": "Basel"})
    assert isinstance(moved, Refused)
    assert moved.code == "payment_id_conflict"
    assert merchant.book.used(merchant.book.of(merchant.address)[0]) == 1


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda m, p: {**p, "signature": str(keypair(9).sign_message(b"x"))},
            "invalid_siwx_signature",
        ),
        (
            lambda m, p: {**p, "address": str(keypair(9).pubkey())},
            "invalid_siwx_signature",
        ),
        (lambda m, p: {**p, "nonce": "f" * 32}, "invalid_siwx_signature"),
        (lambda m, p: {**p, "signature": "0OIl"}, "invalid_siwx_malformed_signature"),
        (
            lambda m, p: m.proof(ASKED, domain="evil.example"),
            "invalid_siwx_domain_mismatch",
        ),
        (
            lambda m, p: m.proof(ASKED, uri="mcp://tool/other"),
            "invalid_siwx_uri_mismatch",
        ),
        (lambda m, p: m.proof({"city": "Basel"}), "invalid_siwx_request_mismatch"),
        (lambda m, p: m.proof(ASKED, nonce="short"), "invalid_siwx_nonce"),
        (lambda m, p: m.proof(ASKED, issuedAt="yesterday"), "invalid_siwx_issued_at"),
        (
            lambda m, p: m.proof(ASKED, expirationTime="2001-01-01T00:00:00Z"),
            "invalid_siwx_expired",
        ),
        (
            lambda m, p: m.proof(ASKED, notBefore="2100-01-01T00:00:00Z"),
            "invalid_siwx_not_yet_valid",
        ),
        (lambda m, p: m.proof(ASKED, wallet=keypair(9)), "no_subscription"),
    ],
)
async def test_what_proves_nothing_gets_nothing(
    sqlite_merchant: Merchant, change: Any, reason: str
) -> None:
    merchant = sqlite_merchant
    merchant.plan()
    merchant.subscribed()
    reply = await call(merchant, change(merchant, merchant.proof(ASKED)))
    assert isinstance(reply, PaymentRequiredReply)
    assert reply.reason == reason
    assert merchant.shop.runs == []


async def test_clocks_may_be_five_minutes_apart_and_not_more_than_ten(
    sqlite_merchant: Merchant,
) -> None:
    merchant = sqlite_merchant
    merchant.plan(quota=None)
    merchant.subscribed()
    here = merchant.clock.ms
    for minutes, fine in ((5, True), (-5, True), (-10, True), (-11, False), (6, False)):
        merchant.clock.ms = here + minutes * 60_000  # the wallet's clock
        proof = merchant.proof(ASKED)
        merchant.clock.ms = here
        assert isinstance(await call(merchant, proof), Answer) == fine, minutes


async def test_a_failing_tool_is_not_counted(merchant: Merchant) -> None:
    merchant.plan()
    merchant.subscribed()

    async def fails(run: Run) -> tuple[dict[str, Any], bool]:
        return {"isError": True}, True

    proof = read_proof({PROOF_META: merchant.proof(ASKED)})
    reply = await merchant.paid_calls().call(
        merchant.offer(), None, ASKED, fails, proof
    )
    assert isinstance(reply, Answer)
    assert reply.receipt is None
    assert merchant.book.used(merchant.book.of(merchant.address)[0]) == 0


async def test_calls_at_once_cannot_exceed_the_quota(merchant: Merchant) -> None:
    """Each by a replica of its own."""
    merchant.plan(quota=3)
    merchant.subscribed()
    storage = merchant.shop.storage
    assert storage is not None
    replicas = [storage.open(migrate=False) for _ in range(8)]
    replies = await asyncio.gather(
        *(call(merchant, merchant.proof(ASKED), database=r) for r in replicas)
    )
    assert sum(isinstance(r, Answer) for r in replies) == 3
    assert {r.reason for r in replies if isinstance(r, PaymentRequiredReply)} == {
        "quota_exceeded"
    }
    assert len(merchant.shop.runs) == 3
    assert merchant.book.used(merchant.book.of(merchant.address)[0]) == 3


async def test_replicas_that_get_one_proof_at_once_serve_it_once(
    merchant: Merchant,
) -> None:
    merchant.plan()
    merchant.subscribed()
    storage = merchant.shop.storage
    assert storage is not None
    proof, patient = merchant.proof(ASKED), {"wait": 5.0, "lease": 30.0}
    replicas = [storage.open(migrate=False) for _ in range(4)]
    replies = await asyncio.gather(
        *(call(merchant, proof, database=r, grants=patient) for r in replicas)
    )
    assert {str(r.result) for r in replies} == {"{'content': 'answer 1'}"}
    assert len(merchant.shop.runs) == 1


@pytest.mark.parametrize("point", ["grants.claimed", "grants.running", "grants.ran"])
async def test_killed_at_any_step(merchant: Merchant, point: str) -> None:
    merchant.plan()
    merchant.subscribed()
    proof = merchant.proof(ASKED)

    def crash(at: str) -> None:
        if at == point:
            raise Crash(at)

    with pytest.raises(Crash):
        await call(merchant, proof, grants={"fault": crash})
    await asyncio.sleep(0.06)  # the dead replica's lease ends
    reply = await call(merchant, proof)
    used = merchant.book.used(merchant.book.of(merchant.address)[0])
    assert used == 1
    assert len(merchant.shop.runs) <= 1
    if point == "grants.claimed":
        assert isinstance(reply, Answer)
    else:
        assert isinstance(reply, Refused)
        assert reply.code == "outcome_unknown"


async def test_over_mcp_a_client_signs_the_challenge_of_the_demand(
    merchant: Merchant,
) -> None:
    merchant.clock.ms = now_ms()  # the challenge's time is the machine's
    merchant.plan()
    merchant.subscribed()

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        merchant.shop.runs.append(params.name)
        return types.CallToolResult(content=[types.TextContent(type="text", text="42")])

    async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[types.Tool(name="quote", input_schema={"type": "object"})]
        )

    server: Server[Any] = Server(
        "shop", on_list_tools=list_tools, on_call_tool=call_tool
    )
    server.middleware.append(Paid(merchant.paid_calls(), {"quote": merchant.offer()}))
    async with Client(server) as client:
        asked = (await client.call_tool("quote", ASKED)).model_dump(
            by_alias=True, exclude_none=True
        )
        demand = read_demand(asked)
        assert demand is not None
        assert isinstance(demand.required, PaymentRequired)
        extension = (demand.required.extensions or {})[SIGN_IN_WITH_X]
        assert extension["supportedChains"] == [
            {"chainId": DEVNET, "type": "ed25519", "signatureScheme": "siws"}
        ]
        assert extension["info"]["domain"] == DOMAIN
        uri = extension["info"]["uri"]
        mark = request_mark(uri, {"tool": "quote", "arguments": ASKED})
        proof = sign_proof(merchant.wallet, extension["info"], DEVNET, request_id=mark)
        meta: Any = {PROOF_META: proof}
        for _ in range(2):
            served = (await client.call_tool("quote", ASKED, meta=meta)).model_dump(
                by_alias=True, exclude_none=True
            )
            assert served["content"][0]["text"] == "42"
            info = served["_meta"][RESPONSE_META]["extensions"]["subscription"]["info"]
            assert (info["plan"], info["used"], info["quota"]) == ("pro", 1, 3)
    assert merchant.shop.runs == ["quote"]


async def test_the_official_sdk_signs_what_we_read(sqlite_merchant: Merchant) -> None:
    """Its own message builder and verifier, over our challenge."""
    merchant = sqlite_merchant
    merchant.plan()
    merchant.subscribed()
    info = (merchant.offer().payment_required("sign").extensions or {})[SIGN_IN_WITH_X][
        "info"
    ]
    theirs = {
        **info,
        "chainId": DEVNET,
        "type": "ed25519",
        "issuedAt": merchant.proof(ASKED)["issuedAt"],
    }
    chosen = SIWxPayload.model_validate(
        {**theirs, "address": merchant.address, "signature": ""}
    )
    text = create_siwx_message(chosen, merchant.address)
    signature = encode_base58(bytes(merchant.wallet.sign_message(text.encode())))
    assert isinstance(
        await call(
            merchant, {**theirs, "address": merchant.address, "signature": signature}
        ),
        Answer,
    )
