from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpsol_py import folders
from mcpsol_py.folders import obstacle_below, remove_below, write_below


def test_what_is_in_the_way_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "src").mkdir(parents=True)
    assert obstacle_below(folder, "src/lib.rs") is None
    (folder / "src" / "lib.rs").symlink_to("elsewhere")
    assert f"{folder / 'src' / 'lib.rs'} is a symbolic link" in str(
        obstacle_below(folder, "src/lib.rs")
    )
    (folder / "tests").symlink_to(tmp_path)
    assert f"{folder / 'tests'} is a symbolic link" in str(
        obstacle_below(folder, "tests/a/b.rs")
    )
    (tmp_path / "named").symlink_to(folder)
    assert obstacle_below(tmp_path / "named", "src/new.rs") is None
    assert obstacle_below(tmp_path, "folder/src") == f"{folder / 'src'} is not a file"


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
    # It looked a moment too early.
    monkeypatch.setattr(folders, "obstacle_below", lambda *_: None)
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (out / part).parent.mkdir(parents=True)
    if part.endswith(".rs"):
        elsewhere.write_bytes(b"theirs")
    else:
        (elsewhere / "deep").mkdir(parents=True)
    (out / part).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"lib\.rs"):
        write_below(out, "src/deep/lib.rs", b"ours")
    with pytest.raises(OSError, match=r"lib\.rs"):
        write_below(out, "src/deep/lib.rs", b"ours", new=True)
    assert not any(
        path.read_bytes() == b"ours" for path in tmp_path.rglob("*") if path.is_file()
    )


@pytest.mark.skipif(os.name != "posix", reason="Windows has no folders to open from")
def test_a_file_behind_a_link_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "lib.rs").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "src").symlink_to(tmp_path / "theirs")
    with pytest.raises(OSError, match=r"lib\.rs"):
        remove_below(tmp_path / "out", "src/lib.rs")
    remove_below(tmp_path / "theirs", "lib.rs")
    assert not list((tmp_path / "theirs").iterdir())


def test_the_other_names_of_a_file_keep_their_content(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"theirs")
    theirs.chmod(0o640)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lib.rs").hardlink_to(theirs)
    with pytest.raises(FileExistsError):
        write_below(tmp_path / "out", "lib.rs", b"ours", new=True)
    write_below(tmp_path / "out", "lib.rs", b"ours")
    written = tmp_path / "out" / "lib.rs"
    assert (theirs.read_bytes(), written.read_bytes()) == (b"theirs", b"ours")
    assert written.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["lib.rs"]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such pipes")
def test_a_pipe_is_not_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lib.rs")
    assert obstacle_below(tmp_path, "lib.rs") == f"{tmp_path / 'lib.rs'} is not a file"
    with pytest.raises(FileExistsError):
        write_below(tmp_path, "lib.rs", b"ours")


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "lib.rs").write_bytes(b"old")
    with pytest.raises(TypeError):
        write_below(tmp_path, "lib.rs", "text")  # type: ignore[arg-type]
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
