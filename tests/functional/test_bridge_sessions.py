"""What a bridge tells its clients by itself, in both protocol eras: accounts that changed, how far a send is, log
messages; and what a cancelled call leaves.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning
from solders.pubkey import Pubkey
from solders.signature import Signature

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py.bridge.mcp import sessions
from mcpsol_py.bridge.mcp.progress import LOG_LEVELS, CallProgress, run_to_completion
from mcpsol_py.bridge.mcp.server import make_server
from tests.functional.bridges import bridge, cluster
from tests.functional.cli import Cli
from tests.support.http_bridge import http_server
from tests.support.policy_scene import Scene, broken, no, scene, transfer, yes

ERAS = ["auto", "legacy"]


async def until(true: Callable[[], Any], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)


def uri(local: LocalCluster, name: str) -> str:
    return f"solana://token/accounts/{local.names[name]}"


def touch(local: LocalCluster, name: str) -> None:
    """Changes an account."""
    address = Pubkey.from_string(local.names[name])
    account = local.svm.get_account(address)
    assert account is not None
    changed = type(account)(account.lamports + 1, bytes(account.data), account.owner)
    local.transport.set_account(address, changed)


async def subscribe(client: Client, *uris: str) -> None:
    """As clients of the handshake era do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        for one in uris:
            await client.subscribe_resource(one)


