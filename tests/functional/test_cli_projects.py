"""`idl2mcp new` and `idl2mcp test`: nothing is overwritten, names are checked, and what tests never reach is listed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from idl2mcp.commands import new
from mcpsol_py.errors import SourceError
from mcpsol_py.render import is_older_than_spec, render
from mcpsol_py.sources.detect import read
from tests.functional.cli import Cli


def test_a_project_is_made(cli: Cli) -> None:
    made = cli("new", "tip_jar", "--json")
    assert made.code == 0
    files = ["README.md", ".gitignore", "spec.py", "tests/test_tip_jar.py"]
    assert sorted(made.json["files"]) == sorted(files)
    folder = cli.folder / "tip_jar"
    assert all((folder / name).is_file() for name in files)
    text = "".join((folder / name).read_text() for name in files)
    assert "starter" not in text.lower()
    assert "class TipJar:" in text
    assert read(folder / "spec.py").name == "tip_jar"


def test_an_empty_folder_is_filled(cli: Cli) -> None:
    (cli.folder / "there").mkdir()
    assert cli("new", "there").code == 0


@pytest.mark.parametrize(
    "name", ["Tip", "tip-jar", "1st", "fn", "class", "std", "tip jar", "é"]
)
def test_a_name_that_rust_or_python_cannot_use_is_refused(cli: Cli, name: str) -> None:
    refused = cli("new", name, "--json")
    assert (refused.code, refused.json["error"]["reason"]) == (1, "source_error")
    assert not (cli.folder / name).exists()


def test_what_exists_is_never_overwritten(cli: Cli) -> None:
    cli.write("taken", "a file")
    folder = cli.folder / "kept"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    elsewhere = cli.folder / "elsewhere"
    elsewhere.mkdir()
    (cli.folder / "linked").symlink_to(elsewhere)
    for name in ("taken", "kept", "linked"):
        assert cli("new", name).code == 1
    assert (cli.folder / "taken").read_text() == "a file"
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert list(elsewhere.iterdir()) == []


def test_a_link_that_comes_while_a_project_is_made_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, theirs = tmp_path / "tip_jar", tmp_path / "theirs"
    theirs.mkdir()

    def plant(_: Path) -> None:
        folder.mkdir()
        (folder / "tests").symlink_to(theirs)

    monkeypatch.setattr(new, "_check_free", plant)
    made = CliRunner().invoke(new.command, [str(folder)])
    assert isinstance(made.exception, SourceError)
    assert "is a symbolic link" in str(made.exception)
    assert not list(theirs.iterdir())


def idl2mcp_test(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run `idl2mcp test` in a process of its own, as its plugin needs a pytest of its own."""
    return subprocess.run(
        [str(Path(sys.executable).parent / "idl2mcp"), "test", *args],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


QUICK = "def test_one(program, wallet):\n    program.call('open', accounts={'owner': wallet})\n"


@pytest.fixture
def project(cli: Cli) -> Path:
    assert cli("new", "score").code == 0
    folder = cli.folder / "score"
    (folder / "tests" / "test_score.py").write_text(QUICK)
    return folder


def test_lines_and_errors_that_no_test_reached_are_listed(project: Path) -> None:
    ran = idl2mcp_test(project)
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.splitlines()
    assert (
        "the tests passed; bodies: 1 of 7 lines ran; errors: 0 of 2 returned; instructions: 1 of 3 called"
        in said
    )
    spec = (project / "spec.py").read_text().splitlines()
    place = spec.index("            score.points += points") + 1
    assert f"  never ran: spec.py:{place}: add: score.points += points" in said
    assert "  never returned: TooMany" in said
    assert idl2mcp_test(project, "--strict").returncode == 1


def test_a_failed_test_is_a_failure(project: Path) -> None:
    (project / "tests" / "test_score.py").write_text(
        "def test_no():\n    assert False\n"
    )
    ran = idl2mcp_test(project, "--json")
    assert ran.returncode == 1
    assert '"passed": false' in ran.stdout


def test_arguments_after_two_dashes_go_to_pytest(project: Path) -> None:
    ran = idl2mcp_test(project, ".", "--", "-k", "nothing_like_this")
    assert ran.returncode == 1
    assert "there are no tests" in ran.stdout


def test_a_folder_without_a_spec_is_refused(cli: Cli) -> None:
    refused = cli("test", ".")
    assert refused.code == 1
    assert "idl2mcp new" in refused.err


def test_a_spec_is_not_run_where_that_is_forbidden(cli: Cli, project: Path) -> None:
    assert cli("test", project, "--no-exec").code == 1


def test_a_crate_is_older_than_its_spec_until_it_is_rendered_again(
    project: Path,
) -> None:
    spec = project / "spec.py"
    assert is_older_than_spec(project)
    render(read(spec), out=project)
    assert not is_older_than_spec(project)
    later = (project / "src" / "lib.rs").stat().st_mtime + 60
    os.utime(spec, (later, later))
    assert is_older_than_spec(project)


def test_a_crate_without_a_spec_is_as_new_as_can_be(tmp_path: Path) -> None:
    assert not is_older_than_spec(tmp_path)
