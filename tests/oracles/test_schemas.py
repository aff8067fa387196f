"""Every schema of every real IDL through Ajv, as the MCP TypeScript SDK has it: draft-07 and 2020-12, strict mode."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.bridge.tools import Toolbox
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import Program
from mcpsol_py.schema.json_schema import account_schema
from mcpsol_py.schema.mcp_tools import ToolMap
from tests.conftest import SHARED_IDLS_ABSENT, shared_idl_files
from tests.models import real
from tests.oracles.environment import ORACLES, node

pytestmark = pytest.mark.oracle


def _ajv(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    command = [node(), str(ORACLES / "schemas.mjs")]
    # Many tools have one output schema.
    distinct = {json.dumps({**row, "name": ""}): row for row in rows}
    done = subprocess.run(
        command,
        input=json.dumps(list(distinct.values())),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_ajv_finds_what_is_wrong() -> None:
    tuples = {"type": "array", "items": [{"type": "string"}]}
    rows = [
        {"name": "a tuple", "schema": tuples},
        {"name": "a reference", "schema": {"$ref": "#/$defs/a"}},
        {"name": "too wide", "schema": {"type": "string"}, "wrong": ["x"]},
    ]
    assert {(b["name"], b["dialect"]) for b in _ajv(rows)} >= {
        ("a tuple", "2020-12"),
        ("a reference", "draft-07"),
        ("too wide", "draft-07"),
    }


def test_ajv_takes_every_schema() -> None:
    files = shared_idl_files()
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    rows: list[dict[str, Any]] = []
    for file in files:
        model = real(file)
        for profile in ("default", "gemini", "strict"):
            rows += [
                {
                    "name": f"{file.stem} {profile} {tool['name']}",
                    "schema": tool["inputSchema"],
                }
                for tool in ToolMap(model, profile).tools
            ]
        rows += [
            {"name": f"{file.stem} {a.name}", "schema": account_schema(model, a)}
            for a in model.accounts
        ]
    assert len(rows) > 3500
    assert _ajv(rows) == []


def test_ajv_takes_every_tool_that_a_bridge_lists() -> None:
    """With what the bridge adds: accounts after the named ones, readers of accounts, its own tools, output schemas."""
    files = shared_idl_files()
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    chain = SvmTransport()
    rows: list[dict[str, Any]] = []
    for file in files:
        program = Program(real(file))
        box = Toolbox(
            [ServedProgram(program, program.address or Pubkey.default(), chain)],
            surface="full",
        )
        for tool in box.listed:
            name = f"{file.stem} {tool['name']}"
            rows += [
                {"name": f"{name} {key}", "schema": tool[key]}
                for key in ("inputSchema", "outputSchema")
            ]
    assert len(rows) > 3500
    assert _ajv(rows) == []
