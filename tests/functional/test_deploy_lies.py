"""Deploying through a node that lies: nothing is lost or overspent, and no outcome is reported that is not so."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from mcpsol_py.client.loader import deployment
from mcpsol_py.client.transport import Transport
from mcpsol_py.deploy.funding import Allowance
from mcpsol_py.deploy.program import (
    Deployed,
    DeploymentPlan,
    buffer_address,
    close_buffer,
    plan_deployment,
    run_deployment,
)
from mcpsol_py.errors import DeployRefused, McpsolError, TransportError
from mcpsol_py.solana.loader import LOADER, programdata_address
from tests.functional.cli import Cli, Ran
from tests.functional.loaded import COUNTER_SO, VAULT_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.key_files import write_key
from tests.support.lying_node import LIES, Lie, LyingNode, Quick

COUNTER, VAULT = COUNTER_SO.read_bytes(), VAULT_SO.read_bytes()
FILES = {"counter": COUNTER, "vault": VAULT}
MAINNET = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"


class Scene:
    """A chain, and a lying node before it."""

    def __init__(self, chain: DeployingChain, url: str, liar: LyingNode) -> None:
        self.chain, self.url, self.liar = chain, url, liar
        self.key = chain.wallet.pubkey()

    def plan(self, transport: Transport, elf: bytes, **options: Any) -> Any:
        return plan_deployment(
            transport,
            elf,
            program_id=self.chain.program.pubkey(),
            authority=self.key,
            payer=self.key,
            **options,
        )

    def deploy(
        self, elf: bytes, *, final: bool = False, check: bool = True
    ) -> tuple[DeploymentPlan | None, Deployed | McpsolError]:
        """The plan, and the outcome of a deployment through the lying node; *check*: with an honest second endpoint."""

        async def work() -> tuple[DeploymentPlan | None, Deployed | McpsolError]:
            transport, plan = Quick(self.url, self.chain), None
            try:
                plan = await self.plan(transport, elf, final=final)
                done = await run_deployment(
                    transport,
                    elf,
                    plan,
                    payer=self.chain.wallet,
                    authority=self.chain.wallet,
                    program=self.chain.program,
                    check=self.chain if check else None,
                )
                return plan, done
            except McpsolError as error:
                return plan, error
            finally:
                await transport.close()

        return asyncio.run(work())

    @property
    def program(self) -> Any:
        return asyncio.run(deployment(self.chain, self.chain.program.pubkey()))


@pytest.fixture
def scene() -> Iterator[Scene]:
    chain = DeployingChain()
    liar = LyingNode(Moving(chain))
    with listening(liar) as url:  # type: ignore[arg-type]  # it answers like a node
        yield Scene(chain, url, liar)


def lie(name: str, at: int | None = None) -> Lie:
    method, tell = LIES[name]
    return Lie(method, tell, at)


# --- what was shown binds ---------------------------------------------------------------------------------------------


def test_a_rent_that_rises_after_the_plan_takes_nothing_more(scene: Scene) -> None:
    """The node is honest while the plan is made."""
    plan, _ = scene.deploy(COUNTER)
    assert plan is not None
    for at in range(1, 7):
        chain = DeployingChain()
        with listening(liar := LyingNode(Moving(chain), [lie("high rent", at)])) as url:  # type: ignore[arg-type]
            Scene(chain, url, liar).deploy(COUNTER)
        assert 10**11 - chain.held(chain.wallet.pubkey()) <= plan.rent + plan.fees
        assert chain.held(chain.program.pubkey()) in (0, chain.rent(36))


@pytest.mark.parametrize("name", ["high rent"])
def test_a_rent_above_every_public_clusters_is_refused(scene: Scene, name: str) -> None:
    scene.liar.lies = [lie(name)]
    plan, error = scene.deploy(COUNTER)
    assert plan is None
    assert isinstance(error, DeployRefused)
    assert "no public cluster takes more than 6,960" in str(error)
    assert scene.liar.asked["sendTransaction"] == 0


def test_balances_that_shrink_after_the_plan_take_nothing_more(scene: Scene) -> None:
    """The buffer is paid for; then the node says that accounts hold nothing."""
    scene.chain.breaks_after = 5
    scene.deploy(COUNTER)
    scene.chain.breaks_after = None
    before = scene.chain.held(scene.key)
    scene.liar.lies = [lie("no lamports", at) for at in range(5, 60)]
    scene.liar.asked.clear()
    plan, _ = scene.deploy(COUNTER)
    assert plan is not None
    assert before - scene.chain.held(scene.key) <= plan.needed


@pytest.mark.parametrize("name", ["none landed", "expired", "expires at once"])
def test_transactions_that_seem_lost_are_not_paid_for_over_and_over(
    scene: Scene, name: str
) -> None:
    scene.liar.lies = [lie(name)]
    before = scene.chain.held(scene.key)
    plan, outcome = scene.deploy(COUNTER)
    assert plan is not None
    assert before - scene.chain.held(scene.key) <= plan.rent + plan.fees
    assert isinstance(outcome, (McpsolError, Deployed))


def test_a_rent_that_is_too_low_costs_no_more_than_was_shown(scene: Scene) -> None:
    """The first run pays the buffer's rent; then the node says that there is no rent."""
    scene.chain.breaks_after = 30
    scene.deploy(VAULT)
    scene.chain.breaks_after = None
    for name in ("low rent", "no rent"):
        before = scene.chain.held(scene.key)
        scene.liar.lies = [lie(name)]
        plan, _ = scene.deploy(VAULT)
        assert plan is not None
        assert plan.rent >= scene.chain.rent(36) + scene.chain.rent(45 + len(VAULT))
        assert before - scene.chain.held(scene.key) <= plan.rent + plan.fees


