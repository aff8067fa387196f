"""`idl2mcp attack` on the committed programs: each kind of attack by name with the error it must get; and on programs
that were broken on purpose, one check at a time, of which it must find just that check.

The table below is written by hand from the specs; the tool derives what it expects from the model.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.attack import Report, attack_program
from mcpsol_py.attack.run import read_scenario
from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.program import Program
from mcpsol_py.render import render
from mcpsol_py.schema.mcp_tools import tools
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.sources.spec import read_spec
from tests.functional.canaries import Ability
from tests.functional.targets import built

REPO = Path(__file__).resolve().parents[2]


@cache
def attacked(program: str, so: Path | None = None, features: str = "default") -> Report:
    folder = REPO / "programs" / program
    loaded = load(folder / "spec.py")
    scenario = (
        read_scenario(folder / "attack.py", loaded)
        if (folder / "attack.py").is_file()
        else None
    )
    elf = (so or folder / f"{program}.so").read_bytes()
    return attack_program(loaded, elf, scenario=scenario, features=features)


def errors(report: Report, instruction: str, kind: str, target: str) -> set[str]:
    """By which errors the attacks of a kind on an account were refused; "" for one that went through."""
    return {
        r.got
        for r in report.results
        if (r.instruction, r.kind, r.target) == (instruction, kind, target)
    }


# --- each attack by its name ------------------------------------------------------------------------------------------

STATE = {
    "not-writable": "ConstraintMut",
    "wrong-owner": "AccountOwnedByWrongProgram",
    "not-initialized": "AccountNotInitialized",
    "look-alike": "AccountDiscriminatorMismatch",
    "wrong-address": "ConstraintSeeds",
    "other-bump": "ConstraintSeeds",
}
DATA = {
    "truncated-data": {"InstructionDidNotDeserialize", "InstructionFallbackNotFound"},
    "trailing-data": {"InstructionDidNotDeserialize"},
}
NO_ARGUMENTS = {
    "truncated-data": {"InstructionFallbackNotFound"},
    "trailing-data": {"InstructionDidNotDeserialize"},
}

#: program -> instruction -> account (or argument, "data", "accounts") -> kind -> the error, or all of them
EXPECTED: dict[str, dict[str, dict[str, dict[str, str | set[str]]]]] = {
    "counter": {
        "initialize": {
            "counter": {
                "not-writable": "ConstraintMut",
                "wrong-address": "ConstraintSeeds",
                "other-bump": "ConstraintSeeds",
                "re-init": "AccountDiscriminatorAlreadySet",
                "dust": "",
            },
            "authority": {
                "missing-signer": "AccountNotSigner",
                "not-writable": "ConstraintMut",
            },
            "system_program": {"fake-program": "InvalidProgramId"},
            "start": {"arithmetic": ""},
            "data": {**DATA},
            "accounts": {"too-few-accounts": "AccountNotEnoughKeys"},
        },
        "increment": {
            "counter": {**STATE, "has-one": "ConstraintHasOne"},
            "authority": {
                "missing-signer": "AccountNotSigner",
                "has-one": "ConstraintHasOne",
            },
            "amount": {"arithmetic": {"", "Overflow"}},
            "data": {**DATA},
            "accounts": {"too-few-accounts": "AccountNotEnoughKeys"},
        },
        "decrement": {
            "counter": {**STATE, "has-one": "ConstraintHasOne"},
            "authority": {
                "missing-signer": "AccountNotSigner",
                "has-one": "ConstraintHasOne",
            },
            "amount": {"arithmetic": {"", "Underflow"}},
            "data": {**DATA},
            "accounts": {"too-few-accounts": "AccountNotEnoughKeys"},
        },
        "close": {
            "counter": {
                **STATE,
                "has-one": "ConstraintHasOne",
                "revival": {"", "AccountNotInitialized"},
                "close": "",
            },
            "authority": {
                "missing-signer": "AccountNotSigner",
                "has-one": "ConstraintHasOne",
            },
            "data": {**NO_ARGUMENTS},
            "accounts": {"too-few-accounts": "AccountNotEnoughKeys"},
        },
    },
    "vault": {
        "initialize": {
            "vault": {
                "re-init": "AccountDiscriminatorAlreadySet",
                "wrong-address": "ConstraintSeeds",
                "dust": "",
            },
            "tokens": {
                "re-init": "AccountDiscriminatorAlreadySet",
                "wrong-address": "ConstraintSeeds",
                "duplicate": "ConstraintDuplicateMutableAccount",
            },
            "mint": {
                "wrong-owner": "AccountOwnedByWrongProgram",
                "not-a-mint": "AccountDidNotDeserialize",
            },
            "authority": {"missing-signer": "AccountNotSigner"},
            "token_program": {"fake-program": "InvalidProgramId"},
            "system_program": {"fake-program": "InvalidProgramId"},
            "data": {**NO_ARGUMENTS},
        },
        "deposit": {
            "vault": {**STATE, "has-one": "ConstraintHasOne"},
            "tokens": {
                "wrong-owner": "AccountOwnedByWrongProgram",
                "wrong-address": "ConstraintSeeds",
                "wrong-mint": "ConstraintTokenMint",
                "wrong-token-owner": "ConstraintTokenOwner",
                "not-a-token-account": "AccountDidNotDeserialize",
                "duplicate": "ConstraintDuplicateMutableAccount",
            },
            "source": {
                "wrong-mint": "ConstraintTokenMint",
                "wrong-token-owner": "ConstraintTokenOwner",
                "duplicate": "ConstraintDuplicateMutableAccount",
            },
            "mint": {
                "has-one": "ConstraintHasOne",
                "not-a-mint": "AccountDidNotDeserialize",
            },
            "depositor": {"missing-signer": "AccountNotSigner"},
            "token_program": {"fake-program": "InvalidProgramId"},
            "amount": {"arithmetic": {"", "ZeroAmount", "Overflow"}},
            "data": {**DATA},
        },
        "withdraw": {
            "vault": {**STATE, "has-one": {"WrongAuthority", "ConstraintHasOne"}},
            "tokens": {
                "wrong-address": "ConstraintSeeds",
                "duplicate": "ConstraintDuplicateMutableAccount",
            },
            "destination": {
                "wrong-mint": "ConstraintTokenMint",
                "duplicate": "ConstraintDuplicateMutableAccount",
            },
            "authority": {
                "missing-signer": "AccountNotSigner",
                "has-one": "WrongAuthority",
            },
            "token_program": {"fake-program": "InvalidProgramId"},
            "amount": {"arithmetic": {"", "ZeroAmount", "NotEnoughTokens", "Overflow"}},
            "data": {**DATA},
            "accounts": {"too-few-accounts": "AccountNotEnoughKeys"},
        },
    },
}
ROWS = [
    (program, instruction, target, kind, {error} if isinstance(error, str) else error)
    for program, instructions in EXPECTED.items()
    for instruction, targets in instructions.items()
    for target, kinds in targets.items()
    for kind, error in kinds.items()
]


@pytest.mark.parametrize(("program", "instruction", "target", "kind", "error"), ROWS)
def test_each_attack_is_refused_by_its_name(
    program: str, instruction: str, target: str, kind: str, error: set[str]
) -> None:
    assert errors(attacked(program), instruction, kind, target) == error


def test_data_of_no_instruction_is_refused() -> None:
    for program in ("counter", "vault"):
        assert errors(
            attacked(program), "initialize", "unknown-instruction", "data"
        ) == {"InstructionFallbackNotFound"}


@pytest.mark.parametrize("program", ["counter", "vault", "x402"])
def test_the_committed_programs_stand_all_attacks(program: str) -> None:
    report = attacked(program)
    assert [str(r) for r in report.results if not r.fine] == []
    assert report.not_attacked == {}
    assert report.skipped == {}
    assert (
        report.instructions
        == load(REPO / "programs" / program / "spec.py").instructions
    )
    assert not any(r.changed for r in report.results)


def test_the_x402_program_stands_them_with_token_2022_too() -> None:
    folder = REPO / "programs/x402"
    program = load(folder / "spec.py")
    scenario = read_scenario(folder / "attack.py", program)
    elf = (folder / "x402.so").read_bytes()
    report = attack_program(
        program, elf, scenario=scenario, token_program=TOKEN_2022_PROGRAM
    )
    assert [str(r) for r in report.results if not r.fine] == []
    assert report.not_attacked == {}
    assert len(report.results) == len(attacked("x402").results)


def test_what_anyone_may_put_in_is_listed() -> None:
    assert attacked("counter").unbound == []
    assert attacked("vault").unbound == ["deposit.source", "withdraw.destination"]


def test_what_only_the_program_itself_can_call_is_attacked_as_strangers_can() -> None:
    """The x402 program's event call: an address of its own must sign."""
    own = [r for r in attacked("x402").results if r.instruction == "emit_event"]
    assert {(r.kind, r.got) for r in own} == {
        ("missing-signer", "MissingRequiredSignature"),
        ("wrong-address", "InvalidEventAuthority"),
    }
    assert "emit_event" not in {
        tool["name"] for tool in tools(read_spec(REPO / "programs/x402/spec.py"))
    }


