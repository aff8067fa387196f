"""Publishing IDLs with the Program Metadata program itself, built from its authors' sources, in an SVM: created and
replaced at every size that takes another way, to the lamport; stopped anywhere and begun again; read by `fetch`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.idl_accounts import fetch_idl, metadata_address
from mcpsol_py.deploy.idl_metadata import (
    close_buffers,
    plan_publication,
    run_publication,
)
from mcpsol_py.errors import DeployRefused, NoProgram, TransportError
from mcpsol_py.solana.addresses import PROGRAM_METADATA
from tests.functional.cli import Cli, Ran
from tests.functional.loaded import REPO, DeployingChain, Moving
from tests.functional.svm_node import SvmNode, listening
from tests.support.key_files import write_key
from tests.support.publishing import ELF, Publishing, document


@pytest.fixture
def chain(program_metadata_so: Path) -> Publishing:
    return Publishing(program_metadata_so)


#: Compressed sizes: one transaction; a buffer; one that grows by more than one instruction may.
SMALL, LARGE, HUGE = 400, 5_000, 27_000


@pytest.mark.parametrize("size", [SMALL, LARGE, HUGE])
def test_an_idl_is_created_and_read_back(chain: Publishing, size: int) -> None:
    text = document(size)
    before = chain.held(chain.wallet.pubkey())
    done = chain.publish(text)
    assert (done.plan.action, done.plan.buffer) == (
        "create",
        None if size == SMALL else chain.address,
    )
    assert chain.published() == json.loads(text)
    account = chain.account(chain.address)
    assert account is not None
    assert account.owner == PROGRAM_METADATA
    assert account.lamports == chain.rent(len(account.data)) == done.plan.rent
    assert (
        before - chain.held(chain.wallet.pubkey()) == done.plan.rent + 5000 * chain.sent
    )
    assert 5000 * chain.sent <= done.plan.fees
    assert chain.plan(text).action == "none"


@pytest.mark.parametrize(
    "after",
    [SMALL + 40, SMALL - 90, LARGE + 900, LARGE - 900, HUGE + 15_000, HUGE - 900],
)
@pytest.mark.parametrize("before", [SMALL, LARGE, HUGE])
def test_an_idl_is_replaced_at_any_size(
    chain: Publishing, before: int, after: int
) -> None:
    chain.publish(document(before))
    chain.sent, money = 0, chain.held(chain.wallet.pubkey())
    old = chain.account(chain.address)
    text = document(after, 1)
    done = chain.publish(text)
    assert done.plan.action == "update"
    assert chain.published() == json.loads(text)
    new = chain.account(chain.address)
    assert old is not None
    assert new is not None
    assert (
        new.lamports
        == chain.rent(len(new.data))
        == chain.rent(96 + len(done.plan.packed))
    )
    assert (
        chain.account(metadata_address(chain.program.pubkey(), "mcpsol-idl-next"))
        is None
    )
    assert (
        money - chain.held(chain.wallet.pubkey())
        == new.lamports - old.lamports + 5000 * chain.sent
    )
    assert 5000 * chain.sent <= done.plan.fees


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_stopped_anywhere_it_goes_on_and_the_old_one_is_read_until_then(
    program_metadata_so: Path, data: st.DataObject
) -> None:
    chain = Publishing(program_metadata_so)
    first, second = document(LARGE), document(HUGE, 1)
    money = chain.held(chain.wallet.pubkey())
    for text, old in ((first, None), (second, json.loads(first))):
        chain.breaks_after = chain.sent + data.draw(st.integers(0, 40))
        try:
            chain.publish(text)
        except TransportError:
            found = asyncio.run(fetch_idl(chain, chain.program.pubkey()))
            # A buffer at the metadata's own address is no IDL yet; a buffer beside it does not show.
            assert found.document == old or (old is None and found.outcome == "corrupt")
        chain.breaks_after = None
        chain.publish(text)
        assert chain.published() == json.loads(text)
    account = chain.account(chain.address)
    assert account is not None
    assert money - chain.held(chain.wallet.pubkey()) == account.lamports + 5000 * len(
        chain.executed_since_start()
    )


def test_another_idl_takes_over_a_buffer_and_one_that_is_given_up_is_closed(
    chain: Publishing,
) -> None:
    money = chain.held(chain.wallet.pubkey())
    for size in (HUGE, LARGE):  # the second finds a buffer that is too long
        chain.breaks_after = chain.sent + 5
        with pytest.raises(TransportError):
            chain.publish(document(size))
        chain.breaks_after = None
    work = close_buffers(
        chain, chain.program.pubkey(), payer=chain.wallet, authority=chain.wallet
    )
    ((address, lamports),) = chain.run(work)
    assert (address, lamports) == (
        chain.address,
        chain.rent(96 + len(chain.plan(document(LARGE)).packed)),
    )
    assert money - chain.held(chain.wallet.pubkey()) == 5000 * len(
        chain.executed_since_start()
    )
    chain.publish(document(LARGE))


def test_a_priority_fee_is_paid_and_counted(chain: Publishing) -> None:
    for size in (SMALL, HUGE):
        before = chain.held(chain.wallet.pubkey())
        done = chain.publish(document(size), price=10_000)
        spent = before - chain.held(chain.wallet.pubkey()) - done.plan.rent
        assert 5000 < spent <= done.plan.fees
        assert spent % 5000, "more than the signatures"


def test_lost_answers_are_asked_after(chain: Publishing) -> None:
    chain.loses = 3
    chain.publish(document(HUGE))
    assert chain.published() == json.loads(document(HUGE))


# --- what is refused -------------------------------------------------------------------------------------------------


def test_who_may_not_publish(chain: Publishing) -> None:
    with pytest.raises(DeployRefused, match="--authority"):
        chain.plan(document(SMALL), authority=Pubkey.new_unique())
    with pytest.raises(NoProgram, match="Deploy it first"):
        chain.plan(document(SMALL), program_id=Pubkey.new_unique())
    with pytest.raises(DeployRefused, match="final"):
        chain.plan(
            document(SMALL),
            program_id=Pubkey.from_string(
                "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
            ),
        )
    chain.publish(document(SMALL))
    account = chain.account(chain.address)
    assert account is not None
    data = bytearray(account.data)
    data[65] = 0
    chain.set_account(
        chain.address, Account(account.lamports, bytes(data), account.owner)
    )
    with pytest.raises(DeployRefused, match="immutable"):
        chain.plan(document(SMALL, 2))


def test_a_cluster_without_the_program_says_so() -> None:
    chain = DeployingChain()
    chain.deploy(ELF)
    with pytest.raises(NoProgram, match="Program Metadata program"):
        asyncio.run(
            plan_publication(
                chain,
                b"{}",
                program_id=chain.program.pubkey(),
                authority=chain.wallet.pubkey(),
                payer=chain.wallet.pubkey(),
            )
        )


def test_a_payer_who_is_too_poor_begins_nothing(chain: Publishing) -> None:
    poor = Keypair()
    plan = chain.plan(document(LARGE), payer=poor.pubkey())
    with pytest.raises(DeployRefused, match=r"0\.000000000 SOL"):
        chain.run(run_publication(chain, plan, payer=poor, authority=chain.wallet))
    assert chain.sent == 0


# --- the command, and back again -------------------------------------------------------------------------------------


class Command:
    """`idl2mcp` over JSON-RPC, with the chain's wallet."""

    def __init__(self, cli: Cli, chain: Publishing, node: Moving, url: str) -> None:
        self.cli, self.chain, self.node, self.url = cli, chain, node, url
        self.payer = write_key(cli.folder / "payer.json", chain.wallet)

    def publish(self, source: object, *more: object) -> Ran:
        program = self.chain.program.pubkey()
        common = (
            "--program",
            program,
            "--url",
            self.url,
            "--payer",
            self.payer,
            "--json",
        )
        return self.cli("publish-idl", source, *common, *more)

    def fetch(self) -> Ran:
        return self.cli("fetch", self.chain.program.pubkey(), "--url", self.url)


