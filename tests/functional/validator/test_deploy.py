"""`idl2mcp deploy` on a real node: a program deployed, called, upgraded to a larger one; a connection that drops in the
middle; the wrong authority; a payer who is too poor. The node itself runs what was deployed, and its account is read
here by urllib, not by what deployed it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect_sync, load
from mcpsol_py.deploy.program import buffer_address
from mcpsol_py.solana.pda import find_pda
from tests.functional.cli import Cli
from tests.functional.counter_scenario import COUNTER, PROGRAMS, VAULT
from tests.functional.validator.node import Proxy, Validator, call
from tests.support.key_files import write_key

pytestmark = pytest.mark.validator

LOADER = Pubkey.from_string("BPFLoaderUpgradeab1e11111111111111111111111")


def on_chain(url: str, program_id: Pubkey) -> tuple[bytes, int, bytes]:
    """The program's bytes, its slot and the 33 bytes of its authority, from its ProgramData account."""
    programdata, _ = Pubkey.find_program_address([bytes(program_id)], LOADER)
    options = {"encoding": "base64", "commitment": "confirmed"}
    found = call(url, "getAccountInfo", [str(programdata), options])["value"]
    data = base64.b64decode(found["data"][0])
    return data[45:], int.from_bytes(data[4:12], "little"), data[12:45]


def balance(url: str, key: Pubkey) -> int:
    found: int = call(url, "getBalance", [str(key), {"commitment": "confirmed"}])[
        "value"
    ]
    return found


@pytest.fixture
def key_files(tmp_path: Path, wallet: Keypair) -> dict[str, Path]:
    """The wallet's key file, and the two programs as files of one name."""
    files = {"payer": tmp_path / "payer.json", "so": tmp_path / "program.so"}
    write_key(files["payer"], wallet)
    files["so"].write_bytes(PROGRAMS[COUNTER].read_bytes())
    return files


def test_a_program_is_deployed_called_and_upgraded(
    cli: Cli,
    validator: Validator,
    wallet: Keypair,
    key_files: dict[str, Path],
    tmp_path: Path,
) -> None:
    so, common = (
        key_files["so"],
        ("--url", validator.url, "--payer", key_files["payer"], "--json"),
    )
    before = balance(validator.url, wallet.pubkey())
    ran = cli("deploy", so, *common)
    assert ran.code == 0, ran.err
    first = ran.json
    program = Pubkey.from_string(first["program_id"])
    assert (first["action"], first["list_tools"]) == (
        "deploy",
        {"name": "counter", "tools": 4},
    )
    data, slot, authority = on_chain(validator.url, program)
    assert data == so.read_bytes()
    assert (slot, authority) == (first["slot"], b"\1" + bytes(wallet.pubkey()))
    spent = before - balance(validator.url, wallet.pubkey())
    assert (
        first["rent_lamports"]
        < spent
        <= first["rent_lamports"] + first["fees_lamports"]
    )

    with connect_sync(program, validator.url, wallet=wallet) as client:
        assert client.source == "list_tools"
        assert client.program.model == load(PROGRAMS[COUNTER].parent / "spec.py").model
        client.send(client.build("initialize", {"start": 40}))
        counter = find_pda([b"counter", bytes(wallet.pubkey())], program)[0]
        client.send(client.build("increment", {"amount": 2}))
        assert client.fetch("State", counter)["count"] == 42

    assert cli("deploy", so, *common).json["action"] == "none"
    so.write_bytes(PROGRAMS[VAULT].read_bytes())  # larger
    before = balance(validator.url, wallet.pubkey())
    second = cli("deploy", so, *common).json
    assert (second["action"], second["program_id"]) == ("upgrade", str(program))
    assert second["list_tools"] == {"name": "vault", "tools": 3}
    larger = so.stat().st_size - PROGRAMS[COUNTER].stat().st_size
    assert second["extend"] == {"bytes": larger, "checked": True}, (
        "all features are on: ExtendProgramChecked"
    )
    data, slot, _ = on_chain(validator.url, program)
    assert data.rstrip(b"\0") == so.read_bytes().rstrip(b"\0")
    assert slot == second["slot"] > first["slot"]
    spent = before - balance(validator.url, wallet.pubkey())
    assert (
        second["rent_lamports"]
        < spent
        <= second["rent_lamports"] + second["fees_lamports"]
    )
    buffer = buffer_address(wallet.pubkey(), program, so.read_bytes())
    assert call(validator.url, "getAccountInfo", [str(buffer)])["value"] is None


def test_a_dropped_connection_costs_nothing_twice(
    cli: Cli,
    validator: Validator,
    proxy: Proxy,
    wallet: Keypair,
    key_files: dict[str, Path],
) -> None:
    """The line breaks for good after ten writes; another run, on another line, writes the rest only."""
    sent = 0

    def breaks(method: str, forward: Callable[[], bytes]) -> bytes | int:
        nonlocal sent
        sent += method == "sendTransaction"
        return 403 if sent > 11 else forward()

    proxy.fault = breaks
    so, payer = key_files["so"], key_files["payer"]
    broken = cli("deploy", so, "--url", proxy.url, "--payer", payer, "--json")
    assert broken.code == 3
    assert "the same command goes on" in broken.err
    time.sleep(2)  # until what was sent is confirmed
    ran = cli("deploy", so, "--url", validator.url, "--payer", payer, "--json")
    assert ran.code == 0, ran.err
    resumed = ran.json
    assert resumed["action"] == "deploy"
    assert 0 < resumed["written"] <= resumed["chunks"] - 8
    assert (
        on_chain(validator.url, Pubkey.from_string(resumed["program_id"]))[0]
        == so.read_bytes()
    )
    spent = 10**10 - balance(validator.url, wallet.pubkey())
    assert spent <= resumed["rent_lamports"] + 5000 * (resumed["chunks"] + 12), (
        "rent is paid once"
    )


