from __future__ import annotations

from pathlib import Path

from mcpsol_py.folders import link_below


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
