"""Deploying through the upgradeable loader in an SVM: what it costs to the lamport, what a stopped run leaves and a new
one makes of it, and what is refused before anything is sent. The loader itself (LiteSVM's) judges the instructions."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from mcpsol_py.batch import Sender
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.loader import deployment
from mcpsol_py.deploy.program import (
    MOST_UNITS,
    DeploymentPlan,
    buffer_address,
    chunks,
    close_buffer,
    plan_deployment,
)
from mcpsol_py.errors import DeployRefused, ProgramFailed, TransportError
from mcpsol_py.solana.loader import LOADER, programdata_address, read_buffer
from tests.functional.cli import Cli, Ran
from tests.functional.loaded import COUNTER_SO, VAULT_SO, DeployingChain, Moving
from tests.functional.svm_node import listening
from tests.support.key_files import write_key

COUNTER, VAULT = COUNTER_SO.read_bytes(), VAULT_SO.read_bytes()
#: mainnet's genesis hash
MAINNET = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"


@pytest.fixture
def chain() -> DeployingChain:
    return DeployingChain()


# --- what it does and costs ------------------------------------------------------------------------------------------


def test_a_deployment_costs_what_the_plan_says_to_the_lamport(
    chain: DeployingChain,
) -> None:
    before = chain.held(chain.wallet.pubkey())
    done = chain.deploy(COUNTER)
    program = chain.program.pubkey()
    assert done.plan.rent == chain.rent(36) + chain.rent(45 + len(COUNTER))
    # One signature a transaction; the deployment itself is signed by the program's key too.
    retries = done.plan.writes // 8
    assert done.plan.fees == 5000 * (done.plan.writes + retries + 4)
    assert done.plan.chunks >= done.plan.writes, "a chunk of zeros is there already"
    transactions = done.plan.writes + 2
    assert before - chain.held(chain.wallet.pubkey()) == done.plan.rent + 5000 * (
        transactions + 1
    )
    assert (
        chain.account(buffer_address(chain.wallet.pubkey(), program, COUNTER)) is None
    )
    assert asyncio.run(discover(chain, program)).program.name == "counter"


def test_an_upgrade_keeps_the_id_and_gives_the_buffers_rent_back(
    chain: DeployingChain,
) -> None:
    first = chain.deploy(VAULT)
    before = chain.held(chain.wallet.pubkey())
    second = chain.deploy(COUNTER)  # smaller: nothing to extend, zeros behind it
    assert (second.plan.action, second.plan.extend, second.plan.rent) == (
        "upgrade",
        None,
        0,
    )
    assert second.slot > first.slot
    assert before - chain.held(chain.wallet.pubkey()) == 5000 * (second.plan.writes + 2)
    found = asyncio.run(deployment(chain, chain.program.pubkey()))
    assert found is not None
    assert found.data == COUNTER + bytes(len(VAULT) - len(COUNTER))
    assert (
        asyncio.run(discover(chain, chain.program.pubkey())).program.name == "counter"
    )


def test_a_larger_version_makes_room(chain: DeployingChain) -> None:
    chain.deploy(COUNTER)
    before = chain.held(chain.wallet.pubkey())
    done = chain.deploy(VAULT)
    assert done.plan.extend is not None
    # LiteSVM has SIMD-0431, by which nothing grows by less than 10 KiB; the cluster was asked for that by simulation.
    assert done.plan.extend[0] in (len(VAULT) - len(COUNTER), 10_240)
    assert done.plan.max_len == len(COUNTER) + done.plan.extend[0] >= len(VAULT)
    assert done.plan.rent == chain.rent(45 + done.plan.max_len) - chain.rent(
        45 + len(COUNTER)
    )
    assert before - chain.held(chain.wallet.pubkey()) == done.plan.rent + 5000 * (
        done.plan.writes + 3
    )
    assert asyncio.run(discover(chain, chain.program.pubkey())).program.name == "vault"


def test_room_for_later_is_left_and_asked_for_later(chain: DeployingChain) -> None:
    assert chain.deploy(COUNTER, max_len=len(VAULT)).plan.max_len == len(VAULT)
    assert chain.deploy(VAULT).plan.extend is None
    assert chain.deploy(VAULT).plan.action == "none"
    grown = chain.deploy(VAULT, max_len=len(VAULT) + 500).plan
    assert grown.extend is not None
    assert grown.extend[0] in (500, 10_240)
    assert grown.max_len == len(VAULT) + grown.extend[0]


def test_a_program_can_be_made_final(chain: DeployingChain) -> None:
    assert chain.deploy(COUNTER, final=True).final
    with pytest.raises(DeployRefused, match="final"):
        chain.deploy(VAULT)
    found = asyncio.run(deployment(chain, chain.program.pubkey()))
    assert found is not None
    assert found.authority is None


# --- stopped and begun again -----------------------------------------------------------------------------------------


@settings(max_examples=12)
@given(stop=st.integers(0, -(-len(COUNTER) // 1000) + 2))
def test_whatever_is_done_when_the_line_breaks_is_not_done_again(stop: int) -> None:
    """For any place at which the line breaks: the second run pays no rent twice and writes only what is missing."""
    chain = DeployingChain()
    before = chain.held(chain.wallet.pubkey())
    chain.breaks_after = stop
    try:
        chain.deploy(COUNTER)
        whole = True
    except TransportError:
        whole = False
    taken, chain.breaks_after = min(chain.sent, stop), None
    done = chain.deploy(COUNTER)
    assert done.plan.action == ("none" if whole else "deploy")
    all_writes = asyncio.run(plan_of(DeployingChain(), COUNTER)).writes
    if not whole and taken:
        assert done.plan.writes == all_writes - (taken - 1)
    rent = chain.rent(36) + chain.rent(45 + len(COUNTER))
    transactions = all_writes + 2
    assert before - chain.held(chain.wallet.pubkey()) == rent + 5000 * (
        transactions + 1
    )


def test_lost_answers_are_asked_after_and_cost_nothing(chain: DeployingChain) -> None:
    chain.loses = 2
    before = chain.held(chain.wallet.pubkey())
    done = chain.deploy(COUNTER)
    assert before - chain.held(chain.wallet.pubkey()) == done.plan.rent + 5000 * (
        done.plan.writes + 3
    )


def test_another_file_has_a_buffer_of_its_own(chain: DeployingChain) -> None:
    """Two deployments that shared a buffer could each find the other's chunks in it."""
    chain.breaks_after = 12
    with pytest.raises(TransportError):
        chain.deploy(COUNTER)
    chain.breaks_after = None
    changed = bytearray(COUNTER)
    changed[-1] ^= 0xFF  # in the section names' end: still a program
    first, plan = (
        asyncio.run(plan_of(chain, COUNTER)),
        asyncio.run(plan_of(chain, bytes(changed))),
    )
    assert first.buffer != plan.buffer
    assert first.writes < plan.writes
    before = chain.held(chain.wallet.pubkey())
    done = chain.deploy(VAULT)
    assert before - chain.held(chain.wallet.pubkey()) == done.plan.rent + 5000 * (
        done.plan.writes + 3
    )
    assert chain.held(first.buffer) == chain.rent(37 + len(COUNTER))


