"""Two owners: generated files are made anew and never over an edit; the author's files are written once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py.errors import EditedByHand, RenderError
from mcpsol_py.model.program import Discriminator, ProgramModel
from mcpsol_py.render import render
from mcpsol_py.render.write import digest, header
from mcpsol_py.sources.spec import read_spec

REPO = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def model() -> ProgramModel:
    return replace(read_spec(REPO / "programs/counter/spec.py"), bodies=None)


@pytest.fixture
def crate(model: ProgramModel, tmp_path: Path) -> Path:
    render(model, out=tmp_path / "crate")
    return tmp_path / "crate"


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file()
    }


def test_rendering_twice_changes_nothing(model: ProgramModel, crate: Path) -> None:
    before = tree(crate)
    result = render(model, out=crate)
    assert tree(crate) == before
    assert set(result.kept) == {
        "Cargo.toml",
        *(
            f"src/processor/{n}.rs"
            for n in ("initialize", "increment", "decrement", "close")
        ),
    }
    assert result.orphans == ()


def test_handlers_and_the_manifest_are_the_authors(
    model: ProgramModel, crate: Path
) -> None:
    handler, manifest = crate / "src/processor/increment.rs", crate / "Cargo.toml"
    handler.write_text("// mine\n")
    manifest.write_text(manifest.read_text() + "# mine\n")
    render(model, out=crate)
    assert handler.read_text() == "// mine\n"
    assert manifest.read_text().endswith("# mine\n")


def test_a_new_instruction_gets_a_stub_and_a_removed_one_leaves_an_orphan(
    model: ProgramModel, crate: Path
) -> None:
    (crate / "src/processor/increment.rs").write_text("// mine\n")
    first = model.instructions[0]
    renamed = replace(
        model.instructions[1], name="raise", discriminator=Discriminator(b"\x01" * 8)
    )
    result = render(replace(model, instructions=(first, renamed)), out=crate)
    assert "src/processor/raise.rs" in result.written
    assert result.orphans == (
        "src/processor/close.rs",
        "src/processor/decrement.rs",
        "src/processor/increment.rs",
    )
    assert (crate / "src/processor/increment.rs").read_text() == "// mine\n"
    assert not (crate / "src/instruction/increment.rs").exists(), (
        "a generated file without an instruction goes"
    )
    assert "raise" in (crate / "src/entrypoint.rs").read_text()


@pytest.mark.parametrize(
    "name", ["src/lib.rs", "src/instruction/increment.rs", "src/error.rs"]
)
def test_a_generated_file_that_was_edited_is_not_overwritten(
    model: ProgramModel, crate: Path, name: str
) -> None:
    file = crate / name
    text = file.read_text()
    for edited, why in (
        (
            text.replace("pub", "pub ", 1).replace("use ", "use  ", 1) + "// mine\n",
            "its text changed after it was rendered",
        ),
        (text.partition("\n")[2], "header is gone"),
    ):
        file.write_text(edited)
        before = tree(crate)
        with pytest.raises(EditedByHand, match=why) as caught:
            render(model, out=crate)
        assert caught.value.file == name
        assert tree(crate) == before, "nothing is written"


def test_another_rustfmt_is_no_edit(model: ProgramModel, crate: Path) -> None:
    file = crate / "src/error.rs"
    text = file.read_text()
    file.write_text(text.replace("    ", "\t").replace(",\n", "\n"))
    render(model, out=crate)
    assert file.read_text() == text


def test_a_rustfmt_that_does_not_run_is_none(
    model: ProgramModel, crate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """rustup's, without a toolchain."""
    program = tmp_path / "bin" / "rustfmt"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'no toolchain' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    result = render(model, out=tmp_path / "other")
    if result.formatted:  # by Debian's
        assert tree(tmp_path / "other") == tree(crate)


def test_an_edited_file_of_a_removed_instruction_is_not_deleted(
    model: ProgramModel, crate: Path
) -> None:
    file = crate / "src/instruction/close.rs"
    file.write_text(file.read_text() + "fn mine() {}\n")
    with pytest.raises(EditedByHand):
        render(replace(model, instructions=model.instructions[:2]), out=crate)
    assert file.exists()


def test_the_header_names_the_source_and_nothing_more(
    model: ProgramModel, tmp_path: Path
) -> None:
    spec = tmp_path / "here/spec.py"
    spec.parent.mkdir()
    shutil.copy(REPO / "programs/counter/spec.py", spec)
    render(read_spec(spec), out=spec.parent)
    first = (spec.parent / "src/lib.rs").read_text().splitlines()[0]
    assert first.startswith("// Rendered by idl2mcp from spec.py; edit the source. [")
    assert (
        header("a\nb; c\u2028", b"")
        == b"// Rendered by idl2mcp from a_b_ c_; edit the source. [e3b0c44298fc1c14]\n"
    )


def test_the_digest_does_not_count_whitespace_and_commas() -> None:
    assert digest(b"f(a, b,\n)") == digest(b"f(a,b)") != digest(b"f(b,a)")


def test_what_cannot_be_rendered_is_told(model: ProgramModel, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="unknown target 'wasm'"):
        render(model, target="wasm", out=tmp_path)
    with pytest.raises(RenderError, match="has no instruction"):
        render(replace(model, instructions=()), out=tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(RenderError, match="is a file"):
        render(model, out=blocked)
    assert list(tmp_path.iterdir()) == [blocked]


@pytest.mark.parametrize(
    "linked", ["src", "src/lib.rs", "src/processor", "Cargo.toml", "tests"]
)
def test_no_file_is_written_through_a_link(
    model: ProgramModel, tmp_path: Path, linked: str
) -> None:
    """Nothing outside the folder changes, and nothing in it either: the link may be a trap."""
    victim, crate = tmp_path / "victim", tmp_path / "crate"
    victim.mkdir()
    (victim / "file").write_text("mine")
    (crate / linked).parent.mkdir(parents=True)
    (crate / linked).symlink_to(victim / "file" if "." in linked else victim)
    before = sorted(crate.rglob("*"))
    try:
        render(model, out=crate)
    except RenderError as error:
        assert "is a symbolic link" in str(error)  # noqa: PT017  # a folder without planned files may be a link
        assert sorted(crate.rglob("*")) == before
    else:
        assert linked == "tests"
    assert [p.name for p in victim.iterdir()] == ["file"]
    assert (victim / "file").read_text() == "mine"


def test_the_named_folder_may_be_a_link(model: ProgramModel, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "crate").symlink_to(tmp_path / "real")
    assert render(model, out=tmp_path / "crate").written
