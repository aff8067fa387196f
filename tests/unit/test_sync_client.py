"""The synchronous client has the methods of the asynchronous one, with the same parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from mypy import api as mypy

from mcpsol_py import ProgramClient, SyncProgramClient

ASYNCHRONOUS_ONLY = {"watch", "watch_logs", "watch_events"}
TWINS = sorted(
    name
    for name, member in vars(ProgramClient).items()
    if not name.startswith("_") and callable(member) and name not in ASYNCHRONOUS_ONLY
)


@pytest.mark.parametrize("name", TWINS)
def test_a_method_has_a_twin_with_the_same_parameters(name: str) -> None:
    def parameters(method: Callable[..., object]) -> list[inspect.Parameter]:
        return list(inspect.signature(method).parameters.values())

    twin = getattr(SyncProgramClient, name)
    assert parameters(twin) == parameters(getattr(ProgramClient, name))


def checked(folder: Path, line: str) -> str:
    """What mypy says about a script with *line*."""
    script = folder / "sample.py"
    script.write_text(
        "from solders.pubkey import Pubkey\n"
        "from mcpsol_py import RpcTransport, connect, connect_sync\n"
        "client = connect_sync(Pubkey.default(), 'devnet')\n"
        f"{line}\n"
    )
    output, _, _ = mypy.run(
        ["--strict", "--cache-dir", str(folder / "cache"), str(script)]
    )
    return output


GOOD = """
async def main() -> None:
    async with connect(Pubkey.default(), 'devnet', commitment='finalized') as client:
        await client.send(await client.build('x', payer=None), compute_units='auto')
client.send(client.build('x', {'a': 1}, payer=None), priority_fee=1)
client.fetch_all('State', {'a': 1}, as_json=True)
RpcTransport.blocking('devnet', timeout=1.0)
"""
MISSPELT = (
    "connect_sync(Pubkey.default(), 'devnet', walet=None)",
    "connect(Pubkey.default(), 'devnet', comitment='finalized')",
    "connect_sync(Pubkey.default(), 'devnet', commitment='final')",
    "client.build('x', remainig=[])",
    "client.simulate([], acounts=[])",
    "client.view('x', payer=None)",
    "client.transaction([], lookup_table=[])",
    "client.send([], compute_unit=1)",
    "client.fetch('x', Pubkey.default(), json=True)",
    "RpcTransport.blocking('devnet', time_out=1.0)",
)


def test_a_misspelt_option_is_a_type_error(tmp_path: Path) -> None:
    """One run of mypy for all lines, because each run takes seconds."""
    output = checked(tmp_path, "\n".join((GOOD, *MISSPELT)))
    first = 4 + GOOD.count("\n") + 1
    found = {
        int(line.split(":")[1]) for line in output.splitlines() if ": error: " in line
    }
    assert found == set(range(first, first + len(MISSPELT))), output