async def plan_of(chain: DeployingChain, elf: bytes) -> DeploymentPlan:
    key = chain.wallet.pubkey()
    return await plan_deployment(
        chain, elf, program_id=chain.program.pubkey(), authority=key, payer=key
    )


def test_the_buffer_of_a_stopped_run_gives_its_rent_back(chain: DeployingChain) -> None:
    chain.breaks_after = 5
    with pytest.raises(TransportError):
        chain.deploy(COUNTER)
    chain.breaks_after = None
    before = chain.held(chain.wallet.pubkey())
    buffer = buffer_address(chain.wallet.pubkey(), chain.program.pubkey(), COUNTER)
    work = close_buffer(chain, buffer, payer=chain.wallet, authority=chain.wallet)
    lamports = chain.run(work)
    assert lamports == chain.rent(37 + len(COUNTER))
    assert chain.held(chain.wallet.pubkey()) == before + lamports - 5000
    assert chain.account(buffer) is None
    work = close_buffer(chain, buffer, payer=chain.wallet, authority=chain.wallet)
    assert chain.run(work) == 0


def test_a_buffer_is_closed_with_a_priority_fee(chain: DeployingChain) -> None:
    chain.breaks_after = 5
    with pytest.raises(TransportError):
        chain.deploy(COUNTER)
    chain.breaks_after = None
    before, key = chain.held(chain.wallet.pubkey()), chain.wallet
    buffer = buffer_address(key.pubkey(), chain.program.pubkey(), COUNTER)
    lamports = chain.run(
        close_buffer(chain, buffer, payer=key, authority=key, price=1_000_000)
    )
    assert chain.held(key.pubkey()) == before + lamports - 5000 - MOST_UNITS


