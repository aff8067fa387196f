"""What the functional tests share: the command line, the toolchains of this machine, and what they can do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mcpsol_py.build.cargo import Compiled, compile_crate, read_crate
from mcpsol_py.build.toolchain import Toolchain, find_toolchain
from mcpsol_py.calls import follow
from mcpsol_py.errors import ToolchainMissing
from tests.functional.canaries import CANARIES, TABLE, Ability, judge
from tests.functional.cli import Cli
from tests.functional.targets import built_crate

PUPPET = Path(__file__).resolve().parents[1] / "puppet"
_judged: dict[str, Ability] = {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the toolchain can do, by name, where canaries ran."""
    if _judged:
        terminalreporter.section("what the SVM toolchain gets right")
        for ability in _judged.values():
            terminalreporter.write_line(str(ability))


@pytest.fixture
def cli(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cli:
    """The command line, in a folder of its own."""
    monkeypatch.delenv("IDL2MCP_DEBUG", raising=False)
    monkeypatch.delenv("IDL2MCP_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return Cli(tmp_path, capsys)


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transports retry at once, and a sent transaction is asked about often."""
    monkeypatch.setattr(random, "uniform", lambda *_: 0.001)
    monkeypatch.setattr(follow, "POLL", 0.01)


@pytest.fixture(scope="session")
def no_std_toolchain() -> Toolchain:
    """The compiler for programs without the standard library; skips where there is none."""
    try:
        return find_toolchain("no-std")
    except ToolchainMissing as missing:
        pytest.skip(f"no compiler for the SVM: {missing}")


@pytest.fixture(scope="session")
def std_toolchain() -> Toolchain:
    """The compiler for programs with the standard library; skips where there is none."""
    try:
        return find_toolchain("std")
    except ToolchainMissing as missing:
        pytest.skip(f"no compiler for the SVM: {missing}")


@pytest.fixture(scope="session")
def puppet(no_std_toolchain: Toolchain) -> bytes:
    """A program that does with the wallet's signature what an account of its owner says (tests/puppet)."""
    return built_crate(PUPPET, no_std_toolchain).read_bytes()


@pytest.fixture(scope="session")
def canaries(no_std_toolchain: Toolchain) -> dict[str, Compiled]:
    """Every canary that does without the standard library, built."""
    folders = [
        source.parent
        for source in sorted(CANARIES.glob("*/src"))
        if source.parent.name != "harness"
    ]
    crates = [read_crate(folder) for folder in folders]
    return {
        crate.name: compile_crate(crate, no_std_toolchain)
        for crate in crates
        if not crate.std
    }


@pytest.fixture(scope="session")
def toolchain_abilities(canaries: dict[str, Compiled]) -> dict[str, Ability]:
    """What the compiler gets right, by the canaries' names, in an SVM as it is on mainnet."""
    abilities = {
        name: judge(name, compiled.so)
        for name, compiled in canaries.items()
        if name in TABLE
    }
    _judged.update(abilities)
    return abilities


@pytest.fixture(scope="session")
def std_abilities(std_toolchain: Toolchain) -> dict[str, Ability]:
    """The same for the compiler with the standard library. Its first build on a machine takes minutes."""
    crates = [source.parent for source in sorted(CANARIES.glob("std_*/src"))]
    abilities = {
        crate.name: judge(crate.name, built_crate(crate, std_toolchain))
        for crate in crates
    }
    _judged.update(abilities)
    return abilities
