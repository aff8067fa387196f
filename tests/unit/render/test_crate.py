"""Whole crates: the committed ones are what their specs render to, and a hostile source cannot change the code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py import load, render_crate
from mcpsol_py.model.program import (
    Account,
    Constant,
    Discriminator,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import (
    BOOL,
    BORSH_STRING,
    INTS,
    PUBKEY,
    U8,
    U64,
    Struct,
)
from mcpsol_py.render import render
from mcpsol_py.render.crate import plan
from mcpsol_py.render.view import crate_view
from mcpsol_py.sources.spec import read_spec
from tests.golden.programs.regen import REPO, regenerate, specs
from tests.support.nasty_programs import NASTY, program, strings_gone
from tests.unit.render.rust_lexer import tokens

CARGO = shutil.which("cargo")


@pytest.mark.parametrize("spec", specs(), ids=lambda path: path.parent.name)
def test_the_committed_crate_is_what_its_spec_renders_to(
    spec: Path, tmp_path: Path
) -> None:
    committed = spec.parent
    # The author's; the crate keeps the functions that they use.
    handlers = Path("src/processor")
    shutil.copytree(
        committed / handlers,
        tmp_path / handlers,
        ignore=shutil.ignore_patterns("mod.rs"),
    )
    regenerate(spec, tmp_path)
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    owned = [
        p
        for p in made
        if p.name == "Cargo.toml"
        or (p.parts[1:2] == ("processor",) and p.name != "mod.rs")
    ]
    for path in made:
        assert (committed / path).exists(), f"{path}: run `make regen`"
        if path not in owned:
            assert (committed / path).read_bytes() == (tmp_path / path).read_bytes(), (
                f"{path}: run `make regen`"
            )
    there = {
        p.relative_to(committed) for p in (committed / "src").rglob("*") if p.is_file()
    }
    shared_parts = {p for p in there if p.parts[:3] == ("src", "processor", "shared")}
    assert there - shared_parts <= set(made), "a file that no spec renders to"


def test_a_loaded_program_renders_as_its_model(tmp_path: Path) -> None:
    loaded = load("counter")
    render_crate(loaded, out=tmp_path / "program", source="an IDL")
    render_crate(loaded.model, out=tmp_path / "model", source="an IDL")
    made = {
        path.relative_to(tmp_path / "model")
        for path in (tmp_path / "model").rglob("*.rs")
    }
    assert made
    assert all(
        (tmp_path / "program" / path).read_bytes()
        == (tmp_path / "model" / path).read_bytes()
        for path in made
    )


def test_the_same_source_gives_the_same_bytes_whatever_the_hash_seed(
    tmp_path: Path,
) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from mcpsol_py.render import render; from mcpsol_py.sources.spec import read_spec\n"
        "render(read_spec(sys.argv[1]), out=Path(sys.argv[2]))"
    )
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-c",
            code,
            str(REPO / "programs/vault/spec.py"),
            str(tmp_path / seed),
        ]
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, cwd=REPO
        )
    for path in (tmp_path / "1").rglob("*"):
        if path.is_file():
            assert (
                path.read_bytes()
                == (tmp_path / "2" / path.relative_to(tmp_path / "1")).read_bytes()
            )


def test_constants_are_read_as_values_and_never_passed_on_as_code() -> None:
    constants = (
        Constant("MOST", U64, "18446744073709551615", ("How many.",)),
        Constant("LEAST", INTS["i64"], "-5"),
        Constant("who", PUBKEY, "11111111111111111111111111111111"),
        Constant("ON", BOOL, "true"),
        Constant("TOO_LARGE", U8, "256"),
        Constant("CODE", U64, "{ panic!() }"),
        Constant("NOWHERE", PUBKEY, "panic!()"),
        Constant("TEXT", BORSH_STRING, '"text"'),
    )
    model = ProgramModel(
        "p", (Instruction("go", Discriminator(b"\1")),), constants=constants
    )
    [made] = [
        f.data.decode() for f in plan(crate_view(model)) if f.path == "src/constants.rs"
    ]
    lines = [line for line in made.splitlines() if line.startswith("pub const")]
    assert lines[:2] == [
        "pub const MOST: u64 = 18_446_744_073_709_551_615;",
        "pub const LEAST: i64 = -5;",
    ]
    assert lines[2].startswith("pub const WHO: Address = Address::new_from_array([")
    assert lines[3:] == ["pub const ON: bool = true;"]
    assert "panic" not in made


def test_the_authors_shared_module_is_listed_and_kept(tmp_path: Path) -> None:
    model = ProgramModel("p", (Instruction("go", Discriminator(b"\1")),))
    shared = tmp_path / "src/processor/shared.rs"
    render(model, out=tmp_path)
    assert "shared" not in (tmp_path / "src/processor/mod.rs").read_text()
    shared.write_text("//! Mine.\n")
    result = render(model, out=tmp_path)
    assert "pub mod shared;" in (tmp_path / "src/processor/mod.rs").read_text()
    assert shared.read_text() == "//! Mine.\n"
    assert result.orphans == ()
    assert "src/processor/shared.rs" in result.kept


# --- hostile sources
# ---------------------------------------------------------------------------------------------------


def rendered(model: ProgramModel) -> dict[str, list[tuple[str, str]]]:
    """The tokens of each Rust file, in the order of the plan (names of files follow names of the source)."""
    files = [
        f for f in plan(crate_view(model, lossless=False)) if f.path.endswith(".rs")
    ]
    return {str(i): list(tokens(f.data.decode())) for i, f in enumerate(files)}


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_hostile_text_changes_no_token(text: str) -> None:
    plain = rendered(program("A plain text.", "name_"))
    hostile = rendered(program(text, "name_"))
    assert plain.keys() == hostile.keys()
    for file in plain:
        assert strings_gone(hostile[file]) == strings_gone(plain[file])


@pytest.mark.parametrize("text", NASTY[:-1], ids=range(len(NASTY) - 1))
def test_hostile_names_become_identifiers(text: str) -> None:
    plain = rendered(program("A plain text.", "name_"))
    hostile = rendered(program("A plain text.", text))
    for file in plain:
        assert strings_gone(hostile[file]) == strings_gone(plain[file])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "type",
        "self",
        "Self",
        "crate",
        "super",
        "_",
        "1",
        "fn",
        "r#type",
        "é",
        "日本",
        "foo",
    ],
)
def test_every_name_is_renamed_where_rust_has_no_room_for_it(name: str) -> None:
    model = program("x", "n")
    ix = model.instructions[0]
    args = tuple(replace(f, name=name) for f in ix.args)
    accounts = tuple(
        replace(a, name=name) for a in ix.accounts if isinstance(a, Account)
    )
    types = tuple(
        replace(t, type=Struct(tuple(replace(f, name=name) for f in t.type.fields)))
        if isinstance(t.type, Struct)
        else t
        for t in model.types
    )
    model = replace(
        model,
        name=name,
        instructions=(replace(ix, name=name, args=args, accounts=accounts),),
        types=types,
    )
    assert rendered(model)


@pytest.mark.slow
@pytest.mark.skipif(CARGO is None, reason="cargo is missing: install Rust")
def test_a_hostile_program_compiles_without_a_warning(tmp_path: Path) -> None:
    models = [program(text, f"{text[:20]}n{i}") for i, text in enumerate(NASTY)]
    merged = models[0]
    for i, m in enumerate(models[1:], 1):
        moved = tuple(
            replace(ix, discriminator=Discriminator(bytes([i]) * 8))
            for ix in m.instructions
        )
        merged = replace(
            merged,
            instructions=merged.instructions + moved,
            accounts=merged.accounts + m.accounts,
            events=merged.events + m.events,
            errors=merged.errors + tuple(replace(e, code=6000 + i) for e in m.errors),
            types=merged.types + m.types,
        )
    # Forty megabytes of model are no schema.
    render(merged, out=tmp_path, lossless=False)
    compiles(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(CARGO is None, reason="cargo is missing: install Rust")
def test_every_word_of_the_spec_language_compiles_without_a_warning(
    tmp_path: Path,
) -> None:
    render(read_spec(REPO / "examples/every_word.py"), out=tmp_path)
    compiles(tmp_path)


def compiles(tmp_path: Path) -> None:
    with (tmp_path / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    assert CARGO is not None
    target = (
        Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache/mcpsol"))
        / "cargo-target-rendered"
    )
    command = [CARGO, "clippy", "--quiet", "--", "--deny", "warnings"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