def test_a_program_grows_for_exactly_what_was_shown(scene: Scene) -> None:
    scene.deploy(COUNTER)
    before = scene.chain.held(scene.key)
    scene.liar.lies = [lie("low rent")]
    plan, outcome = scene.deploy(VAULT)
    if plan is not None:
        assert before - scene.chain.held(scene.key) <= plan.rent + plan.lent + plan.fees
    assert isinstance(outcome, McpsolError)
    scene.liar.lies = []
    plan, outcome = scene.deploy(VAULT)
    assert isinstance(outcome, Deployed)


def test_the_loader_takes_nothing_for_an_extension(scene: Scene) -> None:
    """The node says that the program has lamports enough for its new size, and that every simulation is well."""
    scene.deploy(COUNTER)
    program = str(programdata_address(scene.chain.program.pubkey()))

    def rich(params: list[Any], forward: Callable[[], Any]) -> Any:
        found = forward()
        for key, row in zip(params[0], found["value"], strict=True):
            if row is not None and key == program:
                row["lamports"] = 9 * 10**9
        return found

    def well(params: list[Any], forward: Callable[[], Any]) -> Any:
        found = forward()
        # An instruction that it has.
        if "InvalidInstructionData" not in str(found["value"]["err"]):
            found["value"] |= {"err": None, "logs": []}
        return found

    before = scene.chain.held(scene.key)
    scene.liar.lies = [
        Lie("getMultipleAccounts", rich),
        Lie("simulateTransaction", well),
    ]
    plan, outcome = scene.deploy(VAULT)
    assert plan is not None
    assert plan.extend is not None
    assert plan.growth == 0
    assert isinstance(outcome, McpsolError)
    spent = before - scene.chain.held(scene.key)
    # Comes back when the deployment goes on, or by `close`.
    buffer = scene.chain.held(plan.buffer)
    assert spent - buffer <= plan.fees
    assert scene.chain.held(
        programdata_address(scene.chain.program.pubkey())
    ) < scene.chain.rent(45 + len(VAULT))


def message(*transfers: int) -> Message:
    key = Pubkey.new_unique()
    jobs = [
        TransferParams(from_pubkey=key, to_pubkey=key, lamports=each)
        for each in transfers
    ]
    return Message([transfer(job) for job in jobs], key)


def test_an_allowance_counts_fees_and_transfers() -> None:
    allowance = Allowance("it", 10, 12_000)
    allowance.charge(message(4, 5))
    assert (allowance.transfers, allowance.fees) == (1, 7_000)
    with pytest.raises(DeployRefused, match="of rent"):
        allowance.charge(message(2))
    with pytest.raises(DeployRefused, match="of fees"):
        Allowance("it", 10, 4_999).charge(message())


# --- what cannot be undone --------------------------------------------------------------------------------------------