@pytest.mark.rust
@pytest.mark.parametrize("target", ["native", "anchor"])
@pytest.mark.parametrize("program", ["counter", "vault"])
def test_the_other_targets_stand_them_too(
    target: str,
    program: str,
    std_abilities: dict[str, Ability],
    std_toolchain: Toolchain,
) -> None:
    wrong = [str(ability) for ability in std_abilities.values() if not ability.right]
    if wrong:
        pytest.skip("the compiler gets canaries wrong: " + "; ".join(wrong))
    report = attacked(program, built(target, program, std_toolchain), "all")
    assert [str(r) for r in report.results if not r.fine] == []
    assert report.not_attacked == {}
    assert len(report.results) == len(attacked(program).results)


# --- every constraint -------------------------------------------------------------------------------------------------


def everything(target: str, folder: Path, toolchain: Toolchain) -> Report:
    """What attack says of `attack_spec`, rendered for a target, with handlers that do nothing."""
    model = read_spec(REPO / "tests/functional/attack_spec.py")
    crate = folder / "everything"
    render(model, target=target, out=crate)
    for handler in (crate / "src/processor").glob("*.rs"):
        text = handler.read_text(encoding="utf-8")
        for refusal in (
            "Err(Check::InstructionNotWritten.into())",
            "Err(not_written())",
        ):
            text = text.replace(
                f"    {refusal}",
                f"    if false {{\n        return {refusal};\n    }}\n    Ok(())",
            )
        handler.write_text(text, encoding="utf-8")
    elf = compile_crate(read_crate(crate), toolchain).so.read_bytes()
    return attack_program(
        Program(model), elf, features="default" if target == "pinocchio" else "all"
    )


