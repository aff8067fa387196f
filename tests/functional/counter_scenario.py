"""The counter through the client, from discovery to closing: the same steps on LiteSVM and on a real validator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import AccountNotFound, ProgramFailed
from mcpsol_py.solana.pda import find_pda

REPO = Path(__file__).resolve().parents[2]
COUNTER = Pubkey.from_string("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
VAULT = Pubkey.from_string("J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")
PROGRAMS = {
    COUNTER: REPO / "programs/counter/counter.so",
    VAULT: REPO / "programs/vault/vault.so",
}


async def whole_life_of_a_counter(
    transport: Transport, wallet: Keypair, **options: Any
) -> None:
    """Discovers the program by list_tools alone, then creates, changes, reads and closes a counter of *wallet*."""
    client = await connect(COUNTER, transport, wallet=wallet)
    assert client.source == "list_tools"
    assert client.program.instructions == [
        "initialize",
        "increment",
        "decrement",
        "close",
    ]
    counter = find_pda([b"counter", bytes(wallet.pubkey())], COUNTER)[0]

    created = await client.build("initialize", {"start": 2**53})
    assert [m.pubkey for m in created.accounts[:2]] == [counter, wallet.pubkey()]
    simulation = await client.simulate(created, accounts=[counter])
    assert simulation.ok
    assert simulation.units
    after = simulation.accounts[0]
    assert after is not None
    assert client.program.decode_account(bytes(after.data))[1]["count"] == 2**53
    with pytest.raises(AccountNotFound):
        await client.fetch("State", counter)
    await client.send(created, **options)
    state = await client.fetch("State", counter)
    assert (state["authority"], state["count"]) == (wallet.pubkey(), 2**53)

    # Two instructions in one transaction, with a budget from a simulation and a fee.
    steps = [await client.build("increment", {"amount": n}) for n in (5, 6)]
    signature = await client.send(
        steps, compute_units="auto", priority_fee=1, **options
    )
    assert (await client.fetch("State", counter))["count"] == 2**53 + 11
    events = await client.transaction_events(signature)
    assert [(name, value["count"]) for name, value in events] == [
        ("Changed", 2**53 + 5),
        ("Changed", 2**53 + 11),
    ]

    assert (await client.view("decrement", {"amount": 11})).value == 2**53
    assert (await client.fetch("State", counter))["count"] == 2**53 + 11, (
        "a view changes nothing"
    )

    too_much = await client.build("increment", {"amount": 2**64 - 1})
    error = (await client.simulate(too_much)).error
    assert error is not None
    assert (error.name, error.program_id) == ("Overflow", str(COUNTER))
    with pytest.raises(ProgramFailed, match="Overflow"):
        await client.send(too_much, **options)
    with pytest.raises(ProgramFailed, match="Overflow"):
        await client.send(too_much, skip_preflight=True, **options)
    with pytest.raises(ProgramFailed, match="NotZero"):
        await client.send(await client.build("close"), **options)

    found = dict(await client.fetch_all("State"))
    assert found[counter]["count"] == 2**53 + 11
    await client.send(
        [
            await client.build("decrement", {"amount": 2**53 + 11}),
            await client.build("close"),
        ],
        **options,
    )
    with pytest.raises(AccountNotFound):
        await client.fetch("State", counter)