def shows(account: Pubkey, elf: bytes, header: int) -> Lie:
    """The account holds *elf*, if there is one."""

    def tell(params: list[Any], forward: Callable[[], Any]) -> Any:
        found = forward()
        if str(account) in params[0] and (
            row := found["value"][params[0].index(str(account))]
        ):
            head = base64.b64decode(row["data"][0])[:header]
            row["data"][0] = base64.b64encode(head + elf).decode()
        return found

    return Lie("getMultipleAccounts", tell)


@pytest.mark.parametrize("check", [True, False])
def test_what_is_made_final_is_what_was_installed(scene: Scene, check: bool) -> None:
    """The node swallows the upgrade, forwards all else, and shows what the client wants to see."""
    scene.deploy(COUNTER)
    program = scene.chain.program.pubkey()
    sent: list[list[int]] = []

    def swallows_the_upgrade(params: list[Any], forward: Callable[[], Any]) -> Any:
        message = VersionedTransaction.from_bytes(base64.b64decode(params[0])).message
        sent.append([row.data[0] for row in message.instructions])
        return LIES["swallowed"][1](params, forward) if 3 in sent[-1] else forward()

    scene.liar.lies = [
        Lie("sendTransaction", swallows_the_upgrade),
        shows(programdata_address(program), VAULT, 45),
        lie("all landed"),
    ]
    _, outcome = scene.deploy(VAULT, final=True, check=check)
    assert sent[-1] == [3, 4]
    assert isinstance(outcome, McpsolError)
    assert scene.program.holds(COUNTER)
    assert scene.program.authority == scene.key


def test_a_program_that_seems_to_have_the_bytes_is_installed_again_before_it_is_final(
    scene: Scene,
) -> None:
    scene.deploy(COUNTER)
    scene.liar.lies = [
        shows(programdata_address(scene.chain.program.pubkey()), VAULT, 45)
    ]
    plan, outcome = scene.deploy(VAULT, final=True, check=False)
    assert plan is not None
    assert plan.action == "upgrade"
    if scene.program.authority is None:
        assert scene.program.holds(VAULT)
    else:
        assert isinstance(outcome, McpsolError)


def test_a_buffer_that_the_second_endpoint_does_not_show_makes_nothing_final(
    scene: Scene,
) -> None:
    """The node drops one write, says that it landed, and shows it in the buffer."""
    buffer = buffer_address(scene.key, scene.chain.program.pubkey(), VAULT)
    scene.deploy(COUNTER)
    scene.liar.asked.clear()
    scene.liar.lies = [
        lie("swallowed", 20),
        lie("all landed"),
        shows(buffer, VAULT, 37),
    ]
    _, outcome = scene.deploy(VAULT, final=True)
    assert isinstance(outcome, TransportError)
    assert "nothing was made final" in str(outcome)
    assert scene.program.authority == scene.key


def test_final_is_what_was_read_back(scene: Scene) -> None:
    _, outcome = scene.deploy(COUNTER, final=True)
    assert isinstance(outcome, Deployed)
    assert outcome.final
    assert scene.program.authority is None


def test_a_plan_that_installs_nothing_makes_nothing_final(scene: Scene) -> None:
    _, done = scene.deploy(COUNTER)
    plan = asyncio.run(scene.plan(scene.chain, COUNTER))
    assert plan.action == "none"
    keys: Any = {"payer": scene.chain.wallet, "authority": scene.chain.wallet}
    with pytest.raises(DeployRefused, match="installs nothing"):
        asyncio.run(run_deployment(scene.chain, COUNTER, plan, final=True, **keys))
    with pytest.raises(DeployRefused, match="other bytes"):
        asyncio.run(run_deployment(scene.chain, VAULT, plan, **keys))
    assert isinstance(done, Deployed)


def test_an_outcome_that_only_one_endpoint_shows_is_not_reported(scene: Scene) -> None:
    scene.liar.lies = [lie("swallowed", 20), lie("all landed")]
    _, outcome = scene.deploy(COUNTER)
    assert isinstance(outcome, McpsolError)
    assert scene.program is None


# --- any lie, in any order --------------------------------------------------------------------------------------------