def test_hiccups_are_waited_out_and_a_buffer_gives_its_rent_back(
    cli: Cli,
    validator: Validator,
    proxy: Proxy,
    wallet: Keypair,
    key_files: dict[str, Path],
) -> None:
    turn = 0

    def hiccup(method: str, forward: Callable[[], bytes]) -> bytes | int | None:
        nonlocal turn
        turn += 1
        if method == "sendTransaction" and turn % 5 == 0:
            forward()
            return None  # it was taken, and nobody is told
        return 429 if turn % 11 == 0 else forward()

    proxy.fault = hiccup
    so, payer = key_files["so"], key_files["payer"]
    assert cli("deploy", so, "--url", proxy.url, "--payer", payer).code == 0
    key = json.loads(so.with_name("program-keypair.json").read_text())
    program = Keypair.from_bytes(bytes(key)).pubkey()
    assert on_chain(validator.url, program)[0] == so.read_bytes()

    count = proxy.count("sendTransaction")
    proxy.fault = lambda method, forward: (
        403 if proxy.count("sendTransaction") > count + 5 else forward()
    )
    so.write_bytes(PROGRAMS[VAULT].read_bytes())
    assert cli("deploy", so, "--url", proxy.url, "--payer", payer).code == 3
    time.sleep(2)  # until what was sent is confirmed, and its fees are paid
    before = balance(validator.url, wallet.pubkey())
    closed = cli(
        "deploy",
        so,
        "--url",
        validator.url,
        "--payer",
        payer,
        "--close-buffer",
        "--json",
    ).json
    assert closed["lamports"] > 10**8
    assert balance(validator.url, wallet.pubkey()) == before + closed["lamports"] - 5000


def test_who_may_not_deploy(
    cli: Cli,
    validator: Validator,
    wallet: Keypair,
    key_files: dict[str, Path],
    tmp_path: Path,
) -> None:
    so, payer = key_files["so"], key_files["payer"]
    poor = write_key(tmp_path / "poor.json", Keypair())
    refused = cli("deploy", so, "--url", validator.url, "--payer", poor, "--json")
    assert refused.code == 1
    assert refused.json["error"]["reason"] == "deploy_refused"
    assert "0.000000000 SOL" in refused.err
    assert not so.with_name("program-keypair.json").exists(), "nothing was begun"

    assert (
        cli("deploy", so, "--url", validator.url, "--payer", payer, "--final").code == 0
    )
    program = Keypair.from_bytes(
        bytes(json.loads(so.with_name("program-keypair.json").read_text()))
    ).pubkey()
    assert on_chain(validator.url, program)[2] == bytes(1) + bytes(wallet.pubkey()), (
        "None, and the old key's bytes"
    )
    so.write_bytes(PROGRAMS[VAULT].read_bytes())
    final = cli("deploy", so, "--url", validator.url, "--payer", payer)
    assert final.code == 1
    assert "final" in final.err

    other = cli(
        "deploy", so, "--url", validator.url, "--payer", payer, "--program-id", COUNTER
    )
    assert other.code == 1, "the test validator's own programs have another authority"
    assert load(PROGRAMS[COUNTER].parent / "spec.py").model.address == str(COUNTER)


def test_an_idl_is_published_replaced_and_fetched(
    cli: Cli,
    validator: Validator,
    key_files: dict[str, Path],
    program_metadata_so: Path,
) -> None:
    """With the Program Metadata program itself: small by one transaction, then large through a buffer."""
    so, common = (
        key_files["so"],
        ("--url", validator.url, "--payer", key_files["payer"], "--json"),
    )
    assert cli("deploy", so, *common).code == 0
    program = Keypair.from_bytes(
        bytes(json.loads(so.with_name("program-keypair.json").read_text()))
    ).pubkey()
    small = {"version": "0.1.0", "name": "small", "instructions": []}
    large = {
        **small,
        "name": "large",
        "docs": [
            bytes([n, n * 7 % 256] * 30).hex()[:99] + str(n**9) for n in range(250)
        ],
    }
    for idl, action in ((small, "create"), (large, "update")):
        source = cli.write("idl.json", idl)
        ran = cli("publish-idl", source, "--program", program, *common)
        assert ran.code == 0, ran.err
        assert ran.json["action"] == action
        found = cli("fetch", program, "--url", validator.url, "--json").json
        assert (found["source"], found["idl"]) == ("Program Metadata", idl)
    assert ran.json["packed"] > 3_000, "more than one transaction holds"
    assert (
        cli("publish-idl", source, "--program", program, *common).json["action"]
        == "none"
    )
