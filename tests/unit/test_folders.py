from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpsol_py import folders
from mcpsol_py.folders import link_below, write_below


def test_the_first_link_below_the_folder_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "src").mkdir(parents=True)
    assert link_below(folder, "src/lib.rs") is None
    (folder / "src" / "lib.rs").symlink_to("elsewhere")
    assert link_below(folder, "src/lib.rs") == folder / "src" / "lib.rs"
    (folder / "tests").symlink_to(tmp_path)
    assert link_below(folder, "tests/a/b.rs") == folder / "tests"
    (tmp_path / "named").symlink_to(folder)
    assert link_below(tmp_path / "named", "src/new.rs") is None


@pytest.mark.parametrize("name", ["lib.rs", "src/lib.rs", "src/deep/lib.rs"])
def test_a_file_is_written_with_its_folders(tmp_path: Path, name: str) -> None:
    for data in (b"one", b"2"):
        write_below(tmp_path / "new", name, data)
        assert (tmp_path / "new" / name).read_bytes() == data


@pytest.mark.skipif(os.name != "posix", reason="Windows has no folders to open from")
@pytest.mark.parametrize("part", ["src", "src/deep", "src/deep/lib.rs"])
def test_a_link_that_is_put_there_after_the_look_is_not_followed(
    tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "link_below", lambda *_: None)  # it looked a moment too early
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (out / part).parent.mkdir(parents=True)
    if part.endswith(".rs"):
        elsewhere.write_bytes(b"theirs")
    else:
        (elsewhere / "deep").mkdir(parents=True)
    (out / part).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"lib\.rs"):
        write_below(out, "src/deep/lib.rs", b"ours")
    assert not any(path.read_bytes() == b"ours" for path in tmp_path.rglob("*") if path.is_file())
