"""What the source must not do: spell addresses and layouts, use private names, import from tests.

For each rule, one test applies it to the repository and one feeds it a violating file.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.source_rules import (
    foreign_private_names,
    imports_of_test_modules,
    layout_offsets,
    outside_references,
    written_addresses,
)

#: Files that may spell addresses, and why.
ADDRESSES = {
    "mcpsol_py/schema/stream.py": "the compression dictionary is part of the wire format",
}


def tracked(repo: Path, *patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns],
        cwd=repo,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (repo / name).is_file()]


def violations(
    repo: Path, files: list[str], rule: Callable[[str], list[str]]
) -> list[str]:
    return [
        f"{name}:{found}"
        for name in files
        for found in rule((repo / name).read_text(encoding="utf-8"))
    ]


@pytest.fixture(scope="module")
def sources(repo: Path) -> list[str]:
    files = tracked(repo, "mcpsol_py/*.py", "idl2mcp/*.py")
    assert len(files) > 200
    return files


def above_the_ground_floor(files: list[str]) -> list[str]:
    return [name for name in files if not name.startswith("mcpsol_py/solana/")]


# --- addresses and layouts -------------------------------------------------------------------


def test_addresses_are_spelt_in_the_ground_floor(
    repo: Path, sources: list[str]
) -> None:
    files = [name for name in above_the_ground_floor(sources) if name not in ADDRESSES]
    assert violations(repo, files, written_addresses) == []


@pytest.mark.parametrize("name", ADDRESSES)
def test_files_that_may_spell_addresses_do(repo: Path, name: str) -> None:
    assert violations(repo, [name], written_addresses) != []


@pytest.mark.parametrize(
    "text",
    [
        'RENT = Pubkey.from_string("SysvarRent111111111111111111111111111111111")',
        'SYSTEM = "11111111111111111111111111111111"',
        'OTHER = "B5UFqXvWJfBTCoG62QhTqY7FkY3yWzSb9bF6dnwUVGeh"',
        'TEXT = "the program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"',
        'RAW = b"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"',
    ],
)
def test_a_spelt_address_is_found(text: str) -> None:
    assert len(written_addresses(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        '"""For example 11111111111111111111111111111111."""',
        'NAME = "instructionRemainingAccountsNode"',
        "RENT = ids.RENT_SYSVAR",
    ],
)
def test_other_text_is_not_an_address(text: str) -> None:
    assert written_addresses(text) == []


def test_token_layouts_are_read_in_the_ground_floor(
    repo: Path, sources: list[str]
) -> None:
    assert violations(repo, above_the_ground_floor(sources), layout_offsets) == []


@pytest.mark.parametrize(
    "text",
    [
        'amount = int.from_bytes(account.data[64:72], "little")',
        "if len(account.data) >= 165: pass",
        "ok = 82 == len(data)",
        "decimals = mint.data[44]",
        "delegate = Pubkey.from_bytes(data[76:108])",
        'amount = struct.unpack_from("<Q", data, 64)[0]',
    ],
)
def test_an_offset_into_a_token_account_is_found(text: str) -> None:
    assert len(layout_offsets(text)) == 1


def test_other_offsets_are_not_found() -> None:
    assert (
        layout_offsets("key, rest = data[:32], data[32:40]\nif len(data) < 48: pass")
        == []
    )


# --- private names ---------------------------------------------------------------------------


def test_no_module_uses_private_names_of_another(
    repo: Path, sources: list[str]
) -> None:
    assert violations(repo, sources, foreign_private_names) == []


@pytest.mark.parametrize(
    "text",
    [
        "from mcpsol_py.client.rpc import _retry",
        "from mcpsol_py.client import rpc\nrpc._retry()",
        "import mcpsol_py.client.rpc\nmcpsol_py.client.rpc._retry()",
        "from mcpsol_py.client.rpc import RpcTransport\nRpcTransport._retry(x)",
        "from mcpsol_py.client import rpc as r\nf(r._retry)",
    ],
)
def test_a_private_name_of_another_module_is_found(text: str) -> None:
    assert len(foreign_private_names(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from mcpsol_py._moved import renamed",
        "from mcpsol_py.client import rpc\nrpc.__name__",
        "class A:\n    def f(self): return self._x",
        "from json import _default_decoder",
    ],
)
def test_other_private_names_are_allowed(text: str) -> None:
    assert foreign_private_names(text) == []


# --- tests -----------------------------------------------------------------------------------


def test_helpers_are_not_imported_from_test_modules(repo: Path) -> None:
    listed = tracked(
        repo, "tests/*.py", "benchmarks/*.py", "examples/*.py", "docs/*.py"
    )
    assert violations(repo, listed, imports_of_test_modules) == []


@pytest.mark.parametrize(
    "text",
    [
        "from tests.unit.client.test_rpc import Node",
        "from tests.unit.client import test_rpc",
        "import tests.unit.client.test_rpc",
        "from .test_rpc import Node",
        "from test_rpc import Node",
    ],
)
def test_an_import_from_a_test_module_is_found(text: str) -> None:
    assert len(imports_of_test_modules(text)) == 1


def test_an_import_from_a_support_module_is_allowed() -> None:
    assert imports_of_test_modules("from tests.unit.client.nodes import Node") == []


# --- references ------------------------------------------------------------------------------


def test_nothing_refers_to_notes_outside_the_repository(repo: Path) -> None:
    files = tracked(
        repo, "*.py", "*.md", "*.toml", "*.jinja", "*.rs", "*.mjs", "*.yml", "*.sh"
    )
    assert violations(repo, files, outside_references) == []


@pytest.mark.parametrize(
    "text",
    [
        "see FIELD" + "-NOTES C-47",
        "(DESIGN" + ".md 6)",
        "X402" + ".md 1.4",
        "the report of seed" + " 003",
        "../" + "shared/checks",
    ],
)
def test_a_reference_outside_is_found(text: str) -> None:
    assert outside_references(f"a line\n{text}\n") == [
        f"2: {found.split(': ')[1]}" for found in outside_references(text)
    ]
    assert len(outside_references(text)) == 1