def stands(report: Report) -> None:
    assert [str(r) for r in report.results if not r.fine] == []
    assert report.not_attacked == {}
    assert report.unbound == ["checks.owned", "coins.other", "coins.pool"]


@pytest.mark.rust
@pytest.mark.slow
def test_the_generated_checks_alone_stand_all_attacks(
    no_std_toolchain: Toolchain, tmp_path: Path
) -> None:
    report = everything("pinocchio", tmp_path, no_std_toolchain)
    stands(report)
    page = (REPO / "docs/attack.md").read_text(encoding="utf-8")
    page = page.partition("## The attacks")[2].partition("## The good call")[0]
    told = {
        kind
        for row in re.findall(r"^\| (`[a-z`, -]+) \|", page, re.M)
        for kind in re.findall(r"`([a-z-]+)`", row)
    }
    assert told == {r.kind for r in report.results}, (
        "the page's table has each kind, and this spec every one"
    )


@pytest.mark.rust
@pytest.mark.full
@pytest.mark.parametrize("target", ["native", "anchor"])
def test_those_of_the_other_targets_do_too(
    target: str, std_toolchain: Toolchain, tmp_path: Path
) -> None:
    stands(everything(target, tmp_path, std_toolchain))


# --- programs that were broken on purpose -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A check that is taken out: in *file* of the crate's src, *old* is written as *new* (spaces and lines of *old* may
    stand otherwise there). `finds`: (verdict, kind, instruction) of all that attack must find, and nothing else."""

    name: str
    program: str
    file: str
    old: str
    new: str
    finds: frozenset[tuple[str, str, str]]


def mutant(
    name: str, program: str, file: str, old: str, new: str, *finds: str
) -> Mutant:
    found = frozenset(tuple(find.split()) for find in finds)
    return Mutant(name, program, file, old, new, found)  # type: ignore[arg-type]  # three words each


INCREMENT, STATE_FILE, CHECKS = (
    "instruction/increment.rs",
    "state/state_account.rs",
    "checks.rs",
)
HAS_ONE = """            checks::equal(
                &state.authority,
                authority.address(),
                Check::ConstraintHasOne,
            )?;