def test_lamports_sent_to_the_addresses_before_do_not_block_it(
    chain: DeployingChain,
) -> None:
    """Anyone can send lamports to an address that can be foreseen; create_account would then refuse it for ever."""
    key, program = chain.wallet.pubkey(), chain.program.pubkey()
    for address in (buffer_address(key, program, COUNTER), program):
        pay = transfer(
            TransferParams(from_pubkey=key, to_pubkey=address, lamports=10**6)
        )
        chain.run(Sender(chain, key, [chain.wallet]).one([pay]))
    chain.deploy(COUNTER)
    assert asyncio.run(discover(chain, program)).program.name == "counter"


# --- what is refused -------------------------------------------------------------------------------------------------


def refused(chain: DeployingChain, elf: bytes, **changed: object) -> str:
    """The words of a plan that is refused; nothing was sent for it."""
    key, sent = chain.wallet.pubkey(), chain.sent
    asked = {
        "program_id": chain.program.pubkey(),
        "authority": key,
        "payer": key,
        **changed,
    }
    with pytest.raises(DeployRefused) as caught:
        asyncio.run(plan_deployment(chain, elf, **asked))  # type: ignore[arg-type]
    assert chain.sent == sent
    return str(caught.value)


def test_who_may_not_upgrade(chain: DeployingChain) -> None:
    chain.deploy(COUNTER)
    other = Pubkey.new_unique()
    words = refused(chain, VAULT, authority=other)
    assert str(chain.wallet.pubkey()) in words
    assert str(other) in words
    assert "--authority" in words


def test_addresses_that_are_no_place_for_a_program(chain: DeployingChain) -> None:
    assert "in use" in refused(
        chain,
        COUNTER,
        program_id=Pubkey.from_string("SysvarRent111111111111111111111111111111111"),
    )
    old = Pubkey.new_unique()
    chain.set_account(
        old,
        Account(
            10**9,
            COUNTER,
            Pubkey.from_string("BPFLoader2111111111111111111111111111111111"),
            True,
        ),
    )
    assert "does not upgrade" in refused(chain, COUNTER, program_id=old)
    token = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
    assert "final" in refused(chain, COUNTER, program_id=token)
    gone = Pubkey.new_unique()
    data = (2).to_bytes(4, "little") + bytes(programdata_address(gone))
    chain.set_account(gone, Account(10**7, data, LOADER, True))
    assert "was closed" in refused(chain, COUNTER, program_id=gone)
    assert "--max-len 100" in refused(chain, COUNTER, max_len=100)
    assert "holds" in refused(chain, bytes(11 * 1024 * 1024))


def test_a_payer_who_is_too_poor_is_told_the_sum(chain: DeployingChain) -> None:
    plan = asyncio.run(plan_of(chain, COUNTER))
    chain.wallet = Keypair()
    chain.airdrop(chain.wallet.pubkey(), plan.needed - 1)
    sums = f"{plan.rent / 1e9:.9f} SOL of rent that stays, at most {plan.fees / 1e9:.9f} SOL of fees"
    with pytest.raises(DeployRefused, match=re.escape(sums)):
        chain.deploy(COUNTER)
    assert chain.sent == 0
    chain.airdrop(chain.wallet.pubkey(), 1)
    chain.deploy(COUNTER)
    assert chain.held(chain.wallet.pubkey()) >= chain.rent(0)


