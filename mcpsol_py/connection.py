"""`connect` and `connect_sync`: a client of the program at an address.

async with connect("4Nd1…", "devnet", wallet=keypair) as client: ...
client = await connect("4Nd1…", "devnet", wallet=keypair)
with connect_sync("4Nd1…", "devnet", wallet=keypair) as client: ...
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.resolution import Resolver
from mcpsol_py.client.discovery import discover
from mcpsol_py.client.transport import Commitment, Transport, blocking, run
from mcpsol_py.errors import MissingAccount, abbr
from mcpsol_py.program import Program, load
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.sync_client import SyncProgramClient

__all__ = ["Connecting", "connect", "connect_sync"]


class Connecting(Coroutine[Any, Any, ProgramClient]):
    """What `connect` returns: await it for the client, or enter it with `async with` to close the client at the end."""

    def __init__(self, coroutine: Coroutine[Any, Any, ProgramClient]) -> None:
        self._coroutine = coroutine
        self._client: ProgramClient | None = None

    def __await__(self) -> Generator[Any, Any, ProgramClient]:
        return self._coroutine.__await__()

    async def __aenter__(self) -> ProgramClient:
        self._client = await self._coroutine
        return self._client

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()

    # A coroutine, so that asyncio.run and create_task take it too.

    def send(self, value: Any) -> Any:
        """Resume the coroutine."""
        return self._coroutine.send(value)

    def throw(self, *exception: Any) -> Any:
        """Raise an exception in the coroutine."""
        return self._coroutine.throw(*exception)

    def close(self) -> None:
        """Close the coroutine."""
        self._coroutine.close()


def connect(
    program: Program | Pubkey | str,
    chain: Any,
    *,
    wallet: Any = None,
    idl: Any = None,
    commitment: Commitment = "confirmed",
    payer: Pubkey | str | None = None,
    resolvers: Mapping[str, Resolver] | None = None,
    known: Sequence[Program] = (),
) -> Connecting:
    """Connect to the program at an address: ``await connect(…)`` or ``async with connect(…) as client``.

    The schema comes from the program itself (list_tools), or else from the IDL accounts on chain.

    Args:
        program: Its address, or a loaded Program that knows its address.
        chain: A URL, a cluster ("mainnet", "devnet", "testnet", "localhost"), a Transport, solana-py's AsyncClient, or
            anchorpy's Provider (whose wallet is the default).
        wallet: A Keypair that signs and pays.
        idl: An IDL or Program to use instead of asking the chain.
        commitment: The commitment of reads, and of `send`'s confirmation.
        payer: The address that pays in simulations, instead of the wallet.
        resolvers: Functions that find the addresses of accounts, by account name.
        known: Other programs whose errors should have names.

    Raises MissingAccount if *program* is not an address, NoSchema, which says what each source answered, and
    TransportError.
    """
    options = _Options(_wallet(wallet, chain), payer, resolvers, known)
    transport = _transport(chain, commitment, block=False)
    return Connecting(
        _connect(program, transport, idl, options, opened=transport is not chain)
    )


def connect_sync(
    program: Program | Pubkey | str,
    chain: Any,
    *,
    wallet: Any = None,
    idl: Any = None,
    commitment: Commitment = "confirmed",
    payer: Pubkey | str | None = None,
    resolvers: Mapping[str, Resolver] | None = None,
    known: Sequence[Program] = (),
) -> SyncProgramClient:
    """`connect` for synchronous code: takes the same arguments and returns a SyncProgramClient.

    Used with ``with``, it closes the client at the end.
    """
    options = _Options(_wallet(wallet, chain), payer, resolvers, known)
    transport = blocking(_transport(chain, commitment, block=True))
    opened = transport is not chain
    return SyncProgramClient(
        run(_connect(program, transport, idl, options, opened=opened))
    )


@dataclass(frozen=True, slots=True)
class _Options:
    """What ProgramClient takes besides the program and the transport."""

    wallet: Any
    payer: Pubkey | str | None
    resolvers: Mapping[str, Resolver] | None
    known: Sequence[Program]

    def client(
        self,
        program: Program,
        transport: Transport,
        program_id: Pubkey | None = None,
        source: str = "given",
    ) -> ProgramClient:
        return ProgramClient(
            program,
            transport,
            program_id,
            wallet=self.wallet,
            payer=self.payer,
            source=source,
            resolvers=self.resolvers,
            known=self.known,
        )


async def _connect(
    program: Program | Pubkey | str,
    transport: Transport,
    idl: Any,
    options: _Options,
    *,
    opened: bool,
) -> ProgramClient:
    """Make the client. If that fails, close a transport that was *opened* for it."""
    try:
        return await _client(program, transport, idl, options)
    except BaseException:
        if opened:
            await transport.close()
        raise


async def _client(
    program: Program | Pubkey | str, transport: Transport, idl: Any, options: _Options
) -> ProgramClient:
    if isinstance(program, Program):
        return options.client(program, transport)
    key = address_of(program)
    if key is None:
        why = f"expected an address (base58 of 32 bytes), got {abbr(program)}"
        raise MissingAccount("connect", "program_id", why)
    if idl is not None:
        given = idl if isinstance(idl, Program) else load(idl)
        return options.client(given, transport, key)
    found = await discover(
        transport,
        key,
        payer=address_of(options.payer),
        wallet=address_of(options.wallet),
    )
    return options.client(found.program, transport, key, found.source)


def _wallet(given: Any, chain: Any) -> Any:
    """Return the wallet: the one given, else that of anchorpy's Provider, else None."""
    return getattr(chain, "wallet", None) if given is None else given


def _transport(chain: Any, commitment: Commitment, *, block: bool) -> Transport:
    """Return a Transport unchanged; wrap a URL, a cluster's name, a client of solana-py or anchorpy's Provider."""
    if hasattr(chain, "get_accounts"):
        given: Transport = chain
        return given
    from mcpsol_py.client.rpc import RpcTransport

    connection = getattr(chain, "connection", chain)
    return RpcTransport(connection, commitment=commitment, blocking=block)