"""
DERIVED = """        checks::derived(
            counter,
            &[b"counter".as_slice(), authority.address().as_ref()],
            counter_bump,
            program_id,
            Check::ConstraintSeeds,
        )?;
"""
SYSTEM_PROGRAM = """        checks::equal(
            system_program.address(),
            &ids::SYSTEM_PROGRAM,
            Check::InvalidProgramId,
        )?;
"""
#: built in every CI run
FEW = [
    mutant(
        "signer",
        "counter",
        INCREMENT,
        "        checks::signer(authority)?;\n",
        "",
        "hole missing-signer increment",
    ),
    mutant(
        "owner",
        "counter",
        INCREMENT,
        "        checks::state(counter, program_id)?;\n",
        "",
        "misnamed wrong-owner increment",  # the SVM does not let it write there
        "misnamed not-initialized increment",
    ),
    mutant("has_one", "counter", INCREMENT, HAS_ONE, "", "hole has-one increment"),
    mutant(
        "seeds",
        "counter",
        INCREMENT,
        DERIVED,
        "",
        "hole wrong-address increment",
        "hole other-bump increment",
    ),
    mutant(
        "trailing bytes",
        "counter",
        INCREMENT,
        "ensure(data.len() == 8,",
        "ensure(data.len() >= 8,",
        "hole trailing-data increment",
    ),
    mutant(
        "overflow",
        "counter",
        "processor/increment.rs",
        ".checked_add(args.amount)\n            .ok_or(CounterError::Overflow)?",
        ".wrapping_add(args.amount)",
        "hole arithmetic increment",
    ),
    mutant(
        "close",
        "counter",
        CHECKS,
        "    account.try_borrow_mut()?.fill(0);\n    destination.set_lamports(total);\n    account.set_lamports(0);\n"
        "    account.close()\n",
        "    destination.set_lamports(total);\n    account.set_lamports(0);\n    Ok(())\n",
        "hole revival close",
    ),
    mutant(
        "duplicate",
        "vault",
        "instruction/withdraw.rs",
        "        checks::different(tokens, destination)?;\n",
        "",
        "hole duplicate withdraw",
    ),
    mutant(
        "system program",
        "vault",
        "instruction/initialize.rs",
        SYSTEM_PROGRAM,
        "",
        "misnamed fake-program initialize",  # the true one is not there to be called
    ),
]
#: built by `make full`
MORE = [
    mutant(
        "writable",
        "counter",
        INCREMENT,
        "        checks::writable(counter)?;\n",
        "",
        "misnamed not-writable increment",
    ),
    mutant(
        "discriminator",
        "counter",
        STATE_FILE,
        "&& u64::from_le_bytes(*found) == u64::from_le_bytes(Self::DISCRIMINATOR) =>",
        "=>",
        *(f"hole look-alike {name}" for name in ("increment", "decrement", "close")),
    ),
    mutant(
        "length of state",
        "counter",
        STATE_FILE,
        "if data.len() >= Self::LEN && u64",
        "if u64",
        *(
            f"misnamed short-account {name}"
            for name in ("increment", "decrement", "close")
        ),
    ),
    mutant(
        "already there",
        "counter",
        CHECKS,
        "        ensure(is_new(self.account), Check::AccountDiscriminatorAlreadySet)?;\n        pinocchio_system",
        "        pinocchio_system",
        "misnamed re-init initialize",
    ),
    mutant(
        "underflow",
        "counter",
        "processor/decrement.rs",
        ".checked_sub(args.amount)\n            .ok_or(CounterError::Underflow)?",
        ".wrapping_sub(args.amount)",
        "hole arithmetic decrement",
    ),
    mutant(
        "multisig",
        "vault",
        CHECKS,
        "(data.len() != MULTISIG_SIZE && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))",
        "(MULTISIG_SIZE > 0 && data.get(TOKEN_ACCOUNT_SIZE) == Some(&kind))",
        "misnamed not-a-token-account deposit",
        "misnamed not-a-token-account withdraw",
    ),
    mutant(
        "token owner",
        "vault",
        CHECKS,
        "at(data, 32) == Some(authority.as_array())",
        "(at(data, 32) == Some(authority.as_array()) || !data.is_empty())",
        "hole wrong-token-owner deposit",
        "misnamed wrong-token-owner deposit",
        "misnamed wrong-token-owner withdraw",
    ),
    mutant(
        "mint",
        "vault",
        "instruction/deposit.rs",
        "        checks::mint_account(mint, None, None, Some(token_program.address()))?;\n",
        "",
        "hole wrong-owner deposit",
        "hole not-initialized deposit",
        "hole not-a-mint deposit",
    ),
]


@pytest.fixture(scope="module")
def crates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The committed programs in a folder of their own, to be broken; what they have in common is compiled once."""
    folder = tmp_path_factory.mktemp("mutants") / "programs"
    shutil.copytree(
        REPO / "programs", folder, ignore=shutil.ignore_patterns("target", "*.so")
    )
    yield folder
    shutil.rmtree(folder)