@pytest.fixture
def command(cli: Cli, chain: Publishing) -> Iterator[Command]:
    with listening(node := Moving(chain)) as url:
        yield Command(cli, chain, node, url)


def test_a_spec_is_published_as_an_anchor_idl_and_fetched_and_used(
    command: Command,
) -> None:
    dry = command.publish(REPO / "programs/counter/spec.py", "--dry-run")
    assert dry.code == 0, dry.err
    assert (dry.json["action"], command.chain.sent) == ("create", 0)
    ran = command.publish(REPO / "programs/counter/spec.py")
    assert ran.code == 0, ran.err
    fetched = command.fetch()
    assert fetched.code == 0, fetched.err
    assert "Program Metadata" in fetched.err
    idl = json.loads(fetched.out)
    assert idl["address"] == str(command.chain.program.pubkey())
    program, spec = load(idl), load(REPO / "programs/counter/spec.py")
    for ix in spec.model.instructions:
        values = {arg.name: 5 for arg in ix.args}
        assert program.instruction(ix.name).encode(values) == spec.instruction(
            ix.name
        ).encode(values)
    assert command.publish(REPO / "programs/counter/spec.py").json["action"] == "none"


@pytest.mark.dialects("anchor", "legacy", "codama", "shank")
def test_real_idls_come_back_byte_for_byte(command: Command, shared_idls: Path) -> None:
    """One of each dialect; the largest takes a buffer that grows several times."""
    command.chain.loses = 0
    names = (
        "anchor__jupiter_v6",
        "legacy__spl_governance",
        "codama__program_metadata",
        "shank__spl_system",
    )
    for name in names:
        source = shared_idls / f"{name}.json"
        text = source.read_bytes()
        own = load(source).model.address
        more = (
            ("--anchor",)
            if own not in (None, str(command.chain.program.pubkey()))
            else ()
        )
        if more:
            refused = command.publish(source)
            assert (refused.code, refused.json["error"]["reason"]) == (
                1,
                "deploy_refused",
            )
            assert str(own) in refused.err
        ran = command.publish(source, *more)
        assert ran.code == 0, ran.err
        found = asyncio.run(discover(command.chain, command.chain.program.pubkey()))
        assert found.source == "list_tools", (
            "the program's own word comes before its IDL account"
        )
        if not more:
            assert command.chain.published() == json.loads(text)


