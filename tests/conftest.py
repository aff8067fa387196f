"""What every test may use: the real IDLs beside the checkout, Hypothesis profiles, and the rule: CI skips nothing."""

import gc
import os
import signal
from collections.abc import Container, Generator, Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

# Assertions in helpers show their values, as those in test modules do.
pytest.register_assert_rewrite("tests.support", "tests.functional")
pytest_plugins = ["tests.leaks", "tests.databases", "tests.durations", "pytester"]

REPO = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))

# Started in the background of a script, the suite is deaf to Ctrl-C, and so would be what it starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a bridge keeps of deployed programs between starts would be read by the next test, of another chain.
os.environ["IDL2MCP_CACHE"] = ""

# anchorpy's pins need an environment of their own, where `make core-with-anchorpy` runs these too.
collect_ignore = [] if find_spec("anchorpy") else ["with_anchorpy"]

# ---------------------------------------------------------------------------------------------------------- Hypothesis
# HYPOTHESIS_PROFILE=full: for runs whose counts are reported. CI is derandomised, to fail for a change and not by luck.

_DEFAULT = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("default", parent=_DEFAULT)
settings.register_profile(
    "ci", parent=_DEFAULT, max_examples=100, derandomize=True, database=None
)
settings.register_profile("full", parent=_DEFAULT, max_examples=2000)
# A second run of the same properties, on other versions of what they stand on: a difference there shows soon.
settings.register_profile("again", parent=settings.get_profile("ci"), max_examples=25)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "default")
settings.load_profile(PROFILE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end, so the garbage collector need not walk it again and again: it
    took up to a third of the suite's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leaves out what is marked `full` except in full runs, and what is marked `slow` in a developer's runs.

    Files with slow tests come first: at the end a core would wait for the last of them.
    """
    if config.option.markexpr:
        return
    left_out = {
        "default": {"slow", "full"},
        "again": {"slow", "full"},
        "ci": {"full"},
        "full": set[str](),
    }[PROFILE]
    chosen = [
        item
        for item in items
        if not left_out & {mark.name for mark in item.iter_markers()}
    ]
    if len(chosen) < len(items):
        config.hook.pytest_deselected(
            items=[item for item in items if item not in set(chosen)]
        )
    slow = {item.path for item in chosen if item.get_closest_marker("slow")}
    items[:] = sorted(chosen, key=lambda item: item.path not in slow)


# -------------------------------------------------------------------------------- real IDLs beside the checkout

SHARED_IDLS = Path(
    os.environ.get("MCPSOL_SHARED_IDLS", REPO.parent / "shared" / "idls")
)
SHARED_IDLS_ABSENT = (
    f"the real IDLs are not at {SHARED_IDLS}: they are kept beside the checkout, not in it "
    "(MCPSOL_SHARED_IDLS may name their folder)"
)


def shared_idl_files(*dialects: str) -> list[Path]:
    """The real IDLs, sorted by name; with `dialects` ("anchor", "legacy", "shank", "codama") only theirs.

    Empty where the folder is absent.
    """
    return [
        p
        for p in sorted(SHARED_IDLS.glob("*__*.json"))
        if not dialects or p.name.split("__")[0] in dialects
    ]


def idl_params(
    files: Iterable[Path], some: Container[str] | None = None
) -> list[ParameterSet]:
    """Parameters for a test of real IDLs: a case that is skipped if there are no *files*.

    With *some*, the stems of a few files, the others are left to full runs.
    """
    cases = [
        pytest.param(
            path,
            id=path.stem,
            marks=() if some is None or path.stem in some else pytest.mark.full,
        )
        for path in files
    ]
    absent = pytest.param(
        None, id="absent", marks=pytest.mark.skip(reason=SHARED_IDLS_ABSENT)
    )
    return cases or [absent]


@pytest.fixture(scope="session")
def repo() -> Path:
    """The repository's root."""
    return REPO


#: The Program Metadata program, as .ci/program_metadata.sh leaves it.
PROGRAM_METADATA_SO = (
    Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache/mcpsol"))
    / "program-metadata"
    / "75ea1f14cecb"
) / "spl_program_metadata.so"
PROGRAM_METADATA_ABSENT = (
    f"the Program Metadata program is not at {PROGRAM_METADATA_SO}: its sources come by git, not from a registry "
    "(.ci/program_metadata.sh builds it where they can be had)"
)


@pytest.fixture(scope="session")
def program_metadata_so() -> Path:
    """The Program Metadata program, built from its authors' sources; the test is skipped where it is absent."""
    if not PROGRAM_METADATA_SO.exists():
        pytest.skip(PROGRAM_METADATA_ABSENT)
    return PROGRAM_METADATA_SO


@pytest.fixture(scope="session")
def shared_idls() -> Path:
    """The folder of the real IDLs; the test is skipped where it is absent."""
    if not shared_idl_files():
        pytest.skip(SHARED_IDLS_ABSENT)
    return SHARED_IDLS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test with the parameter `shared_idl` once for each real IDL (of the dialects in @pytest.mark.dialects)."""
    if "shared_idl" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("dialects")
    files = shared_idl_files(*(marker.args if marker else ()))
    metafunc.parametrize("shared_idl", idl_params(files))


# ---------------------------------------------------------------------------------------------------- CI skips nothing

#: Reasons (their beginning) that stay a skip in CI, and why.
SKIPS_ALLOWED_IN_CI = {
    SHARED_IDLS_ABSENT: "a clone elsewhere has no way to get them; where CI runs, they lie beside the checkout",
    "AUDITED_CHANNELS names no build": "its source is not ours to commit; make peers builds it and runs the test",
    PROGRAM_METADATA_ABSENT: "no registry has it; what is sent to it is compared with its JavaScript client anyhow",
}


def _skip_is_failure(report: pytest.TestReport | pytest.CollectReport) -> bool:
    if not (IN_CI and report.skipped) or hasattr(report, "wasxfail"):
        return False
    return not any(
        _reason(report).startswith(allowed) for allowed in SKIPS_ALLOWED_IN_CI
    )


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = (
        report.longrepr[2]
        if isinstance(report.longrepr, tuple)
        else str(report.longrepr)
    )
    return text.removeprefix("Skipped: ")


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.longrepr = (
        f"{report.nodeid} was skipped, and with CI set nothing may be: {_reason(report)}\n"
        "Make its set-up part of `make test`, or name the reason in SKIPS_ALLOWED_IN_CI (tests/conftest.py)."
    )
    report.outcome = "failed"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turns a test's skip into a failure when CI is set."""
    report = yield
    if _skip_is_failure(report):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[
    None, pytest.CollectReport, pytest.CollectReport
]:
    """The same for a module that skips itself while it is collected (`pytest.importorskip`)."""
    report = yield
    if _skip_is_failure(report):
        _fail(report)
    return report