def test_bytes_that_the_loader_refuses_leave_a_buffer_to_close(
    chain: DeployingChain,
) -> None:
    elf = b"\x7fELF" + bytes(2000)
    with pytest.raises(ProgramFailed):
        chain.deploy(elf)
    address = buffer_address(chain.wallet.pubkey(), chain.program.pubkey(), elf)
    buffer = read_buffer(chain.account(address))
    assert buffer is not None
    assert buffer.data.startswith(b"\x7fELF")


# --- chunks ----------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(1, 40))
def test_writing_the_chunks_that_differ_gives_the_file(
    elf: bytes, there: bytes, size: int
) -> None:
    buffer = bytearray(there[: len(elf)].ljust(len(elf), b"\0"))
    for at, part in chunks(elf, bytes(buffer), size):
        assert 0 < len(part) <= size
        assert buffer[at : at + len(part)] != part, (
            "nothing is written that is there already"
        )
        buffer[at : at + len(part)] = part
    assert buffer == elf
    assert chunks(elf, elf, size) == []


# --- the command -----------------------------------------------------------------------------------------------------


class Deploying:
    """`idl2mcp deploy` with the chain's wallet, on a copy of the counter, over JSON-RPC."""

    def __init__(self, cli: Cli, chain: DeployingChain, node: Moving, url: str) -> None:
        self.cli, self.chain, self.node, self.url = cli, chain, node, url
        self.so = cli.folder / "thing.so"
        self.so.write_bytes(COUNTER)
        self.payer = self.key_file("payer.json", chain.wallet)

    def key_file(self, name: str, key: Keypair) -> Path:
        return write_key(self.cli.folder / name, key)

    def __call__(self, *more: object) -> Ran:
        return self.cli(
            "deploy", self.so, "--url", self.url, "--payer", self.payer, *more, "--json"
        )


@pytest.fixture
def deploying(cli: Cli, chain: DeployingChain) -> Iterator[Deploying]:
    with listening(node := Moving(chain)) as url:
        yield Deploying(cli, chain, node, url)


def test_a_run_says_what_it_costs_and_a_dry_run_sends_nothing(
    deploying: Deploying,
) -> None:
    dry = deploying("--dry-run")
    assert dry.code == 0, dry.err
    assert (dry.json["action"], dry.json["affordable"], deploying.chain.sent) == (
        "deploy",
        True,
        0,
    )
    assert not (deploying.cli.folder / "thing-keypair.json").exists()
    ran = deploying()
    assert ran.code == 0, ran.err
    assert "of rent" in ran.err
    keys = ("rent_lamports", "fees_lamports", "size", "chunks")
    assert [ran.json[k] for k in keys] == [dry.json[k] for k in keys]
    assert ran.json["list_tools"] == {"name": "counter", "tools": 4}
    assert "the program's schema says that it is at J8tm1Zaq" in ran.err
    kept = deploying.cli.folder / "thing-keypair.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert (
        str(Keypair.from_bytes(bytes(json.loads(kept.read_text()))).pubkey())
        == ran.json["program_id"]
    )


def test_a_build_whose_treasury_nobody_owns_says_so_at_every_deploy(
    deploying: Deploying,
) -> None:
    """The x402 program as committed has a placeholder for its treasury. A build with a wallet in its place does not."""
    from mcpsol_py.bundled import bundled_so
    from mcpsol_py.x402.chain.program import PROGRAM_ID, TREASURY_OWNER

    assert deploying("--dry-run").json["keyless"] == []
    shipped = bundled_so("x402").read_bytes()
    deploying.so.write_bytes(shipped)
    for _ in range(2):
        ran = deploying("--dry-run", "--program-id", PROGRAM_ID)
        assert ran.json["keyless"] == [str(TREASURY_OWNER)]
        assert (
            f"accounts of {TREASURY_OWNER}, a placeholder: nobody has its key"
            in ran.err
        )
    owned = shipped.replace(bytes(TREASURY_OWNER), bytes(Keypair().pubkey()))
    deploying.so.write_bytes(owned)
    ran = deploying("--dry-run", "--program-id", PROGRAM_ID)
    assert (ran.json["keyless"], "placeholder" in ran.err) == ([], False)


