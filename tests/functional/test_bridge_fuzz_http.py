"""Every tool of ten programs over a real server, with arguments by its schema and mutations of them: each is answered,
an error names what is wrong, and what is built says what was asked (issue 6, Bad input). test_bridge_fuzz.py does the
same in the process, with hypothesis and for all IDLs.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator

from mcpsol_py import Program, load
from tests.conftest import PROFILE
from tests.functional.cli import Cli
from tests.functional.random_arguments import by_schema, mutated
from tests.ports import free_port
from tests.support.http_bridge import http_server_at

NAMES = [
    "anchor__whirlpool",
    "anchor__meteora_dlmm",
    "anchor__anchor_test_generics",
    "codama__token",
    "codama__system",
    "codama__program_metadata",
    "legacy__drift",
    "legacy__squads_v4",
    "legacy__spl_governance",
    "shank__token_metadata",
]
#: calls of each tool
TIMES = 20 if PROFILE == "full" else 2
#: Reasons that may concern the whole call: an empty place is left out of the details.
WITHOUT_PLACE = ("transaction_too_large", "unknown_name", "decode_error")
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
}


def check(
    tool: dict[str, Any],
    arguments: Any,
    reply: dict[str, Any],
    programs: dict[str, Program],
) -> bool:
    """Whether the call succeeded. Raises AssertionError for an answer that should not be."""
    result = reply["result"]
    text = result["content"][0]["text"]
    assert "Traceback" not in text
    if result["isError"]:
        details = json.loads(result["content"][1]["text"])
        assert details["reason"] not in ("error", "internal_error")
        where = [details[key] for key in ("path", "name", "account") if key in details]
        assert where or details["reason"] in WITHOUT_PLACE, text
        assert all(str(place) in text for place in where), text
        return False
    found = result["structuredContent"]
    Draft202012Validator(tool["outputSchema"]).validate(found)
    if "instruction" in found:
        ix, data = (
            programs[found["program"]].instruction(found["instruction"]),
            bytes.fromhex(found["data"][2:]),
        )
        assert ix.encode(ix.decode(data)) == data
        for name, value in ix.decode_json(data).items():
            given = arguments.get(name)
            if (
                type(given) is type(value)
                and isinstance(value, (str, int, bool))
                and not name.startswith("_")
            ):
                assert value in (given, _opened(given)), (name, given, value)
    return True


def _opened(given: Any) -> Any:
    """What stands in a text that is JSON."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return given


@pytest.mark.slow
def test_every_tool_of_ten_programs_over_http(cli: Cli, shared_idls: Path) -> None:
    files = [shared_idls / f"{name}.json" for name in NAMES]
    programs = {program.name: program for program in map(load, files)}
    rows = "".join(f'[[program]]\nsource = "{file}"\n' for file in files)
    cli.write(
        "many.toml", f"{rows}[http]\ncalls_per_minute = 100_000_000\nstateless = true\n"
    )
    random, answers = Random(6), {True: 0, False: 0}
    port = free_port()
    with (
        http_server_at(
            port,
            cli.folder,
            "--config",
            "many.toml",
            "--surface",
            "full",
            IDL2MCP_STATE_KEY="ab" * 32,
        ) as url,
        httpx2.Client(timeout=60, headers=HEADERS) as client,
    ):

        def ask(method: str, params: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            answer = client.post(f"{url}/mcp", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()

        page = ask("tools/list", {})["result"]
        tools = page["tools"]
        while "nextCursor" in page:  # the list is longer than a client reads at once
            page = ask("tools/list", {"cursor": page["nextCursor"]})["result"]
            tools += page["tools"]
        assert len(tools) > 400
        for tool in tools:
            for time in range(TIMES):
                arguments = by_schema(tool["inputSchema"], random)
                if time % 2:
                    arguments = mutated(arguments, random)
                if isinstance(arguments, dict):
                    reply = ask(
                        "tools/call", {"name": tool["name"], "arguments": arguments}
                    )
                    answers[check(tool, arguments, reply, programs)] += 1
    assert min(answers.values()) > len(tools) // 5, answers
    assert "Traceback" not in (cli.folder / "stderr.txt").read_text()
