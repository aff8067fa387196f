"""`idl2mcp x402 pay`, `history` and `wallet`: the side that pays."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.x402.storage import database_option, open_chain, open_database

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.x402.buying.budget import Budget
    from mcpsol_py.x402.buying.paying import Bought, CallPayer
    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.protocol.price import Price

__all__ = ["history", "pay", "wallet"]


@click.command("pay")
@click.argument("resource", metavar="URL")
@click.argument("tool", required=False)
@click.option(
    "--args", "arguments", default="{}", metavar="JSON", help="The tool's arguments, as an object."
)
@click.option("--url", required=True, help="The cluster's JSON-RPC.")
@click.option(
    "--wallet",
    required=True,
    metavar="FILE",
    help='The payer\'s key file (`idl2mcp wallet new`), or "@alice" of a local cluster (serve --demo --paid).',
)
@click.option(
    "--max",
    "most",
    required=True,
    metavar="PRICE",
    help='The most it may cost: "$0.01", "0.01 USDC", or {"amount": base units, "asset": mint}.',
)
@click.option("--per-day", metavar="PRICE", help="The most that this wallet may spend a day.")
@click.option(
    "--deposit",
    metavar="PRICE",
    help="Pay by vouchers where they are taken; the most a channel may lock.",
)
@click.option(
    "--id", "payment_id", metavar="ID", help="Names this call: the same id again never pays twice."
)
@click.option("--method", default="GET", show_default=True)
@database_option
@report.json_option
def pay(
    resource: str,
    tool: str | None,
    arguments: str,
    url: str,
    wallet: str,
    most: str,
    per_day: str | None,
    deposit: str | None,
    payment_id: str | None,
    method: str,
    database: str | None,
    as_json: bool,
) -> None:
    """Get URL, or call TOOL of the MCP server at URL, and pay its price, at most --max.

    Prints the answer; with --json also the receipt. The same --id again gets the same answer, and is not charged again.
    """
    from idl2mcp.json_input import json_object
    from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
    from mcpsol_py.x402.buying.wallet import wallet_payer

    given = json_object(arguments, "--args")
    chain = open_chain(url)
    keypair = _payer(wallet, chain.network)
    cap = _price(most, chain.network, "--max")
    day = _price(per_day, chain.network, "--per-day") if per_day is not None else None
    if day is not None and day.mint != cap.mint:
        raise click.BadParameter(
            "another token than --max: it would limit nothing", param_hint="--per-day"
        )
    limit = SpendingLimit(per_payment=cap.amount, per_day=day.amount if day is not None else None)
    opened = open_database(database)
    budget = Budget(
        opened, str(keypair.pubkey()), SpendingLimits({cap.mint: limit}), session="command line"
    )
    lock = _price(deposit, chain.network, "--deposit") if deposit is not None else None
    payer = wallet_payer(
        keypair, chain, budget, opened, locks={} if lock is None else {lock.mint: lock.amount}
    )
    with report.progress("paying"):
        asyncio.run(_reconcile(budget, chain))
        if tool is None:
            done = asyncio.run(_get(payer, method, resource, payment_id))
        else:
            done = asyncio.run(_call(payer, resource, tool, given, payment_id))
    receipt = (
        done.receipt.model_dump(by_alias=True, exclude_none=True, mode="json")
        if done.receipt
        else None
    )
    answer = _answer(done.result)
    document = {
        **answer,
        "paid": str(done.amount),
        "asset": done.asset,
        "paymentId": done.payment_id,
        "repeated": done.repeated,
        "receipt": receipt,
    }
    if receipt is not None:
        said = (
            "not charged again: paid before"
            if done.repeated
            else f"paid {_shown(done, chain.network)}"
        )
        report.note(f"{said}, as {receipt.get('transaction')} (payment {done.payment_id})")
    report.emit(document, str(answer["body"]), as_json=as_json)
    if answer.get("isError"):
        raise SystemExit(1)


def _shown(done: Bought[Any], network: str) -> str:
    from mcpsol_py.x402.protocol.price import format_amount

    return format_amount(done.amount, network, str(done.asset))


def _payer(wallet: str, network: str) -> Keypair:
    """The key of --wallet. "@name" is the play-money wallet of that name, on a local cluster only."""
    from idl2mcp.local_cluster import is_local_name
    from idl2mcp.local_cluster import wallet as local_wallet
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.client.keys import open_keypair
    from mcpsol_py.x402.protocol.networks import LOCAL

    if not wallet.startswith("@"):
        path = Path(wallet)
        return open_keypair(path, passphrase(path))
    if network != LOCAL or not is_local_name(wallet):
        raise click.BadParameter(
            f"{wallet}: such names are wallets of a local cluster", param_hint="--wallet"
        )
    return local_wallet(wallet[1:])


async def _reconcile(budget: Budget, chain: PaymentChain) -> None:
    """What earlier calls hold of the budget is given back once it cannot be taken any more."""
    from mcpsol_py.x402.buying.paying import reconcile
    from mcpsol_py.x402.chain.payment_chain import ChainUnavailable

    try:
        await reconcile(budget, chain)
    except ChainUnavailable:  # then it stays held
        pass


async def _get(payer: CallPayer, method: str, resource: str, payment_id: str | None) -> Bought[Any]:
    import httpx

    from mcpsol_py.x402.buying.http_buyer import HttpBuyer

    async with httpx.AsyncClient(timeout=60) as client:
        return await HttpBuyer(client, payer).request(method, resource, payment_id=payment_id)


async def _call(
    payer: CallPayer, server: str, tool: str, arguments: dict[str, Any], payment_id: str | None
) -> Bought[Any]:
    from mcpsol_py.x402.buying.mcp_buyer import Buyer, connected

    return await connected(
        server, lambda c: Buyer(c, payer).call_tool(tool, arguments, payment_id=payment_id)
    )


def _answer(result: Any) -> dict[str, Any]:
    """What came back: of an HTTP response, or of a tool's call."""
    if hasattr(result, "status_code"):
        from mcpsol_py.x402.protocol.http_answers import was_cut

        cut = {"cut": True} if was_cut(result) else {}  # the body was longer than is kept
        return {"status": result.status_code, "body": result.text, **cut}
    body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
    texts = [block.get("text", "") for block in body.get("content") or []]
    return {
        "isError": bool(body.get("isError")),
        "body": "\n".join(texts),
        "result": body.get("structuredContent"),
    }