def test_an_upgrade_needs_only_the_address_and_the_authority(
    deploying: Deploying,
) -> None:
    program, authority = Keypair(), Keypair()
    by = ("--authority", deploying.key_file("authority.json", authority))
    first = deploying("--program-id", deploying.key_file("program.json", program), *by)
    assert first.code == 0, first.err
    assert first.json["authority"] == str(authority.pubkey())
    deploying.so.write_bytes(VAULT)
    assert deploying("--program-id", program.pubkey()).code == 1
    second = deploying("--program-id", program.pubkey(), *by)
    assert second.code == 0, second.err
    assert (second.json["action"], second.json["list_tools"]["name"]) == (
        "upgrade",
        "vault",
    )


def test_a_first_deployment_by_address_alone_is_refused(deploying: Deploying) -> None:
    ran = deploying("--program-id", Pubkey.new_unique())
    assert (ran.code, ran.json["error"]["reason"], deploying.chain.sent) == (
        1,
        "deploy_refused",
        0,
    )
    assert "its own key" in ran.err


def test_mainnet_is_known_by_its_genesis_and_wants_a_word(
    cli: Cli, chain: DeployingChain
) -> None:
    with listening(node := Moving(chain, MAINNET)) as url:
        deploying = Deploying(cli, chain, node, url)
        ran = deploying()
        assert (ran.code, chain.sent) == (1, 0)
        assert "--mainnet" in ran.err
        assert "API-KEY" not in ran.err + ran.out
        assert deploying("--mainnet").code == 0
        record = cli.folder / "thing.build.json"
        record.write_text(
            json.dumps({"route": "std", "sha256": sha256(COUNTER).hexdigest()})
        )
        assert "overflow checks" in deploying("--mainnet").err


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"sha256": "00" * 32}, "of another file"),
        (
            {
                "sha256": sha256(COUNTER).hexdigest(),
                "program_id": str(Pubkey.default()),
            },
            "runs at no other",
        ),
    ],
    ids=["another file", "another id"],
)
def test_the_builds_record_must_fit(
    deploying: Deploying, record: dict[str, str], words: str
) -> None:
    (deploying.cli.folder / "thing.build.json").write_text(json.dumps(record))
    ran = deploying()
    assert (ran.code, deploying.chain.sent) == (1, 0)
    assert words in ran.err


def test_a_program_of_the_declared_id_is_deployed_there(deploying: Deploying) -> None:
    program = Keypair()
    record = {
        "sha256": sha256(COUNTER).hexdigest(),
        "program_id": str(program.pubkey()),
        "route": "std",
    }
    (deploying.cli.folder / "thing.build.json").write_text(json.dumps(record))
    ran = deploying("--program-id", deploying.key_file("program.json", program))
    assert ran.code == 0, ran.err
    assert "nothing to ship" in ran.err


@pytest.mark.parametrize(
    "content",
    [b"", b"no elf", b"\x7fELF" + bytes(500)],
    ids=["empty", "text", "a torn ELF"],
)
def test_files_that_are_no_programs_cost_nothing(
    deploying: Deploying, content: bytes
) -> None:
    deploying.so.write_bytes(content)
    ran = deploying()
    assert (ran.code, deploying.chain.sent) == (1, 0)
    assert "thing.so" in ran.err


