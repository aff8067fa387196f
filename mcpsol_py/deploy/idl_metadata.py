"""Publish a program's IDL in its Program Metadata account, where Anchor 1.0, explorers and `fetch_idl` look.

The account is the canonical one: its address is derived from the program's id, and only the
program's upgrade authority can write to it. An IDL that fits one transaction is written by one. A
larger one is first written to a buffer: the metadata account itself if it is new, otherwise another
derived account, so that readers see the old IDL until one step replaces it. A stopped run can be
continued, because the addresses are derived. `close_buffers` gives the rent back instead.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.batch import Sender
from mcpsol_py.calls.transactions import PACKET, compute_budget, size_of
from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.client.loader import deployment
from mcpsol_py.client.transport import Transport
from mcpsol_py.deploy.funding import (
    PAUSE,
    STALE_LOOKS,
    WRITES_A_RETRY,
    Allowance,
    Costs,
    Step,
    chunk_count,
    chunks,
    read_checked_rent,
    refuse_poor,
    top_up,
    wait_until_gone,
)
from mcpsol_py.deploy.metadata_program import (
    BUFFER_SEED,
    GROWTH,
    HEADER,
    IDL_SEED,
    MAX_CONTENT,
    MetadataInstructions,
    buffer_authority,
    document_of,
    is_buffer,
    is_immutable,
    is_metadata,
)
from mcpsol_py.errors import DeployRefused, NoProgram, TransportError
from mcpsol_py.solana.addresses import PROGRAM_METADATA
from mcpsol_py.solana.fees import LAMPORTS_PER_SIGNATURE, priority_fee
from mcpsol_py.solana.lamports import lamports_of
from mcpsol_py.solana.rent import HIGHEST_RENT, RentRate

__all__ = [
    "MOST_UNITS",
    "MetadataInstructions",
    "PublicationPlan",
    "Published",
    "close_buffers",
    "find_buffers",
    "plan_publication",
    "run_publication",
]

#: The most compute units of a write, and of an instruction that allocates or copies (the program
#: searches for its address's bump, at 1,500 units for each try).
_WRITE_UNITS, _UNITS = 10_000, 120_000
MOST_UNITS = _UNITS
#: Extend instructions in one transaction.
_EXTENSIONS = 8

Action = Literal["create", "update", "none"]


# --- the plan --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublicationPlan:
    """What a publication will do and cost, in bytes and lamports. Planning sends nothing.

    `action` is "none" if the same document is published already. `address` is the metadata account,
    `packed` its new content. `buffer` collects content that does not fit one transaction; it is
    None if one transaction is enough. Lamports and `rate` as in `DeploymentPlan`.
    """

    action: Action
    program_id: Pubkey
    authority: Pubkey
    payer: Pubkey
    address: Pubkey
    buffer: Pubkey | None
    size: int
    packed: bytes
    rent: int
    lent: int
    fees: int
    needed: int
    balance: int
    rate: RentRate


@dataclass(frozen=True, slots=True)
class Published:
    """A publication that was read back and compared, over each endpoint.

    `signature` is that of the last transaction, None if there was nothing to do.
    """

    plan: PublicationPlan
    signature: Signature | None


async def plan_publication(
    transport: Transport,
    document: bytes,
    *,
    program_id: Pubkey,
    authority: Pubkey,
    payer: Pubkey,
    price: int | None = None,
) -> PublicationPlan:
    """Plan the publication of *document*, an IDL's JSON text, for a program.

    Raises NoProgram if the cluster has no Program Metadata program, or no program at *program_id*;
    DeployRefused if *authority* is not the program's upgrade authority, or if the metadata is
    immutable; TransportError.
    """
    name = f"the IDL of {program_id}"
    await _check_cluster(transport)
    await _check_authority(transport, name, program_id, authority)
    packed = _packed(name, document)
    rate = await read_checked_rent(transport, name)
    address, next_buffer = (
        metadata_address(program_id),
        metadata_address(program_id, BUFFER_SEED),
    )
    accounts = await transport.get_accounts([address, next_buffer, payer])
    account, old_buffer, wallet = accounts
    if account is not None and is_metadata(account) and is_immutable(account):
        raise DeployRefused(
            name,
            f"{address} is immutable: it can never change",
            "It has to stay as it is",
        )
    rows = MetadataInstructions(program_id, authority)
    action = _action(account, document)
    buffer = None
    costs = Costs()
    if action != "none":
        if not _fits_one_transaction(rows, account, address, payer, packed, price):
            buffer = address if action == "create" else next_buffer
        held = None
        if buffer == next_buffer:
            reused = not _is_from_another_run(old_buffer, authority, packed)
            held = lamports_of(old_buffer) if reused else 0
        in_account = lamports_of(account)
        if _is_from_another_run(account, authority, packed):
            in_account = 0
        parts = 0
        if buffer is not None:
            parts = chunk_count(len(packed), _chunk_size(rows, payer, address, price))
        fees = _fees(parts, len(packed), len({payer, authority}), price)
        costs = _costs(len(packed), in_account, held, fees)
    return PublicationPlan(
        action=action,
        program_id=program_id,
        authority=authority,
        payer=payer,
        address=address,
        buffer=buffer,
        size=len(document),
        packed=packed,
        rent=costs.rent,
        lent=costs.lent,
        fees=costs.fees,
        needed=costs.needed,
        balance=lamports_of(wallet),
        rate=rate,
    )


async def _check_cluster(transport: Transport) -> None:
    """Raise NoProgram if the cluster has no Program Metadata program."""
    (home,) = await transport.get_accounts([PROGRAM_METADATA])
    if home is None or not home.executable:
        raise NoProgram(
            str(PROGRAM_METADATA),
            transport.endpoint,
            "It is the Program Metadata program, which keeps IDLs. Keep the IDL in a file, or let "
            "list_tools serve it",
        )


async def _check_authority(
    transport: Transport, name: str, program_id: Pubkey, authority: Pubkey
) -> None:
    """Raise NoProgram if the program does not exist, DeployRefused if *authority* cannot upgrade it."""
    found = await deployment(transport, program_id)
    if found is None:
        raise NoProgram(str(program_id), transport.endpoint, "Deploy it first")
    if not found.upgradeable:
        raise DeployRefused(
            name,
            f"its loader is {found.loader}, which keeps no upgrade authority",
            "Its metadata cannot be written",
        )
    if found.authority is None:
        raise DeployRefused(
            name,
            "the program is final, and only an upgrade authority can write its metadata",
            "Its metadata cannot be written",
        )
    if found.authority != authority:
        raise DeployRefused(
            name,
            f"the program's upgrade authority is {found.authority}, "
            f"and the one given is {authority}",
            "Give that key with --authority",
        )


def _packed(name: str, document: bytes) -> bytes:
    packed = zlib.compress(document, 9)
    if len(packed) > MAX_CONTENT:
        raise DeployRefused(
            name,
            f"{len(packed):,} bytes compressed; an account holds {MAX_CONTENT:,}",
            "Shorten its docs",
        )
    return packed


def _action(account: Account | None, document: bytes) -> Action:
    if account is None or not is_metadata(account):
        return "create"
    return "none" if document_of(account) == document else "update"


def _fits_one_transaction(
    rows: MetadataInstructions,
    account: Account | None,
    address: Pubkey,
    payer: Pubkey,
    packed: bytes,
    price: int | None,
) -> bool:
    """Whether one transaction can write all of *packed*. An account that is a buffer is continued."""
    if is_buffer(account):
        return False
    if is_metadata(account):
        direct = [rows.set_data(address, packed), rows.trim(address, payer)]
    else:
        direct = [rows.initialize(address, packed)]
    budget = compute_budget(_UNITS if price is not None else None, price)
    message = Message([*budget, *top_up(payer, address, 1), *direct], payer)
    return size_of(message) <= PACKET


def _chunk_size(
    rows: MetadataInstructions, payer: Pubkey, account: Pubkey, price: int | None
) -> int:
    """Return the bytes that one transaction can write to a buffer."""
    budget = compute_budget(_WRITE_UNITS if price is not None else None, price)
    return PACKET - size_of(Message([*budget, rows.write(account, 0, b"")], payer)) - 2


def _fees(parts: int, length: int, signatures: int, price: int | None) -> int:
    """Return the most that fees can be: of the writes, some retries, and other transactions."""
    parts += parts // WRITES_A_RETRY
    extensions = length // (_EXTENSIONS * GROWTH)
    units = _WRITE_UNITS * parts + 5 * _UNITS
    return LAMPORTS_PER_SIGNATURE * signatures * (
        parts + 4 + extensions
    ) + priority_fee(units, price)


def _costs(length: int, held: int, in_buffer: int | None, fees: int) -> Costs:
    """Return the costs of *length* bytes in an account that holds *held* lamports, by the highest rent.

    *in_buffer*: the lamports that a separate buffer holds already, None without a buffer.
    """
    rent = HIGHEST_RENT
    whole = rent.of(HEADER + length)
    locked = max(0, whole - held)
    lent = 0 if in_buffer is None else max(0, whole - in_buffer)
    return Costs(locked, lent, fees, locked + lent + fees + rent.of(0))


def _is_from_another_run(
    account: Account | None, authority: Pubkey, packed: bytes
) -> bool:
    """Whether *account* is a buffer that a run cannot continue."""
    if account is None or not is_buffer(account):
        return False
    too_long = len(account.data) > HEADER + len(packed)
    return too_long or buffer_authority(account) != bytes(authority)


# --- running it ------------------------------------------------------------------------------


async def run_publication(
    transport: Transport,
    plan: PublicationPlan,
    *,
    payer: Keypair,
    authority: Keypair,
    price: int | None = None,
    step: Step = lambda _: None,
    check: Transport | None = None,
) -> Published:
    """Carry out *plan*, and compare the published IDL. *step* is called with each step.

    *check* is a second endpoint of the cluster, which must show the IDL too. A run can be stopped at
    any time. To continue, make a new plan. Raises DeployRefused, before anything is sent, if the
    payer is too poor, and later if the node asks for more than the plan showed; ProgramFailed,
    SendUnknown, TransportError.
    """
    doing = f"to {plan.action} the IDL"
    refuse_poor(
        plan.payer, plan.balance, plan.needed, doing, plan.rent, plan.lent, plan.fees
    )
    allowance = Allowance(
        f"the IDL of {plan.program_id}", plan.rent + plan.lent, plan.fees
    )
    sender = Sender(
        transport, plan.payer, [payer, authority], price, charge=allowance.charge
    )
    run = _Run(
        transport,
        sender,
        MetadataInstructions(plan.program_id, plan.authority),
        plan,
        step,
    )
    signature = None
    if plan.action == "create":
        signature = await run.create()
    elif plan.action == "update":
        signature = await run.update()
    step("comparing the published IDL")
    for endpoint in (transport, check):
        if endpoint is not None:
            await _wait_until_published(endpoint, plan)
    return Published(plan, signature)


async def _wait_until_published(transport: Transport, plan: PublicationPlan) -> None:
    """Return once an endpoint shows the planned content. Raises TransportError."""
    document = zlib.decompress(plan.packed)
    for _ in range(STALE_LOOKS):
        (account,) = await transport.get_accounts([plan.address])
        if (
            account is not None
            and is_metadata(account)
            and document_of(account) == document
        ):
            return
        await transport.sleep(PAUSE)
    raise TransportError(
        transport.endpoint,
        f"{plan.address} does not hold the bytes that were written. Run the command again",
    )


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a plan."""

    transport: Transport
    sender: Sender
    rows: MetadataInstructions
    plan: PublicationPlan
    step: Step

    async def create(self) -> Signature:
        """Create the metadata account. Returns the last signature."""
        plan, rows = self.plan, self.rows
        if plan.buffer is not None:
            await self._fill(IDL_SEED)
            self.step("making it the program's IDL")
            return await self.sender.one([rows.initialize(plan.address)], units=_UNITS)
        self.step("writing the IDL")
        account = await self._account(plan.address)
        job = [
            *top_up(plan.payer, plan.address, self._lacking(account)),
            rows.initialize(plan.address, plan.packed),
        ]
        return await self.sender.one(job, units=_UNITS)

    async def update(self) -> Signature:
        """Replace the content of the metadata account. Returns the last signature."""
        plan, rows = self.plan, self.rows
        if plan.buffer is not None:
            await self._fill(BUFFER_SEED)
        account = await self._account(plan.address)
        if account is None:
            raise TransportError(
                self.transport.endpoint,
                f"it shows no account at {plan.address} any more, where an IDL was. Run the command again",
            )
        pay = top_up(plan.payer, plan.address, self._lacking(account))
        more = HEADER + len(plan.packed) - len(account.data)
        if more > GROWTH:  # SetData itself lengthens the account by at most that
            self.step("making room")
            await self._grow(plan.address, more, pay)
            pay = []
        self.step("replacing the IDL")
        content = b"" if plan.buffer else plan.packed
        job = [*pay, rows.set_data(plan.address, content, plan.buffer)]
        if plan.buffer is not None:
            job.append(rows.close(plan.buffer, plan.payer))
        if more < 0:
            job.append(rows.trim(plan.address, plan.payer))
        return await self.sender.one(job, units=_UNITS)

    async def _fill(self, seed: str) -> None:
        """Write to the buffer at *seed* until it has the packed document and nothing else."""
        plan = self.plan
        target = metadata_address(plan.program_id, seed)
        size = _chunk_size(self.rows, plan.payer, target, self.sender.price)
        for _ in range(4):
            account = await self._open_buffer(target, seed)
            if account is None:
                continue
            missing = chunks(plan.packed, bytes(account.data[HEADER:]), size)
            if not missing:
                return
            await self._write(target, missing)
            await self._wait_for(target, size)
        raise TransportError(
            self.transport.endpoint,
            f"{target} does not keep the bytes that are written to it: does another run write to it?",
        )

    async def _wait_for(self, target: Pubkey, size: int) -> None:
        """Give the endpoint time to show the written account."""
        for _ in range(STALE_LOOKS):
            account = await self._account(target)
            if account and not chunks(
                self.plan.packed, bytes(account.data[HEADER:]), size
            ):
                return
            await self.transport.sleep(PAUSE)

    async def _open_buffer(self, target: Pubkey, seed: str) -> Account | None:
        """Return a buffer that is long enough, or None if the chain does not show it yet."""
        plan = self.plan
        account = await self._account(target)
        if _is_from_another_run(account, plan.authority, plan.packed):
            self.step("closing the buffer of another run")
            await self.sender.one([self.rows.close(target, plan.payer)], units=_UNITS)
            account = None
        if not is_buffer(account):
            self.step("making the buffer")
            pay = top_up(plan.payer, target, self._lacking(account))
            await self.sender.one(
                [*pay, self.rows.allocate(target, seed)], units=_UNITS
            )
            account = await self._account(target)
        if account is None:
            return None
        more = HEADER + len(plan.packed) - len(account.data)
        if more <= 0:
            return account
        self.step("making room")
        pay = top_up(plan.payer, target, self._lacking(account))
        await self._grow(target, more, pay)
        return await self._account(target)

    async def _write(
        self, target: Pubkey, missing: Sequence[tuple[int, bytes]]
    ) -> None:
        jobs = [[self.rows.write(target, at, part)] for at, part in missing]

        def landed(count: int) -> None:
            self.step(f"writing chunks: {count} of {len(jobs)}")

        self.step(f"writing {len(jobs)} chunks")
        await self.sender.many(jobs, units=_WRITE_UNITS, landed=landed)

    async def _grow(
        self, account: Pubkey, more: int, first: Sequence[Instruction]
    ) -> None:
        """Lengthen *account* by *more* bytes, after the instructions *first*."""
        steps = self.rows.extend(account, more)
        for at in range(0, len(steps), _EXTENSIONS):
            before = first if at == 0 else ()
            await self.sender.one(
                [*before, *steps[at : at + _EXTENSIONS]], units=_UNITS
            )

    async def _account(self, address: Pubkey) -> Account | None:
        (account,) = await self.transport.get_accounts([address])
        return account

    def _lacking(self, account: Account | None) -> int:
        """Return the lamports that *account* lacks for the packed document."""
        return self.plan.rate.of(HEADER + len(self.plan.packed)) - lamports_of(account)