@click.command("history")
@click.option(
    "--wallet",
    required=True,
    metavar="ADDRESS",
    help='Whose payments: an address, or "@alice" of a local cluster.',
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@database_option
@report.json_option
def history(wallet: str, limit: int, database: str | None, as_json: bool) -> None:
    """What a wallet paid, newest first."""
    from datetime import UTC, datetime

    from idl2mcp.inputs import address as parsed
    from idl2mcp.local_cluster import is_local_name
    from idl2mcp.local_cluster import wallet as local_wallet
    from mcpsol_py.x402.buying.budget import Budget, SpendingLimits
    from mcpsol_py.x402.protocol.price import format_amount

    address = str(
        local_wallet(wallet[1:]).pubkey() if is_local_name(wallet) else parsed(wallet, "--wallet")
    )
    budget = Budget(open_database(database), address, SpendingLimits({}), session="history")
    rows = [
        {
            "time": datetime.fromtimestamp(row.created_ms / 1000, UTC).isoformat(
                timespec="seconds"
            ),
            "state": row.state,
            "amount": str(row.amount),
            "asset": row.asset,
            "network": row.network,
            "payTo": row.pay_to,
            "resource": row.resource,
            "paymentId": row.payment_id,
            "signature": row.signature,
        }
        for row in budget.history(limit)
    ]
    lines = report.table(
        [
            ["time", "state", "amount", "to", "for"],
            *(
                [
                    str(r["time"]),
                    str(r["state"]),
                    format_amount(int(str(r["amount"])), str(r["network"]), str(r["asset"])),
                    str(r["payTo"]),
                    str(r["resource"]),
                ]
                for r in rows
            ),
        ]
    )
    report.emit(
        {"wallet": address, "payments": rows},
        lines if rows else f"{address} has paid nothing",
        as_json=as_json,
    )


@click.command("wallet")
@click.argument("config", type=click.Path(dir_okay=False, exists=True, path_type=Path))
def wallet(config: Path) -> None:
    """Serve an agent's wallet as MCP tools on stdio: set up, delegation, pay, balance, history, discover, estimate.

    CONFIG is a TOML file: keystore, cluster, limits by token, whose accounts it may spend from, whom it may pay.
    """
    from contextlib import ExitStack

    from mcp.server import Server

    from idl2mcp.config.agent_wallet import open_agent_wallet
    from mcpsol_py.bridge.mcp import run_stdio
    from mcpsol_py.telemetry import logs

    logs.set_up("text", "warning")
    with ExitStack() as opened:
        tools = open_agent_wallet(config, opened)
        server: Server[Any] = Server(
            "idl2mcp wallet", title="An agent's wallet (x402)", on_list_tools=_no_tools
        )
        server.middleware.append(tools)
        report.note("an agent's wallet on stdio; x402_setup_agent makes its key if it has none")
        asyncio.run(run_stdio(server))


async def _no_tools(_ctx: Any, _params: Any) -> Any:
    import mcp_types as types

    return types.ListToolsResult(tools=[])


def _price(text: str, network: str, option: str) -> Price:
    """A price as people write it, or as JSON ({"amount": base units, "asset": mint}) for tokens without a symbol
    here.
    """
    import orjson

    from mcpsol_py.x402.protocol.price import parse_price

    if not text.lstrip().startswith("{"):
        return parse_price(text, network)
    try:
        return parse_price(orjson.loads(text), network)
    except orjson.JSONDecodeError as error:
        raise click.BadParameter(
            f"{text!r} is neither a price nor JSON", param_hint=option
        ) from error