async def unsubscribe(client: Client, one: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        await client.unsubscribe_resource(one)


async def want(client: Client, era: str, *uris: str) -> None:
    """Asks to be told of resources, as the era does it."""
    if era == "legacy":
        await subscribe(client, *uris)
    else:
        async with client.listen(resource_subscriptions=list(uris)):
            pass


async def speak_up(client: Client, era: str) -> None:
    """A client of the handshake era hears of the steps, too; one of the new era said so when it was made."""
    if era == "legacy":
        with pytest.warns(MCPDeprecationWarning):
            await client.set_logging_level("info")


class Heard:
    """What a client of the handshake era is told by itself."""

    def __init__(self) -> None:
        self.uris: list[str] = []

    async def __call__(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            self.uris.append(message.params.uri)


# --- account subscriptions --------------------------------------------------------------------------------------------


async def test_a_stream_of_the_new_era_tells_of_the_accounts_it_asked_for() -> None:
    local = cluster()
    served = bridge(local)
    async with Client(make_server(served)) as client:
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.subscribe
        async with client.listen(
            resource_subscriptions=[uri(local, "alice_usdc")]
        ) as events:
            await asyncio.sleep(0)
            touch(local, "bob_usdc")
            touch(local, "alice_usdc")
            async with asyncio.timeout(20):
                assert await anext(aiter(events)) == ResourceUpdated(
                    uri(local, "alice_usdc")
                )
            watch = served.watch(local.transport)
            assert len(watch) == 1
        await until(lambda: len(watch) == 0)  # the stream has ended
    assert local.transport.on_change == []


async def test_a_session_of_the_handshake_era_subscribes_and_unsubscribes() -> None:
    local, heard = cluster(), Heard()
    served = bridge(local)
    watch = served.watch(local.transport)
    mine, other = uri(local, "alice_usdc"), uri(local, "bob_usdc")
    async with Client(
        make_server(served), mode="legacy", message_handler=heard
    ) as client:
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.resources.subscribe
        await subscribe(client, mine, mine, other)
        assert len(watch) == 2
        touch(local, "alice_usdc")
        await until(lambda: heard.uris == [mine])
        read = await client.read_resource(mine)
        assert read.contents
        await unsubscribe(client, mine)
        await unsubscribe(client, mine)
        touch(local, "alice_usdc")
        touch(local, "bob_usdc")
        await until(lambda: other in heard.uris)
        assert heard.uris == [mine, other]
        assert len(watch) == 1
    assert len(watch) == 0  # the session has ended


async def test_an_account_that_a_send_changes_is_told() -> None:
    s, heard = scene(), Heard()
    async with Client(
        make_server(s.bridge), mode="legacy", message_handler=heard
    ) as client:
        await subscribe(client, uri(s.local, "bob_usdc"))
        assert not (await client.call_tool(*transfer(5))).is_error
        await until(lambda: heard.uris == [uri(s.local, "bob_usdc")])


async def test_two_sessions_are_told_apart() -> None:
    local, first, second = cluster(), Heard(), Heard()
    server = make_server(bridge(local))
    async with (
        Client(server, mode="legacy", message_handler=first) as a,
        Client(server, mode="legacy", message_handler=second) as b,
    ):
        await subscribe(a, uri(local, "alice_usdc"))
        await subscribe(b, uri(local, "alice_usdc"), uri(local, "bob_usdc"))
        touch(local, "bob_usdc")
        await until(lambda: second.uris)
        await unsubscribe(b, uri(local, "alice_usdc"))
        touch(local, "alice_usdc")
        await until(lambda: first.uris)
        assert (first.uris, second.uris) == (
            [uri(local, "alice_usdc")],
            [uri(local, "bob_usdc")],
        )


@pytest.mark.parametrize("era", ERAS)
async def test_subscriptions_are_bounded(
    era: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_SUBSCRIPTIONS", 3)
    local = cluster()
    served = bridge(local)
    many = [f"solana://token/accounts/{Pubkey(bytes([n + 1] * 32))}" for n in range(4)]
    async with Client(make_server(served), mode=era) as client:
        with pytest.raises(MCPError, match="at most 3"):
            await want(client, era, *many)
        assert len(served.watch(local.transport)) == (3 if era == "legacy" else 0)
        monkeypatch.setattr(sessions, "MAX_WATCHED", 3)
        if era == "legacy":
            async with Client(make_server(served), mode=era) as other:
                await subscribe(other, many[0])  # another server has a bound of its own


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "bad",
    [
        "solana://token/accounts/nonsense",
        "solana://nobody/idl",
        "file:///etc/passwd",
        "solana://token/what",
        "x",
    ],
)
async def test_what_is_no_resource_cannot_be_subscribed(era: Any, bad: str) -> None:
    local = cluster()
    served = bridge(local)
    async with Client(make_server(served), mode=era) as client:
        with pytest.raises(MCPError):
            await want(
                client,
                era,
                *([] if era == "legacy" else [uri(local, "alice_usdc")]),
                bad,
            )
        await until(lambda: len(served.watch(local.transport)) == 0)


# --- progress and log messages ----------------------------------------------------------------------------------------


class Told:
    """Progress and log messages of a client."""

    def __init__(self) -> None:
        self.steps: list[tuple[float, float | None, str | None]] = []
        self.logs: list[tuple[str, dict[str, Any]]] = []

    async def progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        self.steps.append((progress, total, message))

    async def log(self, params: Any) -> None:
        self.logs.append((params.level, params.data))


SENT = ["built", "simulated", "signed", "sent", "confirmed"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_send_tells_its_steps(era: Any) -> None:
    s, told = scene(), Told()
    async with Client(
        make_server(s.bridge), mode=era, logging_callback=told.log, log_level="info"
    ) as client:
        await speak_up(client, era)
        result = await client.call_tool(*transfer(5), progress_callback=told.progress)
        assert not result.is_error
        await until(lambda: len(told.steps) == len(told.logs) == 5)
    assert told.steps == [(n + 1, 5, step) for n, step in enumerate(SENT)]
    assert [data["event"] for _, data in told.logs] == SENT
    assert told.logs[-1][1]["signature"] == result.structured_content["signature"]
    assert told.logs[0][1]["tool"] == "token_transfer"


@pytest.mark.parametrize("era", ERAS)
async def test_a_build_tells_its_two_steps_and_nothing_to_who_did_not_ask(
    era: Any,
) -> None:
    told = Told()
    accounts = {
        "source": "@alice_usdc",
        "destination": "@bob_usdc",
        "authority": "@alice",
    }
    async with Client(
        make_server(bridge()), mode=era, logging_callback=told.log
    ) as client:
        await client.call_tool("transfer", {"amount": "5", "accounts": accounts})
        assert told.steps == []
        assert told.logs == []
        await client.call_tool(
            "transfer",
            {"amount": "5", "accounts": accounts},
            progress_callback=told.progress,
        )
        await until(lambda: len(told.steps) == 2)
    assert told.steps == [(1, 2, "built"), (2, 2, "simulated")]


async def test_progress_grows_although_a_person_is_asked_in_between() -> None:
    s, told = scene(), Told()

    class ProgressListener:
        async def progress(self, done: int, total: int, message: str) -> None:
            await told.progress(done, total, message)

        async def log(self, level: str, data: dict[str, Any]) -> None:
            """Not looked at."""

    assert not (
        await s.bridge.call(*transfer(400_000), yes, ProgressListener())
    ).is_error
    assert [step for _, _, step in told.steps] == SENT


async def test_logging_set_level_holds_for_its_session() -> None:
    s, loud, quiet = scene(), Told(), Told()
    server = make_server(s.bridge)
    async with (
        Client(server, mode="legacy", logging_callback=loud.log) as a,
        Client(server, mode="legacy", logging_callback=quiet.log) as b,
    ):
        assert a.server_capabilities.logging is not None
        await speak_up(a, "legacy")
        for client in (a, b):
            assert not (await client.call_tool(*transfer(5))).is_error
            assert (await client.call_tool(*transfer(500_001))).is_error
        await until(lambda: quiet.logs and len(loud.logs) >= 8)
    assert [(level, d["event"], d.get("rule")) for level, d in quiet.logs] == [
        ("warning", "refused", "outflow.per_call")
    ]
    assert {level for level, _ in loud.logs} == {"info", "warning"}


async def test_a_client_of_the_new_era_hears_from_the_level_that_its_request_names() -> (
    None
):
    s, told = scene(), Told()
    async with Client(
        make_server(s.bridge), logging_callback=told.log, log_level="warning"
    ) as client:
        assert not (await client.call_tool(*transfer(5))).is_error
        assert (await client.call_tool(*transfer(500_001))).is_error
        await until(lambda: told.logs)
    assert [data["reason"] for _, data in told.logs] == ["policy_refused"]


async def test_no_log_message_holds_what_must_not_be_told() -> None:
    s, told = scene(), Told()
    async with Client(
        make_server(s.bridge), mode="legacy", logging_callback=told.log
    ) as client:
        await speak_up(client, "legacy")
        await client.call_tool(*transfer(5))
        await client.call_tool("token_transfer", {"amount": "SECRET-ARGUMENT"})
        await until(lambda: len(told.logs) >= 6)
    text = repr(told.logs)
    assert "SECRET-ARGUMENT" not in text
    assert wallet("alice").secret().hex() not in text


def test_levels_are_in_the_order_of_severity() -> None:
    assert LOG_LEVELS == (
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    )


async def test_a_listener_that_fails_stops_nothing() -> None:
    class Gone:
        async def progress(self, done: int, total: int, message: str) -> None:
            raise RuntimeError("the client has gone away")

        log = progress

    s = scene()
    assert not (await s.bridge.call(*transfer(5), None, Gone())).is_error  # type: ignore[arg-type]  # it fails anyway
    steps = CallProgress(None, "t")
    await steps.reached("built", SENT)


# --- cancellation -----------------------------------------------------------------------------------------------------


class Gate:
    """Holds a step of the scene's chain or signer until it is opened."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    def before(self, inner: Any) -> Any:
        async def gated(*args: Any, **options: Any) -> Any:
            self.reached.set()
            await self.open.wait()
            return await inner(*args, **options)

        return gated


def events(s: Scene) -> list[str]:
    return [e["event"] for e in s.audit.entries()]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("step", ["latest_blockhash", "simulate"])
async def test_a_call_that_is_cancelled_before_it_is_signed_leaves_nothing(
    era: Any, step: str
) -> None:
    gate = Gate()
    s = scene()
    before = s.picture()
    broken(s, **{step: gate.before(getattr(s.local.transport, step))})
    async with (
        Client(make_server(s.bridge), mode=era) as client,
        asyncio.TaskGroup() as group,
    ):
        call = group.create_task(client.call_tool(*transfer(5)))
        await gate.reached.wait()
        call.cancel()
        await asyncio.sleep(0.05)
        gate.open.set()
        await asyncio.sleep(0.05)
        assert events(s) == []
        assert s.picture() == before
        result = await client.call_tool(*transfer(6))  # the next one is not held up
        assert not result.is_error
    assert events(s) == ["intent", "signed", "sent"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_is_cancelled_while_a_person_is_asked_leaves_nothing(
    era: Any,
) -> None:
    asked = asyncio.Event()

    async def never(context: Any, params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    s = scene()
    before = s.picture()
    async with Client(
        make_server(s.bridge), mode=era, elicitation_callback=never
    ) as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, *transfer(400_000))
                await asked.wait()
                scope.cancel()
        await asyncio.sleep(0.05)
        assert events(s) == []
        assert s.picture() == before


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("step", ["send", "status"])
async def test_a_call_that_is_cancelled_after_it_is_signed_is_followed_to_its_end(
    era: Any, step: str
) -> None:
    gate = Gate()
    s = scene()
    calls: list[str] = []
    inner = s.local.transport.send

    async def counted(*args: Any, **options: Any) -> Any:
        calls.append("send")
        return await inner(*args, **options)

    replaced = {"send": counted, "status": s.local.transport.status}
    broken(s, **{**replaced, step: gate.before(replaced[step])})
    async with (
        Client(make_server(s.bridge), mode=era) as client,
        asyncio.TaskGroup() as group,
    ):
        call = group.create_task(client.call_tool(*transfer(5)))
        await gate.reached.wait()
        call.cancel()
        await asyncio.sleep(0.05)
        assert events(s) == ["intent", "signed"]
        # The answer comes alone.
        waiting = group.create_task(s.bridge.call(*transfer(7)))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        gate.open.set()
        assert not (await waiting).is_error
    assert events(s) == ["intent", "signed", "sent", "intent", "signed", "sent"]
    assert calls == ["send", "send"]
    assert s.held("bob_usdc") == 12
    signed, sent = s.audit.entries()[1:3]
    assert Signature.from_string(sent["signature"]) == Signature.from_string(
        signed["signature"]
    )


async def test_a_client_that_goes_away_in_the_middle_of_a_send_leaves_its_outcome_in_the_log() -> (
    None
):
    gate = Gate()
    s = broken(s := scene(), send=gate.before(s.local.transport.send))
    async with Client(make_server(s.bridge), mode="legacy") as client:
        call = asyncio.create_task(client.call_tool(*transfer(5)))
        await gate.reached.wait()
        asyncio.get_running_loop().call_later(0.1, gate.open.set)
        call.cancel()
    await until(lambda: events(s) == ["intent", "signed", "sent"])
    assert s.held("bob_usdc") == 5


async def test_to_its_end_gives_the_result_and_the_error() -> None:
    async def well() -> int:
        return 5

    async def ill() -> int:
        raise ValueError("x")

    assert await run_to_completion(well()) == 5
    with pytest.raises(ValueError, match="x"):
        await run_to_completion(ill())


async def test_to_its_end_is_not_stopped_by_either_kind_of_cancellation() -> None:
    done: list[str] = []

    async def slow(name: str) -> None:
        await asyncio.sleep(0.05)
        done.append(name)

    task = asyncio.create_task(run_to_completion(slow("asyncio")))
    await asyncio.sleep(0.01)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.005)
    with pytest.raises(asyncio.CancelledError):
        await task
    with anyio.CancelScope() as scope:
        asyncio.get_running_loop().call_later(0.01, scope.cancel)
        await run_to_completion(slow("anyio"))
        await asyncio.sleep(0.01)
        done.append("not reached")
    assert done == ["asyncio", "anyio"]


async def test_no_is_no() -> None:
    s = scene()
    assert (await s.bridge.call(*transfer(400_000), no)).is_error
    assert events(s) == []


# --- over stdio and HTTP, in a process of its own ---------------------------------------------------------------------

SENDING = """
mode = "send"
wallet = "@alice"
setup = "setup.toml"
[[program]]
source = "token.json"
[policy]
clusters = ["local"]
[[policy.program]]
id = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
instructions = ["*"]
[policy.outflow.SOL]
per_call = 10_000
per_day = 50_000
[policy.outflow.MINT]
per_call = 100
per_day = 100
"""


@asynccontextmanager
async def reached_by(transport: str, cli: Cli, **options: Any) -> AsyncIterator[Client]:
    """A client of a sending bridge in another process."""
    path = cli.write("b.toml", SENDING.replace("MINT", cluster().names["usdc"]))
    if transport == "stdio":
        args = ["-m", "idl2mcp", "serve", "--config", path]
        parameters = StdioServerParameters(
            command=sys.executable, args=args, cwd=str(cli.folder)
        )
        async with Client(parameters, **options) as client:
            yield client
    else:
        with http_server(cli, "--config", path) as url:
            async with Client(f"{url}/mcp", **options) as client:
                yield client


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_transports_carry_subscriptions_progress_and_logs(
    cli: Cli, transport: str, era: Any
) -> None:
    told, heard, account = Told(), Heard(), uri(cluster(), "bob_usdc")
    options: dict[str, Any] = {
        "mode": era,
        "logging_callback": told.log,
        "log_level": "info",
        "message_handler": heard,
    }
    call = {
        "amount": "5",
        "accounts": {
            "source": "@alice_usdc",
            "destination": "@bob_usdc",
            "authority": "@alice",
        },
    }

    async def send() -> None:
        result = await client.call_tool(
            "transfer", call, progress_callback=told.progress
        )
        assert not result.is_error, result.content
        await until(lambda: len(told.steps) == 5 and len(told.logs) == 5)

    async with reached_by(transport, cli, **options) as client:
        await speak_up(client, era)
        if era == "legacy":
            await subscribe(client, account)
            await send()
            await until(lambda: heard.uris == [account])
        else:
            async with client.listen(resource_subscriptions=[account]) as stream:
                await send()
                async with asyncio.timeout(20):
                    assert await anext(aiter(stream)) == ResourceUpdated(account)
    assert [step for _, _, step in told.steps] == SENT
