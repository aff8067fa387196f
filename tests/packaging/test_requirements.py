"""Each extra installs, at the newest and at the lowest versions it names; the locks are what pyproject.toml asks."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

UV = Path(sys.executable).with_name("uv")
PROJECT = tomllib.loads(
    (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
)
EXTRAS = sorted(PROJECT["project"]["optional-dependencies"])


def compiled(repo: Path, *arguments: str) -> str:
    """What `uv pip compile` prints; skipped where no package index answers."""
    command = [
        str(UV),
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--python-version",
        "3.11",
        *arguments,
    ]
    done = subprocess.run(
        command, cwd=repo, capture_output=True, text=True, check=False
    )
    if done.returncode and re.search(
        "error sending request|dns error|Could not connect|offline", done.stderr
    ):
        pytest.skip(f"no package index answers: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("resolution", ["highest", "lowest-direct"])
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_extra_resolves(repo: Path, extra: str, resolution: str) -> None:
    asked = ["--extra", extra] if extra else []
    found = compiled(
        repo,
        "pyproject.toml",
        "--no-header",
        "--no-annotate",
        "--resolution",
        resolution,
        *asked,
    )
    assert re.search(r"^solders==", found, re.MULTILINE)


def locked_command(repo: Path, name: str) -> list[str]:
    """The arguments with which `make lock` makes requirements/<name>.txt, read from .ci/lock.sh so that they agree."""
    script = (repo / ".ci/lock.sh").read_text(encoding="utf-8")
    found = re.search(rf"^compile {name} (.+)$", script, re.MULTILINE)
    assert found is not None
    return found[1].split()


@pytest.mark.parametrize("name", ["dev", "demo", "anchorpy", "fuzz"])
def test_the_locks_are_what_pyproject_asks(
    repo: Path, tmp_path: Path, name: str
) -> None:
    committed = (repo / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    again = tmp_path / "again.txt"
    # Uv keeps the versions of the output file where they still fit.
    again.write_text(committed, encoding="utf-8")
    options = [
        "--generate-hashes",
        "--no-annotate",
        "--custom-compile-command",
        "make lock",
    ]
    compiled(repo, *locked_command(repo, name), *options, "--output-file", str(again))
    assert again.read_text(encoding="utf-8") == committed, "run `make lock`"


@pytest.mark.parametrize("name", ["bootstrap", "dev", "demo", "anchorpy", "fuzz"])
def test_every_locked_package_has_a_hash(repo: Path, name: str) -> None:
    text = (repo / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    packages = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert packages
    assert [p.splitlines()[0] for p in packages if "--hash=sha256:" not in p] == []


def test_the_demo_runs_with_the_versions_that_are_tested(repo: Path) -> None:
    def pins(name: str) -> set[str]:
        text = (repo / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        return set(re.findall(r"^([a-z0-9][^ \n\\]*==\S+)", text, re.MULTILINE))

    assert pins("demo") <= pins("dev")
