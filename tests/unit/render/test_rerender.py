from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py.errors import RenderError
from mcpsol_py.render import render, render_again
from mcpsol_py.sources.spec import read_spec

COUNTER = Path(__file__).resolve().parents[3] / "programs/counter/spec.py"


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
@pytest.mark.parametrize("form", ["compact", "verbose"])
def test_a_crate_keeps_its_target_and_form(
    tmp_path: Path, target: str, form: str
) -> None:
    spec = tmp_path / "spec.py"
    spec.write_bytes(COUNTER.read_bytes())
    render(read_spec(spec), target=target, form=form, out=tmp_path)  # type: ignore[arg-type]
    before = _files(tmp_path)
    render_again(tmp_path, descriptions="none")
    less = _files(tmp_path)
    changed = {name for name in before if before[name] != less[name]}
    assert changed
    assert changed <= {
        "src/schema.rs",
        "src/schema.bin",
        "src/list_tools.rs",
        "src/list_tools.bin",
    }
    render_again(tmp_path, descriptions="full")
    assert _files(tmp_path) == before


def _files(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file()
    }


def test_what_cannot_be_rendered_again_says_how(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="was not rendered by idl2mcp"):
        render_again(tmp_path, descriptions="none")
    render(read_spec(COUNTER), out=tmp_path)
    with pytest.raises(
        RenderError,
        match=r"its source spec\.py is missing; use `idl2mcp render",
    ):
        render_again(tmp_path, descriptions="none")
    render(
        read_spec(COUNTER),
        facade="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
        out=tmp_path / "facade",
    )
    with pytest.raises(RenderError, match="it is a facade"):
        render_again(tmp_path / "facade", descriptions="none")


@pytest.mark.parametrize(
    "name", ["../evil.py", "link.py", "/ABSOLUTE", "sub/../../evil.py"]
)
def test_a_comment_does_not_choose_a_file_outside_the_folder(
    tmp_path: Path, name: str
) -> None:
    """Whoever gives away a crate writes this comment; `build --descriptions` would run what it names."""
    crate, evil, mark = tmp_path / "crate", tmp_path / "evil.py", tmp_path / "ran"
    evil.write_text(f"import pathlib; pathlib.Path({str(mark)!r}).touch()")
    render(read_spec(COUNTER), out=crate)
    (crate / "link.py").symlink_to(evil)
    root = crate / "src/lib.rs"
    named = name.replace("/ABSOLUTE", str(evil))
    root.write_text(root.read_text().replace("from spec.py;", f"from {named};", 1))
    with pytest.raises(RenderError, match="names a source outside the folder"):
        render_again(crate, descriptions="none")
    assert not mark.exists()


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_a_crate_keeps_the_address_it_was_rendered_for(
    tmp_path: Path, target: str
) -> None:
    spec = tmp_path / "spec.py"
    spec.write_bytes(COUNTER.read_bytes())
    elsewhere = replace(
        read_spec(spec), address="SysvarC1ock11111111111111111111111111111111"
    )
    render(elsewhere, target=target, out=tmp_path)
    before = _files(tmp_path)["src/lib.rs"]
    assert b"SysvarC1ock11111111111111111111111111111111" in before
    render_again(tmp_path, descriptions="none")
    assert _files(tmp_path)["src/lib.rs"] == before
