"""What this machine's compiler for the SVM can do, asked of small programs with known answers (tests/canaries)."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest
from solders.instruction import AccountMeta
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.system_program import ID as SYSTEM_PROGRAM

from mcpsol_py.build import build_program
from mcpsol_py.build.cargo import Compiled, compile_crate, read_crate
from mcpsol_py.build.ir_check import check_ir
from mcpsol_py.build.toolchain import Debian, Toolchain, installer
from mcpsol_py.errors import TooManyArguments, WrongArithmetic
from tests.functional.canaries import (
    CANARIES,
    SPECIAL,
    TABLE,
    Ability,
    Asker,
    judge,
    svm_without_stack_gaps,
)

pytestmark = pytest.mark.rust

NEEDS_STD = ("std_format", "std_hash_set")
#: A sixth argument goes into the callee's frame, which an SVM with stack gaps refuses.
NEEDS_AN_SVM_WITHOUT_STACK_GAPS = ("six_arguments", "seven_arguments")


def test_every_canary_is_asked() -> None:
    folders = {source.parent.name for source in CANARIES.glob("*/src")} - {"harness"}
    assert folders == set(TABLE) | set(SPECIAL)


def test_the_rust_sources_are_formatted(no_std_toolchain: Toolchain) -> None:
    sources = [
        *sorted(CANARIES.glob("*/src/lib.rs")),
        installer().with_name("builtins.rs"),
    ]
    config = ["--edition", "2021", "--config-path", str(CANARIES / "rustfmt.toml")]
    done = subprocess.run(
        ["/usr/bin/rustfmt", "--check", *config, *sources],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name",
    [n for n in TABLE if n not in (*NEEDS_AN_SVM_WITHOUT_STACK_GAPS, *NEEDS_STD)],
)
def test_the_compiler_gets_it_right(
    name: str, toolchain_abilities: dict[str, Ability]
) -> None:
    assert toolchain_abilities[name].right, toolchain_abilities[name]


@pytest.mark.parametrize("name", NEEDS_AN_SVM_WITHOUT_STACK_GAPS)
def test_more_than_five_arguments_need_an_svm_without_stack_gaps(
    name: str, canaries: dict[str, Compiled]
) -> None:
    ability = judge(name, canaries[name].so, svm_without_stack_gaps())
    assert ability.right, ability
    count = {"six_arguments": 6, "seven_arguments": 7}[name]
    with pytest.raises(TooManyArguments) as caught:
        build_program(CANARIES / name)
    assert caught.value.functions == (f"{name}::sum ({count} arguments)",)
    assert f"entrypoint > {name}::sum" in str(caught.value)


@pytest.mark.parametrize("name", ["unreached_arguments", "list_growth", "float"])
def test_a_program_that_never_makes_such_a_call_builds(
    name: str, no_std_toolchain: Toolchain
) -> None:
    assert build_program(CANARIES / name).wrong == ()


def test_sysvars_are_read(canaries: dict[str, Compiled]) -> None:
    svm = LiteSVM()
    svm.warp_to_slot(1234)
    asker = Asker(svm, canaries["sysvar"].so)
    clock = svm.get_clock()
    for size in (0, 1, 165, 10_240):
        answer, why = asker.ask(size.to_bytes(8, "little"))
        assert answer is not None, why
        slot, time, rent = (
            int.from_bytes(answer.ljust(24, b"\0")[n : n + 8], "little")
            for n in (0, 8, 16)
        )
        assert (slot, time, rent) == (
            1234,
            clock.unix_timestamp,
            svm.minimum_balance_for_rent_exemption(size),
        )


def test_a_pda_signs_a_cpi(canaries: dict[str, Compiled]) -> None:
    svm = LiteSVM()
    asker = Asker(svm, canaries["cpi_signed_by_pda"].so)
    seed = b"seventeen bytes.."
    address, _ = Pubkey.find_program_address([b"canary", seed], asker.program)

    def send(created: Pubkey) -> object:
        payer = AccountMeta(asker.payer.pubkey(), is_signer=True, is_writable=True)
        accounts = [
            payer,
            AccountMeta(created, False, True),
            AccountMeta(SYSTEM_PROGRAM, False, False),
        ]
        return svm.send_transaction(asker.transaction(seed, accounts))

    assert "InvalidSeeds" in str(send(Pubkey.new_unique()))
    outcome = send(address)
    assert not hasattr(outcome, "err"), outcome
    created = svm.get_account(address)
    assert created is not None
    assert (created.owner, len(created.data)) == (asker.program, 24)
    assert created.lamports == svm.minimum_balance_for_rent_exemption(24)


@pytest.mark.parametrize("name", NEEDS_STD)
def test_the_standard_library_works(
    name: str, std_abilities: dict[str, Ability]
) -> None:
    assert std_abilities[name].right, std_abilities[name]


# ------------------------------------------------------------------------------------------- arithmetic of 128 bits


def test_what_the_compiler_would_get_wrong_is_refused(
    no_std_toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without our builtins, with those of another compiler: `wrong_builtins` builds, and its product is read astray."""
    assert isinstance(no_std_toolchain, Debian)
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path))
    unaided = dataclasses.replace(no_std_toolchain, builtins=False)
    compiled = compile_crate(read_crate(CANARIES / "wrong_builtins"), unaided)
    assert not judge("wrong_builtins", compiled.so).right
    assert compiled.ir is not None
    (found,) = check_ir(compiled.ir).wide
    assert found.operation == "umul.with.overflow.i64"

    monkeypatch.setattr(
        "mcpsol_py.build.find_toolchain", lambda *_args, **_kwargs: unaided
    )
    with pytest.raises(WrongArithmetic) as caught:
        build_program(CANARIES / "wrong_builtins")
    assert caught.value.functions == (str(found),)


def test_a_multiply_that_is_right_passes_the_check(
    canaries: dict[str, Compiled],
) -> None:
    """The check looks for the function that is called, not for the operation alone."""
    for name in (
        "u64_checked_multiply",
        "u128_multiply",
        "u128_divide",
        "i128_divide",
        "wrong_builtins",
    ):
        ir = canaries[name].ir
        assert ir is not None
        text = ir.read_text()
        assert "i128" in text
        assert check_ir(ir).wide == (), name
        assert check_ir(ir).dynamic_syscalls == (), name


# ------------------------------------------------------------------------------------------------- the same bytes


def test_a_checkout_elsewhere_gives_the_same_bytes(
    no_std_toolchain: Toolchain, tmp_path: Path
) -> None:
    built = []
    for folder in ("a", "another, longer name"):
        copy = tmp_path / folder / "canaries"
        shutil.copytree(CANARIES, copy, ignore=shutil.ignore_patterns("target"))
        so = compile_crate(read_crate(copy / "cpi_signed_by_pda"), no_std_toolchain).so
        built.append(so.read_bytes())
        assert str(tmp_path).encode() not in built[-1]
    assert built[0] == built[1]
