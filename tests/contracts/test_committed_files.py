"""What holds for every file that git knows."""

import subprocess
from pathlib import Path

import pytest

# Spelt in two halves, so that this file does not hold what it forbids.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in [
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "npmjs", "com"),
        ("registry", "yarnpkg", "com"),
        ("static", "crates", "io"),
        ("index", "crates", "io"),
        ("proxy", "golang", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("deb", "debian", "org"),
    ]
]
LARGEST = 1_000_000


@pytest.fixture(scope="module")
def committed(repo: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=repo, capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    files = [repo / name for name in listed.stdout.decode().split("\0") if name]
    return [file for file in files if file.is_file()]


def test_no_file_names_a_package_registry(repo: Path, committed: list[Path]) -> None:
    """Every client asks the registry that it is set up with; a committed address would go past a user's mirror."""
    naming = {
        str(file.relative_to(repo)): host
        for file in committed
        for host in REGISTRY_HOSTS
        if host.encode() in file.read_bytes()
    }
    assert naming == {}


def test_no_file_is_large(repo: Path, committed: list[Path]) -> None:
    assert {
        str(f.relative_to(repo)): f.stat().st_size
        for f in committed
        if f.stat().st_size > LARGEST
    } == {}


def test_text_files_end_with_one_line_break(repo: Path, committed: list[Path]) -> None:
    """Golden files and vectors are compared byte by byte and stay as they were made."""
    suffixes = {".py", ".md", ".toml", ".sh", ".jinja", ".rs", ".txt"}
    odd = []
    for file in committed:
        if (
            file.suffix not in suffixes
            or "golden" in file.parts
            or "vectors" in file.parts
        ):
            continue
        data = file.read_bytes()
        if data and (
            not data.endswith(b"\n") or data.endswith(b"\n\n") or b"\r" in data
        ):
            odd.append(str(file.relative_to(repo)))
    assert odd == []


def test_scripts_can_be_run(repo: Path) -> None:
    scripts = [repo / ".ci/run", *(repo / ".ci").glob("*.sh")]
    plain = [
        s.name for s in scripts if s.name != "lib.sh" and not s.stat().st_mode & 0o100
    ]
    assert plain == []
