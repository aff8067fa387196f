"""`idl2mcp x402 facilitator|pay|history`: payments from the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.merchant import subscriptions, webhooks

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.x402.budget import Budget
    from mcpsol_py.x402.paying import Bought, Payer

_WALLET = click.Path(dir_okay=False, path_type=Path, exists=True)
_HOME = Path("~/.mcpsol/payments.db")


def _database_option(function: Any) -> Any:
    return click.option(
        "--database", metavar="URL", help=f"Where payments are kept (default: sqlite:///{_HOME}). SQLAlchemy's URLs."
    )(function)


def _sales_option(function: Any) -> Any:
    return click.option("--database", metavar="URL", required=True, help="The server's: payments.database.")(function)


@click.group("x402")
def command() -> None:
    """Payments by x402: pay within a budget, look at what was paid and sold, run a facilitator."""


@command.command("facilitator")
@click.option("--url", help="The cluster's JSON-RPC. Without it: a chain in this process, with play money, at /rpc.")
@click.option("--wallet", type=_WALLET, multiple=True, help="A fee payer's key file; may be repeated.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8402, show_default=True, type=click.IntRange(1, 65535))
@_database_option
def facilitator(url: str | None, wallet: tuple[Path, ...], host: str, port: int, database: str | None) -> None:
    """Serve /verify, /settle, /supported and /discovery for one cluster, paying fees with the wallets given."""
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.bridge.app import serve_app
    from mcpsol_py.client.keys import open_keypair
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.exact.settle import KeypairSponsor
    from mcpsol_py.x402.facilitator_app import channel_desks, facilitator_app, make_facilitator
    from mcpsol_py.x402.store.catalog import Catalog
    from mcpsol_py.x402.store.channels import SponsoredChannels
    from mcpsol_py.x402.store.database import Database
    from mcpsol_py.x402.store.settlements import SqlSettlements
    from mcpsol_py.x402.worker import Jobs, Worker, add_vouchers

    keys = [open_keypair(file, passphrase(file)) for file in wallet]
    routes: dict[str, Any] = {}
    with report.progress("reading the cluster"):
        if url is not None:
            if not keys:
                raise click.UsageError("--wallet: somebody must pay the fees on a cluster")
            chain, kept = _chain(url), _open(database)
        else:
            chain, rpc, sponsor = _own_chain(host, port)
            keys, kept = keys or [sponsor], Database(database or "sqlite://")
            routes["/rpc"] = rpc
        sponsors, settlements, sponsored = KeypairSponsor(*keys), SqlSettlements(kept), SponsoredChannels(kept)
        desks = channel_desks(chain, sponsors, settlements, sponsored, OURS)
        core = make_facilitator(chain, sponsors, settlements, desks=desks)
    payers = ", ".join(str(key.pubkey()) for key in keys)
    report.note(f"facilitator on http://{host}:{port} for {chain.network}, paying with {payers}")
    if routes:
        report.note(f"its chain's JSON-RPC: http://{host}:{port}/rpc; @alice has 1 USDC of play money there")
    app = _beside(facilitator_app(core, catalog=Catalog(kept)), routes)
    jobs = Jobs()
    add_vouchers(jobs, tidying=[(desk, sponsored) for desk in desks])

    async def serve() -> None:
        stop = asyncio.Event()
        working = asyncio.create_task(Worker(kept, jobs).run(stop))
        try:
            await serve_app(app, host, port)
        finally:
            stop.set()
            await working

    asyncio.run(serve())


def _beside(app: Any, routes: dict[str, Any]) -> Any:
    """*app*, and other apps at the paths of *routes*."""

    async def chosen(scope: Any, receive: Any, send: Any) -> None:
        await routes.get(scope.get("path"), app)(scope, receive, send)

    return chosen


def _own_chain(host: str, port: int) -> tuple[Any, Any, Keypair]:
    """(a LiteSVM with the demo's money, the app of its JSON-RPC, a sponsor with SOL)."""
    from idl2mcp.inputs import bundled_programs
    from idl2mcp.local import LocalCluster
    from idl2mcp.selling import DEMO_PAYMENTS_SETUP
    from mcpsol_py.client.svm_rpc import SvmNode, rpc_app
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.networks import LOCAL
    from mcpsol_py.x402.svm_chain import SvmChain

    cluster = LocalCluster()
    cluster.apply(DEMO_PAYMENTS_SETUP)
    cluster.add_program((bundled_programs()["x402"] / "x402.so").read_bytes(), OURS.program_id, "x402")
    hosts = {f"{name}:{port}" for name in (host, "127.0.0.1", "localhost")}
    rpc = rpc_app(SvmNode(cluster.transport, airdrops=True), hosts)
    return SvmChain(cluster.transport, network=LOCAL), rpc, cluster.wallet("sponsor")


@command.command("pay")
@click.argument("resource", metavar="URL")
@click.argument("tool", required=False)
@click.option("--args", "arguments", default="{}", metavar="JSON", help="The tool's arguments, as an object.")
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
@click.option("--deposit", metavar="PRICE", help="Pay by vouchers where they are taken; the most a channel may lock.")
@click.option("--id", "payment_id", metavar="ID", help="Names this call: the same id again never pays twice.")
@click.option("--method", default="GET", show_default=True)
@_database_option
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
    """Get URL, or call TOOL of the MCP server at URL, and pay what it asks, at most --max.

    Prints the answer; with --json also the receipt. The same --id again gets the same answer, and is not charged again.
    """
    from x402 import x402Client

    from idl2mcp.inputs import json_object
    from mcpsol_py.x402.budget import Budget, Limit, Limits
    from mcpsol_py.x402.channels.batch_client import BatchClient, deposits
    from mcpsol_py.x402.channels.program import OURS
    from mcpsol_py.x402.exact.mechanism import ExactClient, ExactClientV1
    from mcpsol_py.x402.networks import v1_name
    from mcpsol_py.x402.paying import Payer, cheapest, vouchers_first
    from mcpsol_py.x402.store.wallet_channels import WalletChannels

    given = json_object(arguments, "--args")
    chain = _chain(url)
    keypair = _payer(wallet, chain.network)
    cap = _price(most, chain.network)
    day = _price(per_day, chain.network) if per_day is not None else None
    if day is not None and day.mint != cap.mint:
        raise click.BadParameter("another token than --max: it would limit nothing", param_hint="--per-day")
    limit = Limit(per_payment=cap.amount, per_day=day.amount if day is not None else None)
    opened = _open(database)
    budget = Budget(opened, str(keypair.pubkey()), Limits({cap.mint: limit}), session="command line")
    signer = x402Client()
    signer.register(chain.network, ExactClient(keypair, chain))
    old_name = v1_name(chain.network)
    if old_name is not None:
        signer.register_v1(old_name, ExactClientV1(keypair, chain))

    select = cheapest
    if deposit is not None:
        locked = _price(deposit, chain.network)
        kept = WalletChannels(opened, str(keypair.pubkey()))
        policy = deposits({locked.mint: locked.amount})
        signer.register(chain.network, BatchClient(keypair, chain, OURS, kept, deposit=policy))
        select = vouchers_first
    payer = Payer(signer, budget, select=select)
    with report.progress("paying"):
        asyncio.run(_reconcile(budget, chain))
        if tool is None:
            done = asyncio.run(_get(payer, method, resource, payment_id))
        else:
            done = asyncio.run(_call(payer, resource, tool, given, payment_id))
    receipt = done.receipt.model_dump(by_alias=True, exclude_none=True, mode="json") if done.receipt else None
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
        said = "not charged again: paid before" if done.repeated else f"paid {_shown(done, chain.network)}"
        report.note(f"{said}, as {receipt.get('transaction')} (payment {done.payment_id})")
    report.emit(document, str(answer["body"]), as_json=as_json)
    if answer.get("isError"):
        raise SystemExit(1)


def _shown(done: Bought[Any], network: str) -> str:
    from mcpsol_py.x402.price import format_amount

    return format_amount(done.amount, network, str(done.asset))


def _payer(wallet: str, network: str) -> Keypair:
    """The key of --wallet. "@name" stands for the play-money wallet of that name, on a local cluster alone."""
    from idl2mcp.local import is_local_name
    from idl2mcp.local import wallet as local_wallet
    from idl2mcp.passphrases import passphrase
    from mcpsol_py.client.keys import open_keypair
    from mcpsol_py.x402.networks import LOCAL

    if not wallet.startswith("@"):
        path = Path(wallet)
        return open_keypair(path, passphrase(path))
    if network != LOCAL or not is_local_name(wallet):
        raise click.BadParameter(f"{wallet}: such names stand for wallets of a local cluster", param_hint="--wallet")
    return local_wallet(wallet[1:])


async def _reconcile(budget: Budget, chain: Any) -> None:
    """What earlier calls hold of the budget is given back once it cannot be taken any more."""
    from mcpsol_py.x402.chain import ChainUnavailable
    from mcpsol_py.x402.paying import reconcile

    try:
        await reconcile(budget, chain)
    except ChainUnavailable:  # then it stays held
        pass


async def _get(payer: Payer, method: str, resource: str, payment_id: str | None) -> Bought[Any]:
    import httpx

    from mcpsol_py.x402.http_buyer import HttpBuyer

    async with httpx.AsyncClient(timeout=60) as client:
        return await HttpBuyer(client, payer).request(method, resource, payment_id=payment_id)


async def _call(payer: Payer, server: str, tool: str, arguments: dict[str, Any], payment_id: str | None) -> Bought[Any]:
    from mcpsol_py.x402.buyer import Buyer, connected

    return await connected(server, lambda c: Buyer(c, payer).call_tool(tool, arguments, payment_id=payment_id))


def _answer(result: Any) -> dict[str, Any]:
    """What came back: of an HTTP response, or of a tool's call."""
    if hasattr(result, "status_code"):
        return {"status": result.status_code, "body": result.text}
    body = result.model_dump(by_alias=True, exclude_none=True, mode="json")
    texts = [block.get("text", "") for block in body.get("content") or []]
    return {"isError": bool(body.get("isError")), "body": "\n".join(texts), "result": body.get("structuredContent")}


@command.command("wallet")
@click.argument("config", type=click.Path(dir_okay=False, exists=True, path_type=Path))
def wallet_command(config: Path) -> None:
    """Serve an agent's wallet as MCP tools on stdio: set up, delegation, pay, balance, history, discover, estimate.

    CONFIG is a TOML file: keystore, cluster, limits by token, whose accounts it may spend from, whom it may pay.
    """
    from contextlib import ExitStack

    from mcp.server import Server

    from idl2mcp.purse import open_purse
    from mcpsol_py.bridge.server import run_stdio
    from mcpsol_py.telemetry import logs

    logs.set_up("text", "warning")
    with ExitStack() as opened:
        tools = open_purse(config, opened)
        server: Server[Any] = Server("idl2mcp wallet", title="An agent's wallet (x402)", on_list_tools=_no_tools)
        server.middleware.append(tools)
        report.note("an agent's wallet on stdio; x402_setup_agent makes its key if it has none")
        asyncio.run(run_stdio(server))


async def _no_tools(_ctx: Any, _params: Any) -> Any:
    import mcp_types as types

    return types.ListToolsResult(tools=[])


@command.command("history")
@click.option("--wallet", "address", required=True, metavar="ADDRESS", help="Whose payments.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@_database_option
@report.json_option
def history(address: str, limit: int, database: str | None, as_json: bool) -> None:
    """What a wallet paid, newest first."""
    from datetime import UTC, datetime

    from mcpsol_py.x402.budget import Budget, Limits
    from mcpsol_py.x402.price import format_amount

    budget: Budget = Budget(_open(database), address, Limits({}), session="history")
    rows = [
        {
            "time": datetime.fromtimestamp(row.created_ms / 1000, UTC).isoformat(timespec="seconds"),
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
        {"wallet": address, "payments": rows}, lines if rows else f"{address} has paid nothing", as_json=as_json
    )


@command.command("sales")
@click.option("--merchant", default="default", show_default=True, help="Whose sales, where a database has several.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@_sales_option
@report.json_option
def sales(merchant: str, limit: int, database: str, as_json: bool) -> None:
    """What was sold, newest first: each paid call with its state."""
    from datetime import UTC, datetime

    from mcpsol_py.x402.price import format_amount
    from mcpsol_py.x402.store.executions import Executions

    rows = [
        {
            "time": datetime.fromtimestamp(row.created_ms / 1000, UTC).isoformat(timespec="seconds"),
            "state": row.state,
            "amount": None if row.amount is None else str(row.amount),
            "asset": row.asset,
            "network": row.network,
            "payer": row.payer,
            "resource": row.resource,
            "paymentId": row.payment_id,
            "signature": (row.receipt or {}).get("transaction"),
        }
        for row in Executions(_open(database), merchant).history(limit)
    ]
    head = ["time", "state", "amount", "for", "payment"]
    lines = [
        [
            str(r["time"]),
            str(r["state"]),
            format_amount(int(str(r["amount"])), str(r["network"]), str(r["asset"])) if r["amount"] else "",
            str(r["resource"]),
            str(r["paymentId"]),
        ]
        for r in rows
    ]
    text = report.table([head, *lines]) if rows else f"{merchant} has sold nothing"
    report.emit({"merchant": merchant, "sales": rows}, text, as_json=as_json)


@command.command("decide")
@click.argument("payment_id", metavar="PAYMENT")
@click.argument("outcome", type=click.Choice(["done", "again"]))
@click.option("--merchant", default="default", show_default=True, help="Whose sale it is.")
@_sales_option
def decide(payment_id: str, outcome: str, merchant: str, database: str) -> None:
    """Say what became of a call whose outcome is unknown, since the server stopped while it ran.

    done: it did its work. again: it did not, and the next request with the same payment runs it; nothing is charged
    twice.
    """
    from mcpsol_py.errors import PaymentError
    from mcpsol_py.x402.store.executions import Executions

    executions = Executions(_open(database), merchant)
    if not executions.decide(payment_id, "done" if outcome == "done" else "again"):
        found = executions.get(payment_id)
        why = "there is no such payment" if found is None else f'it is "{found.state}", not "unknown"'
        raise PaymentError("nothing_to_decide", f"{payment_id}: {why}; `idl2mcp x402 sales` lists what there is")
    report.note(f"{payment_id}: {outcome}")


command.add_command(subscriptions)
command.add_command(webhooks)


@command.command("worker")
@click.option("--url", help="The cluster's JSON-RPC. Without it only events are delivered.")
@click.option("--wallet", type=_WALLET, help="The collector's key file: it signs the charges of subscriptions.")
@click.option("--merchant", multiple=True, default=("default",), show_default=True, help="Whose; may be repeated.")
@click.option("--once", is_flag=True, help="Run each job once, and end.")
@click.option(
    "--queue", metavar="URL", help="procrastinate's PostgreSQL (default: --database, where it is PostgreSQL)."
)
@_sales_option
@report.json_option
def worker(
    url: str | None,
    wallet: Path | None,
    merchant: tuple[str, ...],
    once: bool,
    queue: str | None,
    database: str,
    as_json: bool,
) -> None:
    """Charge due subscriptions, deliver events, and bring what is pending to its end by what the chain says.

    Any number of workers may run at once. On PostgreSQL procrastinate's queue hands out the turns, on SQLite the
    database does.
    """
    from idl2mcp.passphrases import passphrase
    from idl2mcp.working import run_worker
    from mcpsol_py.client.keys import open_keypair

    key = None if wallet is None else open_keypair(wallet, passphrase(wallet))
    kept = _open(database)
    chain = None if url is None else _chain(url)
    at = queue or (None if kept.is_sqlite else database)
    if not once:
        report.note(f"worker for {', '.join(merchant)}" + ("" if key is None else f", collecting as {key.pubkey()}"))
    try:
        done = asyncio.run(run_worker(kept, chain, key, merchant, once=once, queue=at))
    finally:
        kept.close()
        if chain is not None:
            chain.close()
    if once:
        text = report.table([["job", "done"], *([name, str(count)] for name, count in done.items())])
        report.emit({"done": done}, text, as_json=as_json)


def _price(text: str, network: str) -> Any:
    """A price as people write it, or as JSON ({"amount": base units, "asset": mint}) for tokens without a symbol
    here.
    """
    import orjson

    from mcpsol_py.x402.price import parse_price

    if not text.lstrip().startswith("{"):
        return parse_price(text, network)
    try:
        return parse_price(orjson.loads(text), network)
    except orjson.JSONDecodeError as error:
        raise click.BadParameter(f"{text!r} is neither a price nor JSON", param_hint="--max") from error


def _chain(url: str) -> Any:
    """Closed when the command ends."""
    from idl2mcp.inputs import payment_chain

    chain = payment_chain(url)
    click.get_current_context().call_on_close(chain.close)
    return chain


def _open(url: str | None) -> Any:
    from mcpsol_py.x402.store.database import Database

    if url is None:
        path = _HOME.expanduser()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        url = f"sqlite:///{path}"
    return Database(url)