async def find_buffers(
    transport: Transport, program_id: Pubkey
) -> list[tuple[Pubkey, int]]:
    """Return (address, lamports) of each buffer that a stopped publication left."""
    targets = [metadata_address(program_id, seed) for seed in (IDL_SEED, BUFFER_SEED)]
    accounts = await transport.get_accounts(targets)
    return [
        (target, lamports_of(account))
        for target, account in zip(targets, accounts, strict=True)
        if is_buffer(account)
    ]


async def close_buffers(
    transport: Transport,
    program_id: Pubkey,
    *,
    payer: Keypair,
    authority: Keypair,
    check: Transport | None = None,
    price: int | None = None,
) -> list[tuple[Pubkey, int]]:
    """Close the buffers that a stopped publication left. *price* as in `close_buffer`.

    Returns (address, lamports that the payer got) for each. Raises TransportError if a buffer is
    still there afterwards, at *check* too, which is a second endpoint of the cluster.
    """
    rows = MetadataInstructions(program_id, authority.pubkey())
    sender = Sender(transport, payer.pubkey(), [payer, authority], price, MOST_UNITS)
    closed = await find_buffers(transport, program_id)
    for target, _ in closed:
        await sender.one([rows.close(target, payer.pubkey())])
    for endpoint in (transport, check):
        if endpoint is not None:
            await wait_until_gone(endpoint, [target for target, _ in closed])
    return closed