def test_a_stopped_run_says_how_to_go_on(deploying: Deploying) -> None:
    deploying.node.takes = 9
    ran = deploying()
    assert ran.code == 3
    assert "the same command goes on" in ran.err
    deploying.node.takes = None
    ran = deploying()
    assert ran.code == 0, ran.err
    assert 0 < ran.json["written"] <= ran.json["chunks"] - 8
    assert deploying("--close-buffer").json["lamports"] == 0


def test_ctrl_c_leaves_what_was_reached_and_says_how_to_go_on(
    deploying: Deploying,
) -> None:
    deploying.so.write_bytes(VAULT)  # has more chunks than are sent at once
    deploying.node.stalls = 6
    before = threading.active_count()
    command = [
        sys.executable,
        "-m",
        "idl2mcp",
        "deploy",
        str(deploying.so),
        "--url",
        deploying.url,
    ]
    process = subprocess.Popen(
        [*command, "--payer", str(deploying.payer)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while deploying.chain.sent < 6 and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    deploying.node.goes_on.set()
    assert process.returncode == 130, err
    assert "Traceback" not in out + err
    assert "the same command goes on" in err
    # What the node still answers finds nobody: that it complains of.
    while threading.active_count() > before:
        assert time.monotonic() < end
        time.sleep(0.02)
    ran = deploying()
    assert ran.code == 0, ran.err
    assert 0 < ran.json["written"] < ran.json["chunks"]


def test_a_priority_fee_is_paid_and_counted(deploying: Deploying) -> None:
    for elf in (COUNTER, VAULT):
        deploying.so.write_bytes(elf)
        before = deploying.chain.held(deploying.chain.wallet.pubkey())
        ran = deploying("--priority-fee", 50_000)
        assert ran.code == 0, ran.err
        spent = (
            before
            - deploying.chain.held(deploying.chain.wallet.pubkey())
            - ran.json["rent_lamports"]
        )
        assert (
            5000 * ran.json["written"] + 3_500 * 50_000 * ran.json["written"] // 10**6
            < spent
        )
        assert spent <= ran.json["fees_lamports"]


@pytest.mark.parametrize(
    ("most", "price"), [(None, 100_000), (10, 1_000)], ids=["recent", "limited"]
)
def test_an_automatic_priority_fee_has_a_limit(
    deploying: Deploying, most: int | None, price: int
) -> None:
    recent = [{"slot": 1, "prioritizationFee": 100_000}]
    deploying.node.do_getRecentPrioritizationFees = lambda keys=None: recent  # type: ignore[method-assign]
    options = () if most is None else ("--max-priority-fee", most)
    measured, given = (
        deploying("--dry-run", "--priority-fee", chosen, *options).json["fees_lamports"]
        for chosen in ("auto", price)
    )
    assert (
        measured
        == given
        > deploying("--dry-run", "--priority-fee", 0).json["fees_lamports"]
    )
    refused = deploying("--priority-fee", 10**9, *options)
    assert refused.code == 1
    assert "and the limit is" in refused.err
    assert deploying.chain.sent == 0


@pytest.mark.parametrize("option", ["--payer", "--authority", "--program-id"])
def test_a_key_that_others_may_read_signs_nothing(
    deploying: Deploying, option: str
) -> None:
    readable = deploying.key_file("readable.json", deploying.chain.wallet)
    readable.chmod(0o640)
    ran = deploying(option, readable)
    assert ran.code == 1
    assert "others may read this key (mode 640); run chmod 600" in ran.err
    assert deploying.chain.sent == 0


def test_keys_never_show(deploying: Deploying) -> None:
    secrets = [str(deploying.chain.wallet), str(list(bytes(deploying.chain.wallet)))]
    bad = deploying.cli.folder / "bad.json"
    bad.write_text(json.dumps([*bytes(deploying.chain.wallet)[:63], 999]))
    runs = [
        deploying(),
        deploying("--authority", bad),
        deploying("--authority", "absent.json"),
        deploying("--dry-run"),
    ]
    assert [ran.code for ran in runs] == [0, 1, 1, 0]
    for ran in runs:
        for secret in secrets:
            assert secret not in ran.out + ran.err
            assert secret[1:40] not in ran.out + ran.err