class Deployments(RuleBasedStateMachine):
    """Deployments through a node that lies about one of its answers, or about all answers of one kind."""

    @initialize()
    def begin(self) -> None:
        self.chain = DeployingChain()
        self.liar = LyingNode(Moving(self.chain))
        self.server = listening(self.liar)  # type: ignore[arg-type]
        self.scene = Scene(self.chain, self.server.__enter__(), self.liar)
        self.asked_final: set[bytes] = set()

    @rule(
        name=st.sampled_from(sorted(LIES)),
        at=st.none() | st.integers(0, 12),
        file=st.sampled_from(sorted(FILES)),
        final=st.sampled_from([False, False, False, True]),
        check=st.booleans(),
    )
    def deploy(
        self, name: str, at: int | None, file: str, final: bool, check: bool
    ) -> None:
        elf = FILES[file]
        if final:
            self.asked_final.add(elf)
        self.liar.lies = [lie(name, at)]
        self.liar.asked.clear()
        before = self.wallet
        plan, outcome = self.scene.deploy(elf, final=final, check=check)
        spent = before - self.wallet
        shown = 0 if plan is None else plan.rent + plan.lent + plan.fees
        assert spent <= shown, (spent, plan)
        if check and isinstance(outcome, Deployed):
            found = self.scene.program
            assert found.holds(elf)
            assert outcome.final == (found.authority is None)
            assert outcome.slot == found.slot

    @rule(file=st.sampled_from(sorted(FILES)), name=st.sampled_from(sorted(LIES)))
    def close(self, file: str, name: str) -> None:
        self.liar.lies = [lie(name)]
        before, buffer = self.wallet, self.buffer(file)
        held = self.chain.held(buffer)

        async def work() -> int | McpsolError:
            transport = Quick(self.scene.url, self.chain)
            key = self.chain.wallet
            try:
                return await close_buffer(
                    transport, buffer, payer=key, authority=key, check=self.chain
                )
            except McpsolError as error:
                return error
            finally:
                await transport.close()

        outcome = asyncio.run(work())
        assert self.wallet >= before - 5000
        if isinstance(outcome, int) and outcome:
            assert self.chain.held(buffer) == 0
            assert self.wallet == before + held - 5000

    @property
    def wallet(self) -> int:
        return self.chain.held(self.chain.wallet.pubkey())

    def buffer(self, file: str) -> Pubkey:
        return buffer_address(self.scene.key, self.chain.program.pubkey(), FILES[file])

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every lamport is in the wallet, in the program, or in a buffer that can be closed; the rest are fees."""
        if not hasattr(self, "chain"):
            return
        program = self.chain.program.pubkey()
        places = [self.scene.key, program, programdata_address(program)]
        places += [self.buffer(file) for file in FILES]
        executed = self.chain.executed().values()
        fees = sum(5000 * len(tx.signatures) for tx in executed)
        assert sum(map(self.chain.held, places)) == 10**11 - fees
        for file in FILES:
            account = self.chain.account(self.buffer(file))
            assert account is None or account.owner == LOADER

    @invariant()
    def only_what_was_asked_for_is_final(self) -> None:
        if (
            hasattr(self, "chain")
            and (found := self.scene.program)
            and found.authority is None
        ):
            assert any(found.holds(elf) for elf in self.asked_final)

    def teardown(self) -> None:
        if hasattr(self, "server"):
            self.server.__exit__(None, None, None)


Deployments.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=4,
    # A step takes a second: too slow to shrink.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
TestDeployments = Deployments.TestCase


# --- the command ------------------------------------------------------------------------------------------------------


class Command:
    """`idl2mcp deploy` through the lying node."""

    def __init__(self, cli: Cli, scene: Scene) -> None:
        self.cli, self.scene = cli, scene
        self.so = cli.folder / "thing.so"
        self.so.write_bytes(COUNTER)
        self.payer = cli.folder / "payer.json"
        write_key(self.payer, scene.chain.wallet)

    def stops_after(self, sent: int | None) -> None:
        """Let the node take so many more transactions, or all."""
        node: Any = self.scene.liar.node
        node.takes = sent

    def __call__(self, *more: object) -> Ran:
        common = ("--url", self.scene.url, "--payer", self.payer, "--json")
        return self.cli("deploy", self.so, *common, *more)


@pytest.fixture
def command(cli: Cli, scene: Scene) -> Command:
    return Command(cli, scene)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--close-buffer",),
        ("--final",),
        ("--close-buffer", "--final"),
        ("--max-len", "60000", "--final"),
        ("--mainnet", "--close-buffer"),
    ],
    ids=str,
)
def test_a_dry_run_sends_nothing(command: Command, options: tuple[str, ...]) -> None:
    program = command.cli.folder / "p.json"
    write_key(program, command.scene.chain.program)
    command.stops_after(9)
    assert command("--program-id", program).code == 3
    command.stops_after(None)
    command.scene.liar.asked.clear()
    ran = command("--program-id", program, "--dry-run", *options)
    assert ran.code == 0, ran.err
    assert ran.json["dry_run"] is True
    assert command.scene.liar.asked["sendTransaction"] == 0
    if "--close-buffer" in options:
        assert ran.json["lamports"] == command.scene.chain.rent(37 + len(COUNTER))


def test_a_dry_runs_connection_refuses_to_send(cli: Cli, scene: Scene) -> None:
    from idl2mcp.deploy_options import Destination
    from mcpsol_py.calls.priority import NO_PRIORITY

    key = cli.folder / "k.json"
    plain = Destination(
        scene.url, key, None, NO_PRIORITY, None, None, False, True, False
    )

    async def sends(cluster: Any) -> None:
        await cluster.transport.send(None)

    with pytest.raises(DeployRefused, match="a dry run sends nothing"):
        plain.run(sends)


def test_a_buffer_is_closed_by_its_address(command: Command) -> None:
    program = command.cli.folder / "p.json"
    write_key(program, command.scene.chain.program)
    command.stops_after(9)
    stopped = command("--program-id", program)
    command.stops_after(None)
    buffer = buffer_address(
        command.scene.key, command.scene.chain.program.pubkey(), COUNTER
    )
    assert f"--buffer {buffer}" in stopped.err
    command.so.write_bytes(VAULT)
    assert command("--program-id", program, "--close-buffer").json["lamports"] == 0
    ran = command("--program-id", program, "--close-buffer", "--buffer", buffer)
    assert ran.json["lamports"] == command.scene.chain.rent(37 + len(COUNTER))
    assert command("--program-id", program, "--buffer", buffer).code == 2


def test_a_cluster_that_is_not_known_is_taken_for_mainnet(command: Command) -> None:
    unknown = str(Pubkey(bytes([7] * 32)))
    node: Any = command.scene.liar.node
    for genesis in (unknown, "", None, 7, MAINNET):
        node.genesis = genesis
        ran = command()
        assert (ran.code, command.scene.liar.asked["sendTransaction"]) == (1, 0), (
            ran.err
        )
        assert "--mainnet" in ran.err
    node.genesis = unknown
    assert command("--genesis", MAINNET).code == 1
    assert command("--genesis", unknown, "--dry-run").code == 0
    assert command("--mainnet", "--dry-run").code == 0


def test_the_second_endpoint_is_of_the_same_cluster(command: Command) -> None:
    elsewhere = Moving(command.scene.chain, str(Pubkey(bytes([7] * 32))))
    with listening(elsewhere) as url:
        ran = command("--check-url", url)
    assert (ran.code, command.scene.liar.asked["sendTransaction"]) == (1, 0)
    assert "another cluster" in ran.err


def test_the_second_endpoint_unmasks_a_deployment_that_never_was(
    command: Command,
) -> None:
    """The node takes nothing, and shows what the client wants to see."""
    program = command.cli.folder / "p.json"
    write_key(program, command.scene.chain.program)
    assert command("--program-id", program).code == 0
    command.so.write_bytes(VAULT)
    programdata = str(programdata_address(command.scene.chain.program.pubkey()))
    sent: list[str] = []

    def upgrade_goes_nowhere(params: list[Any], forward: Callable[[], Any]) -> Any:
        sent.append(params[0])
        return forward() if len(sent) <= 35 else LIES["swallowed"][1](params, forward)

    def shows_the_vault(params: list[Any], forward: Callable[[], Any]) -> Any:
        found = forward()
        if programdata in params[0] and len(sent) > 35:
            row = found["value"][params[0].index(programdata)]
            data = bytearray(base64.b64decode(row["data"][0]))
            data[45 : 45 + len(VAULT)] = VAULT
            data[4:12] = (10**9).to_bytes(8, "little")
            row["data"][0] = base64.b64encode(data).decode()
        return found

    command.scene.liar.lies = [
        Lie("sendTransaction", upgrade_goes_nowhere),
        Lie("getMultipleAccounts", shows_the_vault),
        lie("all landed"),
    ]
    with listening(Moving(command.scene.chain)) as honest:
        ran = command("--program-id", program, "--check-url", honest)
    assert ran.code == 3, ran.out
    assert "other bytes than the file's" in ran.err
    assert command.scene.program.holds(COUNTER)
