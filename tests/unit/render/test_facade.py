"""The facade's crate: what is refused, and that a hostile source cannot change its code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py.errors import RenderError
from mcpsol_py.model.facade import facade_model
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    Discriminator,
    Instruction,
    ProgramModel,
)
from mcpsol_py.render import render
from mcpsol_py.render.facade import facade_plan, facade_view
from tests.support.nasty_programs import NASTY, program, strings_gone
from tests.unit.render.rust_lexer import tokens

ID = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"


def rendered(model: ProgramModel) -> dict[str, list[tuple[str, str]]]:
    files = facade_plan(facade_view(model, ID, lossless=False))
    return {
        f.path: strings_gone(list(tokens(f.data.decode())))
        for f in files
        if f.path.endswith(".rs")
    }


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_hostile_text_and_names_change_no_token(text: str) -> None:
    """Not even a name of the source is in the code: the facade knows no instruction."""
    plain = rendered(program("A plain text.", "name_"))
    assert rendered(program(text, "name_")) == plain
    if len(text) < 1000:
        assert rendered(program("A plain text.", text)) == plain


@pytest.mark.parametrize("text", NASTY[:-1], ids=range(len(NASTY) - 1))
def test_a_hostile_name_is_a_crates_name_in_cargos_file(text: str) -> None:
    import tomllib

    manifest = next(
        f
        for f in facade_plan(facade_view(program("x", text), ID))
        if f.path == "Cargo.toml"
    )
    package = tomllib.loads(manifest.data.decode())["package"]
    assert package["name"].replace("-", "").isalnum()
    assert package["name"].endswith("-facade")
    assert package["version"] == "0.1.0"


def test_the_absent_marker_is_looked_for_only_where_there_is_one() -> None:
    optional = (Account("a", optional=True),)
    for accounts, strategy, wanted in (
        ((), "program_id", False),
        (optional, "program_id", True),
        ((AccountGroup("g", optional),), "program_id", True),
        (optional, "omitted", False),
    ):
        ix = replace(
            Instruction("go", Discriminator(b"\1"), accounts=accounts),
            optional_accounts=strategy,  # type: ignore[arg-type]  # one of two texts
        )
        view = facade_view(ProgramModel("p", (ix,)), ID)
        assert view.has_absent is wanted
        forward = next(f for f in facade_plan(view) if f.path == "src/forward.rs").data
        assert (b"an absent optional account" in forward) is wanted


@pytest.mark.parametrize(
    ("program_id", "why"),
    [
        ("nonsense", "'nonsense'"),
        ("", "''"),
        ("\u202e\n" * 40, "--facade"),
        (
            "BPFLoader2111111111111111111111111111111111",
            "no program may call the second loader",
        ),
        (
            "Ed25519SigVerify111111111111111111111111111",
            "no program may call the ed25519 precompile",
        ),
    ],
)
def test_what_can_be_no_program_behind_is_refused(
    program_id: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(RenderError) as refused:
        render(program("x", "n"), facade=program_id, out=tmp_path / "made")
    assert why in str(refused.value)
    assert str(refused.value).isprintable()
    assert not (tmp_path / "made").exists()


def test_other_targets_models_and_folders_are_refused(tmp_path: Path) -> None:
    model = program("x", "n")
    for target in ("native", "anchor", "anchor-module", "native-module"):
        with pytest.raises(RenderError, match="a facade needs target pinocchio"):
            render(model, target=target, facade=ID, out=tmp_path)
    with pytest.raises(RenderError, match="has no instruction"):
        render(replace(model, instructions=()), facade=ID, out=tmp_path)
    with pytest.raises(RenderError, match="is a facade already"):
        render(facade_model(model, ID), facade=ID, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_second_rendering_keeps_the_authors_manifest(tmp_path: Path) -> None:
    model = program("x", "n")
    first = render(model, facade=ID, out=tmp_path)
    assert (first.kept, first.orphans) == ((), ())
    assert render(model, facade=ID, out=tmp_path).kept == ("Cargo.toml",)
    path = tmp_path / "src/forward.rs"
    path.write_text(path.read_text().replace("TARGET", "OTHER"))
    with pytest.raises(RenderError, match=r"forward\.rs"):
        render(model, facade=ID, out=tmp_path)
