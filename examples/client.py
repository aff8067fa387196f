"""A client of a deployed program that nobody generated: the program describes itself. Offline, in LiteSVM."""

import asyncio

from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import ProgramFailed, SvmTransport, bundled_so, connect

COUNTER = Pubkey.from_string("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")


async def main() -> None:
    """Finds the program, calls it, reads its state, and sees it refuse."""
    wallet, chain = (
        Keypair(),
        SvmTransport(),
    )  # with a node, its URL is the chain: "http://127.0.0.1:8899"
    chain.airdrop(wallet.pubkey())
    chain.add_program(COUNTER, bundled_so("counter"))

    client = await connect(COUNTER, chain, wallet=wallet)
    print(client.source, client.program.instructions)

    # The counter's address is derived, the wallet signs, the system program is known: only the argument is given.
    create = await client.build("initialize", {"start": 40})
    simulation = await client.simulate(create)
    print("would use", simulation.units, "compute units")
    signature = await client.send(
        [create, await client.build("increment", {"amount": 2})], signers=[wallet]
    )
    print(await client.transaction_events(signature))
    print("count", (await client.fetch("State", create.accounts[0].pubkey))["count"])

    print("a view:", (await client.view("decrement", {"amount": 2})).value)
    try:
        await client.send(await client.build("decrement", {"amount": 100}))
    except ProgramFailed as failed:
        print(failed.name, "-", failed.error_message)


asyncio.run(main())
