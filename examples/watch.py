"""Watch an account as it changes. Offline, in LiteSVM."""

import asyncio

from solders.keypair import Keypair

from mcpsol_py import SvmTransport, bundled_so, connect, load


async def main() -> None:
    """Increment a counter each time it changes, until it is 3."""
    counter, wallet, chain = load("counter"), Keypair(), SvmTransport()
    assert counter.address is not None
    chain.airdrop(wallet.pubkey())
    chain.add_program(counter.address, bundled_so("counter"))

    async with connect(counter, chain, wallet=wallet) as client:
        create = await client.build("initialize", {"start": 0})
        await client.send(create)
        increment = await client.build("increment", {"amount": 1})
        async for state in client.watch("State", create.accounts[0].pubkey):
            print("count", state["count"])
            if state["count"] == 3:
                break
            await client.send(increment)


asyncio.run(main())