def found_in(
    mutant: Mutant, crates: Path, toolchain: Toolchain, tmp_path: Path
) -> set[tuple[str, str, str]]:
    """(verdict, kind, instruction) of what attack finds in a mutant."""
    file = crates / mutant.program / "src" / mutant.file
    whole = file.read_text(encoding="utf-8")
    pattern = r"\s*".join(re.escape(word) for word in re.findall(r"\w+|\S", mutant.old))
    broken, count = re.subn(pattern, lambda _: mutant.new, whole)
    assert count == 1, f"the check to take out stands {count} times in {mutant.file}"
    try:
        file.write_text(broken, encoding="utf-8")
        so = tmp_path / "mutant.so"
        shutil.copyfile(
            compile_crate(read_crate(crates / mutant.program), toolchain).so, so
        )
    finally:
        file.write_text(whole, encoding="utf-8")
    report = attacked(mutant.program, so)
    assert report.not_attacked == {}
    return {(r.verdict, r.kind, r.instruction) for r in report.results if not r.fine}


@pytest.mark.rust
@pytest.mark.slow
@pytest.mark.parametrize("mutant", FEW, ids=lambda m: m.name)
def test_a_missing_check_is_found(
    mutant: Mutant, crates: Path, no_std_toolchain: Toolchain, tmp_path: Path
) -> None:
    assert found_in(mutant, crates, no_std_toolchain, tmp_path) == mutant.finds


@pytest.mark.rust
@pytest.mark.full
@pytest.mark.parametrize("mutant", MORE, ids=lambda m: m.name)
def test_more_missing_checks_are_found(
    mutant: Mutant, crates: Path, no_std_toolchain: Toolchain, tmp_path: Path
) -> None:
    assert found_in(mutant, crates, no_std_toolchain, tmp_path) == mutant.finds