def test_what_a_stopped_run_left_is_closed_by_the_command(command: Command) -> None:
    source = command.cli.write("large.json", document(LARGE))
    command.node.takes = 3
    stopped = command.publish(source)
    assert stopped.code == 3
    command.node.takes = None
    (row,) = command.publish(source, "--close-buffer").json["closed"]
    assert row["lamports"] > 10**7
    assert command.publish(source, "--close-buffer").json["closed"] == []
    assert "absent" in command.fetch().out


def test_what_is_no_idl_is_not_published(command: Command) -> None:
    broken = command.cli.write("broken.json", '{"instructions": [')
    marked = command.cli.write(
        "marked.json", b"\xef\xbb\xbf" + json.dumps({"instructions": []}).encode()
    )
    for source in (broken, marked, "absent.json"):
        ran = command.publish(source)
        assert ran.code == 1
        assert command.chain.sent == 0


def test_the_command_on_a_cluster_without_the_program_exits_3(cli: Cli) -> None:
    chain = DeployingChain()
    chain.deploy(ELF)
    with listening(SvmNode(chain)) as url:
        payer = write_key(cli.folder / "payer.json", chain.wallet)
        program = chain.program.pubkey()
        ran = cli(
            "publish-idl",
            "counter",
            "--program",
            program,
            "--url",
            url,
            "--payer",
            payer,
            "--json",
        )
    assert ran.code == 3
    assert ran.json["error"]["reason"] == "no_program"
    assert "Program Metadata" in ran.err
