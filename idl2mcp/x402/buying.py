"""`idl2mcp x402 pay`, `history` and `wallet`: the side that pays."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.server_options import Wanted, server_options, set_up_telemetry
from idl2mcp.x402.csv_output import csv_text
from idl2mcp.x402.storage import (
    database_option,
    open_chain,
    open_database,
    open_existing_database,
    open_wallet,
)
from idl2mcp.x402.times import span_ms, span_options
from mcpsol_py.items import without_nulls

if TYPE_CHECKING:
    from solders.keypair import Keypair

    from mcpsol_py.x402.buying.budget import Budget, SpendingLimit
    from mcpsol_py.x402.buying.outcomes import Bought
    from mcpsol_py.x402.buying.purchases import Purchase, Purchased, PurchaseOptions
    from mcpsol_py.x402.chain.payment_chain import PaymentChain
    from mcpsol_py.x402.protocol.price import Price

__all__ = ["history", "pay", "wallet"]


@click.command("pay")
@click.argument("url", metavar="URL")
@click.argument("tool", required=False)
@click.option(
    "--resource", metavar="URI", help="Read this resource of the MCP server at URL."
)
@click.option(
    "--prompt", metavar="NAME", help="Get this prompt of the MCP server at URL."
)
@click.option(
    "--args",
    "arguments",
    metavar="JSON",
    help="The arguments of the tool or prompt, as an object.",
)
@click.option("--method", help="The HTTP method (default: GET, or POST with a body).")
@click.option(
    "-H",
    "--header",
    "headers",
    multiple=True,
    metavar="NAME:VALUE",
    help="May be repeated.",
)
@click.option(
    "--body",
    metavar="TEXT",
    help="The HTTP request's body: text, @file, or - for stdin.",
)
@click.option("--json-body", metavar="JSON", help="The HTTP request's body as JSON.")
@click.option(
    "--form",
    multiple=True,
    metavar="NAME=VALUE",
    help="A field of the HTTP request's body, sent as a form. May be repeated.",
)
@click.option(
    "--url", "cluster", required=True, metavar="CLUSTER", help="The cluster's JSON-RPC."
)
@click.option(
    "--wallet",
    "wallet_file",
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
@click.option(
    "--per-day", metavar="PRICE", help="The most that this wallet may spend a day."
)
@click.option(
    "--deposit",
    metavar="PRICE",
    help="Pay by vouchers where they are taken; the most that channels may lock together.",
)
@click.option(
    "--domain",
    metavar="DOMAIN",
    help="The domain that the seller's subscribers sign for, if it is not URL's host.",
)
@click.option(
    "--id",
    "payment_id",
    metavar="ID",
    help="Names this call: the same id again never pays twice.",
)
@database_option
@report.json_option
def pay(**given: Any) -> None:
    """Get URL, or call TOOL of the MCP server at URL, and pay its price, at most --max.

    Prints the answer; with --json also the receipt. The same --id again gets the same answer, and is not charged again.
    """
    _pay(_PayOptions(**given))


@dataclass(frozen=True, slots=True)
class _PayOptions:
    """The options of `pay`, as click parsed them."""

    url: str
    tool: str | None
    resource: str | None
    prompt: str | None
    arguments: str | None
    method: str | None
    headers: tuple[str, ...]
    body: str | None
    json_body: str | None
    form: tuple[str, ...]
    cluster: str
    wallet_file: str
    most: str
    per_day: str | None
    deposit: str | None
    domain: str | None
    payment_id: str | None
    database: str | None
    as_json: bool

    def purchase(self) -> Purchase:
        """What to buy. Raises SourceError, PaymentError."""
        from idl2mcp.json_input import json_object, json_value, text_value
        from mcpsol_py.x402.buying.purchases import purchase

        given: dict[str, Any] = {
            "url": self.url,
            "tool": self.tool,
            "resource": self.resource,
            "prompt": self.prompt,
            "arguments": self.arguments and json_object(self.arguments, "--args"),
            "method": self.method,
            "headers": _pairs(self.headers, ":", "--header"),
            "body": self.body and text_value(self.body, "--body"),
            "form": _pairs(self.form, "=", "--form"),
        }
        given = without_nulls(given)
        if self.json_body is not None:
            given["json"] = json_value(self.json_body, "--json-body")
        return purchase(given)

    def limit(self, network: str) -> tuple[str, SpendingLimit]:
        """The token of --max, and the limits for it."""
        from mcpsol_py.x402.buying.budget import SpendingLimit

        cap = _price(self.most, network, "--max")
        day = (
            _price(self.per_day, network, "--per-day")
            if self.per_day is not None
            else None
        )
        if day is not None and day.mint != cap.mint:
            raise click.BadParameter(
                "another token than --max: it would limit nothing",
                param_hint="--per-day",
            )
        return cap.mint, SpendingLimit(
            cap.amount, per_day=day.amount if day is not None else None
        )


def _pairs(texts: Sequence[str], separator: str, option: str) -> dict[str, Any] | None:
    """Read NAME:VALUE or NAME=VALUE. A name that repeats has a list of values."""
    found: dict[str, Any] = {}
    for text in texts:
        name, separated, value = text.partition(separator)
        if not separated:
            raise click.BadParameter(
                f"expected NAME{separator}VALUE", param_hint=option
            )
        found.setdefault(name.strip(), []).append(
            value.strip() if separator == ":" else value
        )
    return {name: v[0] if len(v) == 1 else v for name, v in found.items()} or None


def _pay(options: _PayOptions) -> None:
    from mcpsol_py.errors import TransportError
    from mcpsol_py.x402.buying.budget import Budget, SpendingLimits
    from mcpsol_py.x402.buying.purchases import buy
    from mcpsol_py.x402.buying.wallet import wallet_payer
    from mcpsol_py.x402.chain.payment_chain import ChainUnavailable

    wanted = options.purchase()
    chain = open_chain(options.cluster)
    keypair = open_wallet(options.wallet_file, chain)
    mint, limit = options.limit(chain.network)
    opened = open_database(options.database)
    budget = Budget(
        opened,
        str(keypair.pubkey()),
        SpendingLimits({mint: limit}),
        session="command line",
    )
    lock = (
        _price(options.deposit, chain.network, "--deposit") if options.deposit else None
    )
    locks = {} if lock is None else {lock.mint: lock.amount}
    payer = wallet_payer(keypair, chain, budget, opened, locks=locks)
    with report.progress("paying"):
        asyncio.run(_reconcile(budget, chain))
        try:
            done = asyncio.run(buy(wanted, payer, _purchase_options(options, keypair)))
        except ChainUnavailable as error:
            raise TransportError("the cluster", str(error)) from error
    _report(done, chain.network, as_json=options.as_json)


def _purchase_options(options: _PayOptions, keypair: Keypair) -> PurchaseOptions:
    import httpx

    from mcpsol_py.client.bounded import NO_PROXY_HERE
    from mcpsol_py.x402.buying.purchases import PurchaseOptions, seller_domains
    from mcpsol_py.x402.subscriptions.subscriber import Subscriber

    domains = seller_domains(
        options.url, {"*": options.domain} if options.domain else {}
    )
    return PurchaseOptions(
        lambda: httpx.AsyncClient(timeout=60, mounts=NO_PROXY_HERE),
        subscriber=Subscriber(keypair, domains, refuse_others=True),
        payment_id=options.payment_id,
    )


def _report(done: Purchased, network: str, *, as_json: bool) -> None:
    """Print the answer, and leave with an exit code other than 0 if it is not a success."""
    from mcpsol_py.x402.buying.purchases import cost_of, is_unconfirmed

    bought = done.bought
    if done.is_of_mcp and bought.receipt is None:
        raise click.UsageError(f"{done.failure}: idl2mcp x402 pay URL TOOL")
    receipt = None
    if bought.receipt is not None:
        receipt = bought.receipt.model_dump(
            by_alias=True, exclude_none=True, mode="json"
        )
        report.note(_receipt_note(bought, network))
    elif done.failure is None and is_unconfirmed(bought):
        report.note(cost_of(bought))
    document = {
        **_answer(done),
        "paid": str(bought.amount),
        "asset": bought.asset,
        "paymentId": bought.payment_id,
        "repeated": bought.repeated,
        "receipt": receipt,
    }
    report.emit(document, done.text, as_json=as_json)
    if done.failure is not None:
        report.note(f"Error: {done.failure}; {cost_of(bought)}")
        code = report.INPUT if (done.status or 0) < 500 else report.CHAIN
        click.get_current_context().exit(code)


def _shown(done: Bought[Any], network: str) -> str:
    from mcpsol_py.x402.protocol.price import format_amount

    return format_amount(done.amount, network, str(done.asset))


async def _reconcile(budget: Budget, chain: PaymentChain) -> None:
    """What earlier calls hold of the budget is given back once it cannot be taken any more."""
    from mcpsol_py.x402.buying.paying import reconcile
    from mcpsol_py.x402.chain.payment_chain import ChainUnavailable

    try:
        await reconcile(budget, chain)
    except ChainUnavailable:  # then it stays held
        pass


def _receipt_note(bought: Bought[Any], network: str) -> str:
    from mcpsol_py.x402.buying.purchases import subscription_of

    granted = subscription_of(bought)
    if granted is not None:
        used = f"{granted.get('used')} of {granted.get('quota', 'any number of')} calls"
        return f"granted by the subscription {granted.get('id')} ({used}); nothing was paid"
    said = "not charged again: paid before"
    if not bought.repeated:
        said = f"paid {_shown(bought, network)}"
    transaction = bought.receipt.transaction if bought.receipt is not None else ""
    return f"{said}, as {transaction} (payment {bought.payment_id})"


def _answer(done: Purchased) -> dict[str, Any]:
    """The answer of an HTTP server, or the result of an MCP request."""
    if done.status is not None:
        cut = {"cut": True} if done.cut else {}  # the body was longer than is kept
        return {"status": done.status, "body": done.text, **cut}
    result = done.body.get("structuredContent") if "content" in done.body else done.body
    return {"isError": done.failure is not None, "body": done.text, "result": result}


@click.command("history")
@click.option(
    "--wallet",
    required=True,
    metavar="ADDRESS",
    help='Whose payments: an address, or "@alice" of a local cluster.',
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000))
@click.option("--after", metavar="PAGE", help="The next page: what the last one named.")
@click.option("--state", type=click.Choice(["reserved", "signed", "spent", "released"]))
@click.option("--host", help="Only payments for this host.")
@click.option("--tool", help="Only payments for this MCP tool.")
@click.option("--token", metavar="SYMBOL|MINT", help="Only payments of this token.")
@span_options
@click.option("--by-day", is_flag=True, help="Totals by day (UTC) and token.")
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV.")
@database_option
@report.json_option
def history(
    wallet: str,
    limit: int,
    after: str | None,
    state: str | None,
    host: str | None,
    tool: str | None,
    token: str | None,
    since: datetime | None,
    until: datetime | None,
    by_day: bool,
    as_csv: bool,
    database: str | None,
    as_json: bool,
) -> None:
    """What a wallet paid, newest first. Or, with --by-day, the totals."""
    from idl2mcp.inputs import address as parsed
    from idl2mcp.local_cluster import is_local_name
    from idl2mcp.local_cluster import wallet as local_wallet
    from mcpsol_py.x402.buying.history import (
        History,
        HistoryFilter,
        day_row,
        history_row,
    )

    if as_csv and as_json:
        raise click.UsageError("--csv and --json: expected one of them")
    address = str(
        local_wallet(wallet[1:]).pubkey()
        if is_local_name(wallet)
        else parsed(wallet, "--wallet")
    )
    kept = History(open_existing_database(database), address)
    where = HistoryFilter(state, host, tool, token, **span_ms(since, until))
    document: dict[str, Any] = {"wallet": address}
    if by_day:
        rows = document["days"] = [day_row(day) for day in kept.days(where=where)]
        columns = _DAY_COLUMNS
    else:
        page = kept.page(limit, where=where, after=after)
        rows = document["payments"] = [history_row(row) for row in page.rows]
        columns = _PAYMENT_COLUMNS
        if page.after is not None:
            document["after"] = page.after
            report.note(f"there are more: --after {page.after}")
    if as_csv:
        report.emit(
            None, csv_text(rows, list(rows[0]) if rows else columns), as_json=False
        )
        return
    cells = [[str(row[name]) for name in columns] for row in rows]
    text = (
        report.table([list(columns), *cells]) if rows else f"{address} has paid nothing"
    )
    report.emit(document, text, as_json=as_json)


#: The fields that people see. CSV and JSON have all.
_PAYMENT_COLUMNS: Sequence[str] = (
    "time",
    "state",
    "shown",
    "host",
    "payTo",
    "resource",
)
_DAY_COLUMNS: Sequence[str] = ("day", "payments", "shown", "pending", "asset")


@click.command("wallet")
@click.argument("config", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http"]),
    default="stdio",
    show_default=True,
)
@click.option("--host", help="For --transport http (default: 127.0.0.1).")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="For --transport http (default: 8765).",
)
@server_options
def wallet(
    config: Path,
    transport: str,
    host: str | None,
    port: int | None,
    log_format: str,
    log_level: str | None,
    traces: str | None,
    wanted: Wanted | None,
) -> None:
    """Serve an agent's wallet as MCP tools: set up, delegation, pay, balance, history, discover, estimate.

    CONFIG is a TOML file: keystore, cluster, limits by token, whose accounts it may spend from, whom it may pay.
    """
    from contextlib import ExitStack

    from mcp.server import Server

    from idl2mcp.config.agent_wallet import open_agent_wallet, wallet_http
    from mcpsol_py.bridge.http import taken_ports
    from mcpsol_py.bridge.http.app import run_owner_app
    from mcpsol_py.bridge.mcp import run_stdio

    settings = wallet_http(config, host, port) if transport == "http" else None
    if wanted is not None:
        secrets = ("IDL2MCP_PASSPHRASE", "IDL2MCP_WEBHOOK_SECRET")
        wanted.give(settings, secrets, default_name="idl2mcp-wallet")
        return
    set_up_telemetry(log_format, log_level, traces)
    with ExitStack() as opened:
        sockets = None
        if settings is not None:
            sockets = opened.enter_context(taken_ports(settings.host, settings.port))
        tools = open_agent_wallet(config, opened)
        server: Server[Any] = Server(
            "idl2mcp wallet", title="An agent's wallet (x402)", on_list_tools=_no_tools
        )
        server.middleware.append(tools)
        place = "stdio" if settings is None else settings.url
        report.note(
            f"an agent's wallet on {place}; x402_setup_agent makes its key if it has none"
        )
        if settings is None:
            asyncio.run(run_stdio(server))
        else:
            asyncio.run(run_owner_app(server, settings, sockets))


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
