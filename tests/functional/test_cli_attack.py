"""`idl2mcp attack` as a user calls it: the table, the exit code, the scenario file and its mistakes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.attack.run import read_scenario
from mcpsol_py.build import spec_sha256
from tests.functional.cli import Cli

REPO = Path(__file__).resolve().parents[2]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A folder with the vault's spec and its .so."""
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in ("spec.py", "vault.so", "vault.build.json"):
        shutil.copyfile(REPO / "programs/vault" / name, folder / name)
    return folder


def test_a_program_that_stands_all_attacks(cli: Cli, vault: Path) -> None:
    ran = cli("attack", vault)
    assert ran.code == 0, ran.err
    assert "AccountNotSigner" in ran.out
    assert "0 holes" in ran.out
    assert "deposit.source, withdraw.destination" in ran.out


def test_each_attack_as_json(cli: Cli, vault: Path) -> None:
    ran = cli("attack", vault, "--json", "--only", "withdraw")
    assert ran.code == 0, ran.err
    attacks = ran.json["attacks"]
    assert {a["instruction"] for a in attacks} == {"withdraw"}
    signer = next(a for a in attacks if a["kind"] == "missing-signer")
    assert (signer["target"], signer["got"], signer["verdict"]) == (
        "authority",
        "AccountNotSigner",
        "refused",
    )
    assert ran.json["fine"] is True
    assert ran.json["holes"] == 0


def test_verbose_names_every_attack(cli: Cli, vault: Path) -> None:
    ran = cli("attack", vault, "--only", "deposit", "-v")
    assert ran.code == 0, ran.err
    assert "tokens is a multisig" in ran.out.replace("  ", " ")


def test_the_wrong_program_is_full_of_other_errors(cli: Cli, vault: Path) -> None:
    """The counter in the vault's place: nothing can be called, and that is told, not passed over."""
    ran = cli("attack", vault, "--so", REPO / "programs/counter/counter.so", "--json")
    assert ran.code == 1
    assert set(ran.json["not_attacked"]) == {"initialize", "deposit", "withdraw"}
    assert ran.json["fine"] is False
    assert (
        cli(
            "attack",
            vault,
            "--so",
            REPO / "programs/counter/counter.so",
            "--allow-missing",
        ).code
        == 0
    )


def test_a_program_of_another_spec_is_told(cli: Cli, vault: Path) -> None:
    assert "build it again" not in cli("attack", vault, "--only", "deposit").err
    spec = vault / "spec.py"
    text = spec.read_text(encoding="utf-8")
    changed = text.replace('has_one("mint"),\n', "\n")
    assert changed != text
    spec.write_text(changed, encoding="utf-8")
    assert "build it again" in cli("attack", vault, "--only", "deposit").err


def test_no_program_there(cli: Cli, vault: Path) -> None:
    (vault / "vault.so").unlink()
    ran = cli("attack", vault)
    assert ran.code == 1
    assert "idl2mcp build" in ran.err


def test_a_scenario_gives_the_good_call(cli: Cli, vault: Path) -> None:
    text = (REPO / "examples/attack_vault.py").read_text(encoding="utf-8")
    (vault / "attack.py").write_text(
        text + 'SKIP = {"deposit": "tried elsewhere"}\n', encoding="utf-8"
    )
    ran = cli("attack", vault, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["skipped"] == {"deposit": "tried elsewhere"}
    assert {a["instruction"] for a in ran.json["attacks"]} == {"initialize", "withdraw"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def withdrew(scene):\n    return None\n", "Did you mean 'withdraw'?"),
        ("def withdraw(scene):\n    return 5\n", "return a Call"),
        (
            "def withdraw(scene):\n    raise ValueError('no luck')\n",
            "ValueError: no luck",
        ),
        ("import nothing_there\n", "ModuleNotFoundError"),
        ("def withdraw(scene:\n", "SyntaxError"),
        ('EXPECT = {"nothing re-init": "X"}\n', "nothing"),
        ('ALLOW = {"nothing unbound vault": "why"}\n', "nothing"),
        ('ALLOW = {"withdraw has-one vault": "why"}\n', "unbound"),
        ('ALLOW = {"withdraw unbound": "why"}\n', "in ALLOW"),
        (
            "from mcpsol_py.attack import Call\n\ndef withdraw(scene):\n    scene.send('deposit', {'amount': 1}, {})\n",
            "Give it by name",
        ),
    ],
)
def test_mistakes_in_a_scenario_are_told(
    cli: Cli, vault: Path, text: str, said: str
) -> None:
    (vault / "attack.py").write_text(text, encoding="utf-8")
    ran = cli("attack", vault)
    assert ran.code == 1
    assert said in ran.err, ran.err
    assert "attack.py" in ran.err


def test_a_spec_that_changed_after_the_build_is_a_failure(
    cli: Cli, vault: Path
) -> None:
    spec, record = vault / "spec.py", vault / "vault.build.json"
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    record.write_text(
        json.dumps({**known, "spec_sha256": spec_sha256(spec)}), encoding="utf-8"
    )
    assert cli("attack", vault, "--only", "deposit").code == 0
    spec.write_text(
        spec.read_text(encoding="utf-8") + "\n# another body\n", encoding="utf-8"
    )
    stale = cli("attack", vault, "--only", "deposit", "--json")
    assert (stale.code, stale.json["built_from_another_spec"]) == (1, True)
    assert "build it again" in stale.err


def test_a_skeleton_is_written_once_and_can_be_run(cli: Cli) -> None:
    folder = cli.folder / "x402"
    folder.mkdir()
    for name in ("spec.py", "x402.so"):
        shutil.copyfile(REPO / "programs/x402" / name, folder / name)
    line = ("attack", folder, "--only", "settle", "--skeleton")
    assert cli(*line).code == 1
    scenario = folder / "attack.py"
    text = scenario.read_text(encoding="utf-8")
    assert "def settle(scene: Scene) -> Call:" in text
    assert set(read_scenario(scenario, load(folder / "spec.py")).calls) == {"settle"}
    again = cli(*line)
    assert (again.code, "overwrites nothing" in again.err) == (1, True)
    assert scenario.read_text(encoding="utf-8") == text
