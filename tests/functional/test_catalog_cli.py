"""`idl2mcp catalog`: every form of SOURCE, and what a new catalogue begins with."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.solana.ids import STAKE_PROGRAM
from tests.functional.cli import Cli
from tests.support.many_programs import ManyPrograms, listening
from tests.unit.catalog.shops import idl


@pytest.fixture
def cli(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path, capsys)


def test_a_new_catalogue_answers(cli: Cli) -> None:
    (hit,) = cli(
        "catalog", "search", "stake with a validator", "--limit", 1, "--json"
    ).json["hits"]
    assert (hit["address"], hit["instruction"]) == (STAKE_PROGRAM, "delegate_stake")
    shown = cli("catalog", "show", STAKE_PROGRAM)
    assert "seed" in shown.out


def test_every_form_of_source_is_added(cli: Cli, repo: Path) -> None:
    cli.write("shop.json", idl())
    spec = repo / "programs" / "vault" / "spec.py"
    node = ManyPrograms([idl("far")])
    with listening(node) as url:
        given = [
            "shop.json",
            "counter",
            "spl-token",
            spec,
            node.addresses[0],
            "nothing.json",
        ]
        done = cli("catalog", "add", *given, "--url", url, "--json")
    assert done.code == 0
    assert list(done.json["faults"]) == ["nothing.json"]
    assert len(done.json["added"]) == 4
    assert done.json["unchanged"] == ["mcpsol-py: spl_token"]
    programs = {
        row["name"]: row["address"]
        for row in cli("catalog", "list", "--json").json["programs"]
    }
    assert {"shop", "counter", "vault", "far"} <= set(programs)
    (version,) = cli("catalog", "show", "far", "--json").json["versions"]
    assert (version["source"], version["first_slot"]) == ("Anchor IDL account", 100)


def test_a_spec_is_not_run_if_that_is_forbidden_or_it_is_in_a_folder(cli: Cli) -> None:
    folder = cli.folder / "idls"
    folder.mkdir()
    (folder / "spec.py").write_text("raise SystemExit('it ran')")
    cli.write("idls/shop.json", idl())
    assert cli("catalog", "add", folder, "--json").json["faults"] == {}
    done = cli("catalog", "add", folder / "spec.py", "--no-exec")
    assert done.code == 1
    assert "not added" in done.out


def test_nothing_that_can_be_added_is_a_failure(cli: Cli) -> None:
    assert cli("catalog", "add", "nothing").code == 1
    without = cli("catalog", "add", STAKE_PROGRAM)
    assert (without.code, "--url" in without.err) == (2, True)
