"""The version is said once; what repeats it agrees."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path


def project_version(repo: Path) -> str:
    """The version in pyproject.toml."""
    data = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))
    found: str = data["project"]["version"]
    return found


def test_the_changelog_opens_with_the_version_of_pyproject(repo: Path) -> None:
    headings = re.findall(
        r"^## (\d+\.\d+\.\d+)",
        (repo / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert headings
    assert headings[0] == project_version(repo)


def test_what_is_installed_is_this_version(repo: Path) -> None:
    assert version("mcpsol-py") == project_version(repo)
