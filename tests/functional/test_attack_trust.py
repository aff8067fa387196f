"""`idl2mcp attack` on a program with one hole of each kind that no constraint names, and on twins without."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.attack import Report, attack_program
from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.program import load
from mcpsol_py.render import render_crate

SPEC = Path(__file__).with_name("trust_spec.py")

pytestmark = [pytest.mark.rust, pytest.mark.slow]

#: The checks that the second program lacks: (file, text, what stands there instead).
REMOVED = (
    (
        "instruction/maybe.rs",
        "checks::given(authority.as_ref())?.address()",
        "authority.as_ref().map_or(&state.authority, |given| given.address())",
    ),
    ("instruction/tally.rs", "checks::signer(account)?;", "checks::data(account)?;"),
    (
        "instruction/gather.rs",
        "checks::state(account, program_id)?;",
        "checks::data(account)?;",
    ),
    (
        "instruction/weigh.rs",
        "checks::token_account(account, None, None, None)?;",
        "checks::data(account)?;",
    ),
    ("checks.rs", "data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind)", "kind > 0"),
    (
        "processor/use_any.rs",
        ".ok_or(ProgramError::ArithmeticOverflow)?",
        ".unwrap_or_else(|| panic!())",
    ),
)


def attacked(
    folder: Path, toolchain: Toolchain, removed: tuple[tuple[str, str, str], ...]
) -> Report:
    """Attack the program, without some checks."""
    program = load(SPEC)
    render_crate(program, out=folder / "trust", source="a spec")
    source = folder / "trust" / "src"
    for name in ("maybe", "tally", "gather", "weigh", "price", "tip"):
        path = source / "processor" / f"{name}.rs"
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace("Err(Check::InstructionNotWritten.into())", "Ok(())").replace(
                "        error::Check,\n", ""
            ),
            encoding="utf-8",
        )
    for name, old, new in removed:
        path = source / name
        text = path.read_text(encoding="utf-8")
        assert old in text, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")
    elf = compile_crate(read_crate(folder / "trust"), toolchain).so.read_bytes()
    return attack_program(program, elf)


@pytest.fixture(scope="module")
def whole(
    no_std_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Report:
    return attacked(tmp_path_factory.mktemp("whole"), no_std_toolchain, ())


@pytest.fixture(scope="module")
def broken(
    no_std_toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Report:
    return attacked(tmp_path_factory.mktemp("broken"), no_std_toolchain, REMOVED)


def bad(report: Report) -> set[tuple[str, str, str]]:
    return {(r.verdict, r.kind, r.instruction) for r in report.results if not r.fine}


#: What the spec itself leaves open.
BY_ANYBODY = {
    ("hole", "unbound", name)
    for name in (
        "shut_any",
        "shut_silent",
        "shut_derived",
        "shut_for",
        "shut_for_config",
        "shut_maybe",
    )
}


def test_state_that_nothing_binds_is_closed_by_anybody(whole: Report) -> None:
    assert whole.not_attacked == {}
    assert bad(whole) == BY_ANYBODY


def test_what_the_author_must_judge_is_listed(whole: Report) -> None:
    listed = set(whole.unbound)
    assert {"use_any.vault", "by_bump.receipt"} <= listed
    assert {"approve.checker=maker", "tally.voters=voters"} <= set(whole.two_roles)
    assert not any(
        name.startswith(("shut_own.", "shut_chain.", "keep.")) for name in listed
    )


def test_lamports_that_go_on_are_no_hole(whole: Report) -> None:
    """A vault that is closed to a wallet, and a part whose vault is closed in the same call."""
    closes = [r for r in whole.results if r.kind == "close"]
    closing = {"shut_own", "shut_chain", "shut_to_wallet", "shut_back", "shut_as_admin"}
    assert {r.instruction for r in closes} >= closing
    assert all(r.fine for r in closes)


def test_each_missing_check_is_found(broken: Report) -> None:
    assert bad(broken) - BY_ANYBODY == {
        ("hole", "left-out", "maybe"),
        ("hole", "remaining", "tally"),
        ("hole", "remaining", "gather"),
        ("misnamed", "remaining", "gather"),  # an account without data
        ("hole", "remaining", "weigh"),
        ("hole", "remaining", "price"),  # like spend's, a type byte that is not read
        ("hole", "not-a-token-account", "spend"),
        ("misnamed", "arithmetic", "use_any"),
    }
