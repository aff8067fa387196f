"""Every third-party module that is imported is a dependency that pyproject.toml declares, in the extra of its part."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

OURS = {"mcpsol_py", "idl2mcp"}
#: Halves of one distribution that are released as two, the second pinned by the first.
HALVES = {"mcp-types": "mcp"}


def imported(path: Path) -> Iterator[str]:
    """The top-level modules that a file imports, wherever in it; not those for the type checker alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checking = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if node in checking:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def declared(repo: Path) -> dict[str, set[str]]:
    """Extra ("" = always) -> the distributions that it installs by name."""
    project = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    lists: dict[str, list[str]] = {
        "": project["dependencies"],
        **project["optional-dependencies"],
    }

    def named(extra: str) -> set[str]:
        found = set()
        for item in lists[extra]:
            if own := re.fullmatch(r"mcpsol-py\[(.+)\]", item):
                found |= {name for other in own[1].split(",") for name in named(other)}
            else:
                found.add(re.split(r"[\[<>=!~ ;]", item)[0].lower())
        return found

    return {extra: named(extra) for extra in lists}


def test_every_import_is_declared(repo: Path) -> None:
    extras = declared(repo)
    distributions = packages_distributions()
    missing = set()
    for root in sorted(OURS):
        for path in sorted((repo / root).rglob("*.py")):
            part = path.relative_to(repo / root).parts[0]
            # The command line is a front to all extras: it imports each inside the command that needs it.
            allowed = (
                set().union(*extras.values())
                if root == "idl2mcp"
                else extras[""] | extras.get(part, set())
            )
            if part == "bridge":
                allowed |= extras["x402"]  # a bridge can charge and pay
            if part == "client":
                # Keystores and long watches: imported where a bridge or a payer wants them.
                allowed |= extras["bridge"]
            # Imported for a catalogue in PostgreSQL, and for Parquet.
            if part == "catalog":
                allowed |= extras["postgres"] | extras["arrow"]
            if part in ("tables", "pipelines"):
                allowed |= extras["arrow"]
            if part == "x402":
                # Imported where payments are kept in PostgreSQL, not before.
                allowed |= extras["postgres"]
            for module in (
                set(imported(path)) - OURS - set(sys.stdlib_module_names) - {"anchorpy"}
            ):
                names = {
                    name.lower().replace("_", "-")
                    for name in distributions.get(module, [module])
                }
                if (
                    not (names | {HALVES[name] for name in names & set(HALVES)})
                    & allowed
                ):
                    missing.add(f"{path.relative_to(repo)}: {module}")
    assert sorted(missing) == []


#: Distribution -> the first version without the vulnerabilities that are published for it, and their names. The only
#: database that comes as a package (safety-db) is of 2021, so this table is kept by hand, from `pip-audit` over the
#: lowest versions (CONTRIBUTING.md).
ADVISORIES = {
    "cryptography": ("46.0.7", "CVE-2026-34073, CVE-2026-39892"),
    "jinja2": ("3.1.6", "CVE-2025-27516"),
    "mcp": ("1.29", "CVE-2026-52869, CVE-2026-52870, CVE-2026-59950"),
    "orjson": ("3.11.6", "CVE-2025-67221"),
    "pyarrow": ("23.0.1", "CVE-2026-25087"),
    "pydantic": ("2.4", "CVE-2024-3772"),
    "pyjwt": ("2.10.1", "CVE-2024-53861"),
    "ray": ("2.55", "CVE-2025-62593, CVE-2026-27482, CVE-2026-32981"),
    "starlette": (
        "1.3.1",
        "CVE-2025-62727, CVE-2026-48710, CVE-2026-48817, CVE-2026-48818, CVE-2026-54282, CVE-2026-54283",
    ),
}


def lower_bounds(repo: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each dependency of users and of developers, with the lowest version that it may have."""
    document = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [
        document["project"]["dependencies"],
        *document["project"]["optional-dependencies"].values(),
        *document["dependency-groups"].values(),
    ]
    for item in (item for items in lists for item in items if isinstance(item, str)):
        if found := re.match(r"([\w.-]+)(?:\[.*?\])?[>=]=([\d.]+)", item):
            yield found[1].lower(), version(found[2])


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def test_no_lower_bound_has_a_published_vulnerability(repo: Path) -> None:
    bounds = list(lower_bounds(repo))
    assert {name for name, _ in bounds} >= ADVISORIES.keys()
    assert [
        (name, ADVISORIES[name])
        for name, lowest in bounds
        if name in ADVISORIES and lowest < version(ADVISORIES[name][0])
    ] == []
