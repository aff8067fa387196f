"""Writing a program's IDL to its Program Metadata account, where Anchor 1.0, explorers and `fetch_idl` look for it.

The account is the canonical one: derived from the program's id, and written by its upgrade authority alone. What fits
one transaction is written by one. More is gathered in a buffer first: the metadata account itself when it is new, else
an account derived beside it, so that the old IDL is read until the new one is complete, in one step. Both addresses are
derived, so a run that was stopped is begun again and goes on; `close_buffers` gives the rent back instead.

Source: solana-program/program-metadata (program/src/instruction.rs, state/header.rs); instructions start with one byte,
an absent optional account is the program's own id.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.batch import Sender
from mcpsol_py.calls.transactions import PACKET, compute_budget, size_of
from mcpsol_py.client.discovery import MAX_IDL, metadata_address
from mcpsol_py.client.loader import Rent, deployment, programdata_address
from mcpsol_py.client.transport import Transport
from mcpsol_py.deploy.program import FEE, Step, chunks, refuse_poor, top_up
from mcpsol_py.errors import DeployRefused, NoProgram, TransportError
from mcpsol_py.solana.addresses import PROGRAM_METADATA, RENT_SYSVAR, SYSTEM_PROGRAM

__all__ = [
    "Instructions",
    "PublicationPlan",
    "Published",
    "close_buffers",
    "plan_publication",
    "run_publication",
]

#: Bytes before the content, in metadata and in buffers alike.
_HEADER = 96
_BUFFER, _METADATA = 1, 2
#: How an IDL is kept: shown as UTF-8, compressed with zlib, JSON, in the account itself.
_FORM = bytes([1, 2, 1])
_DIRECT = bytes([0])
#: The seeds of the IDL's account, and of the buffer for its next version.
_IDL, _NEXT = "idl", "mcpsol-idl-next"
#: By so much one instruction may lengthen an account (the runtime's MAX_PERMITTED_DATA_INCREASE).
_GROWTH = 10_240
#: Compute units: a write; anything that allocates or copies (the program looks for its address's bump, at 1,500 a try).
_WRITE_UNITS, _UNITS = 10_000, 120_000
#: Looks at what was just written, 0.4 s apart.
_STALE = 8
#: An account's data, less the header.
_MOST = 10 * 1024 * 1024 - _HEADER


# --- instructions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Instructions:
    """The instructions of the Program Metadata program, for one program's metadata and its upgrade authority.

    Layouts as program/src/instruction.rs of solana-program/program-metadata says.
    """

    program_id: Pubkey
    authority: Pubkey

    def _make(self, data: bytes, *accounts: AccountMeta) -> Instruction:
        return Instruction(PROGRAM_METADATA, data, list(accounts))

    def _who(self, account: Pubkey) -> tuple[AccountMeta, ...]:
        """The account, and what shows that the authority may change it."""
        return (
            AccountMeta(account, False, True),
            AccountMeta(self.authority, True, False),
            AccountMeta(self.program_id, False, False),
            AccountMeta(programdata_address(self.program_id), False, False),
        )

    def allocate(self, account: Pubkey, seed: str) -> Instruction:
        """Makes an account that holds its rent a buffer, at the address of *seed*."""
        return self._make(
            b"\7" + _seed(seed), *self._who(account), AccountMeta(SYSTEM_PROGRAM, False, False)
        )

    def extend(self, account: Pubkey, more: int) -> list[Instruction]:
        """Lengthens an account by *more* bytes, with as many instructions as it takes."""
        parts = [min(_GROWTH, more - at) for at in range(0, more, _GROWTH)]
        return [
            self._make(b"\x08" + part.to_bytes(2, "little"), *self._who(account)) for part in parts
        ]

    def write(self, account: Pubkey, offset: int, data: bytes) -> Instruction:
        """Puts *data* at *offset* of a buffer's content."""
        return self._make(
            b"\0" + offset.to_bytes(4, "little") + data,
            AccountMeta(account, False, True),
            AccountMeta(self.authority, True, False),
            AccountMeta(PROGRAM_METADATA, False, False),
        )

    def initialize(self, account: Pubkey, data: bytes = b"") -> Instruction:
        """Makes the IDL's metadata of *data*, or of the buffer that the account is."""
        system = SYSTEM_PROGRAM if data else PROGRAM_METADATA
        return self._make(
            b"\1" + _seed(_IDL) + _FORM + _DIRECT + data,
            *self._who(account),
            AccountMeta(system, False, False),
        )

    def set_data(
        self, account: Pubkey, data: bytes = b"", buffer: Pubkey | None = None
    ) -> Instruction:
        """Replaces the content by *data*, or by a buffer's."""
        target, authority, program, programdata = self._who(account)
        source = (
            AccountMeta(PROGRAM_METADATA, False, False)
            if buffer is None
            else AccountMeta(buffer, False, True)
        )
        return self._make(
            b"\3" + _FORM + _DIRECT + data, target, authority, source, program, programdata
        )

    def trim(self, account: Pubkey, to: Pubkey) -> Instruction:
        """Gives back the rent of what was cut off."""
        return self._make(
            b"\5",
            *self._who(account),
            AccountMeta(to, False, True),
            AccountMeta(RENT_SYSVAR, False, False),
        )

    def close(self, account: Pubkey, to: Pubkey) -> Instruction:
        """Ends a buffer or metadata; its lamports go to *to*."""
        return self._make(b"\6", *self._who(account), AccountMeta(to, False, True))


def _seed(text: str) -> bytes:
    return text.encode().ljust(16, b"\0")


# --- the plan --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublicationPlan:
    """What a publication will do and cost, in bytes and lamports; nothing was sent for it.

    `action`: "create", "update", or "none" where this very document is published already. `address` is the metadata
    account, `buffer` where more than one transaction's worth is gathered (None: one is enough), `packed` the bytes that
    will stand there. Lamports as in `DeploymentPlan`.
    """

    action: Literal["create", "update", "none"]
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


@dataclass(frozen=True, slots=True)
class Published:
    """A publication that was read back and compared. `signature`: of its last transaction, None where nothing was to
    do."""

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
    """What publishing *document*, an IDL's JSON text, for a program takes.

    Raises NoProgram where the cluster has no Program Metadata program, or no program at *program_id*; DeployRefused
    where *authority* is not its upgrade authority, or the metadata was made immutable; TransportError.
    """
    name = f"the IDL of {program_id}"
    (home,) = await transport.get_accounts([PROGRAM_METADATA])
    if home is None or not home.executable:
        raise NoProgram(
            str(PROGRAM_METADATA),
            transport.endpoint,
            "It is the Program Metadata program, which keeps IDLs. Keep the IDL in a file, or let list_tools serve it",
        )
    await _refuse_foreign(transport, name, program_id, authority)
    packed = zlib.compress(document, 9)
    if len(packed) > _MOST:
        raise DeployRefused(
            name,
            f"{len(packed):,} bytes compressed; an account holds {_MOST:,}",
            "Shorten its docs",
        )
    rent = await Rent.read(transport)
    address, following = metadata_address(program_id), metadata_address(program_id, _NEXT)
    account, beside, purse = await transport.get_accounts([address, following, payer])
    balance = 0 if purse is None else purse.lamports
    kind = _kind(account)
    if kind == _METADATA and account is not None and not account.data[65]:
        raise DeployRefused(
            name, f"{address} was made immutable: nobody can change it", "Nothing would do"
        )
    whole = rent.of(_HEADER + len(packed))
    rows = Instructions(program_id, authority)
    if kind == _METADATA and account is not None:
        action: Literal["create", "update", "none"] = "update"
        direct = [rows.set_data(address, packed), rows.trim(address, payer)]
        locked = max(0, whole - account.lamports)
    else:
        action = "create"
        direct = [rows.initialize(address, packed)]
        locked = max(0, whole - (0 if account is None else account.lamports))
    fits = kind != _BUFFER and _fits(payer, [*top_up(payer, address, 1), *direct], price)
    buffer = None if fits else address if action == "create" else following
    held = 0 if beside is None or action == "create" else beside.lamports
    lent = max(0, whole - held) if buffer == following else 0
    parts = 0 if buffer is None else -(-len(packed) // _chunk_size(rows, payer, address, price))
    signatures = 1 if payer == authority else 2
    units = (_WRITE_UNITS * parts + 5 * _UNITS) * (price or 0)
    fees = FEE * signatures * (parts + 4 + len(packed) // (8 * _GROWTH)) + -(-units // 1_000_000)
    if action == "update" and account is not None and _document_of(account) == document:
        action, buffer, locked, lent, fees = "none", None, 0, 0, 0
    needed = 0 if action == "none" else locked + lent + fees + rent.of(0)
    return PublicationPlan(
        action,
        program_id,
        authority,
        payer,
        address,
        buffer,
        len(document),
        packed,
        locked,
        lent,
        fees,
        needed,
        balance,
    )


async def _refuse_foreign(
    transport: Transport, name: str, program_id: Pubkey, authority: Pubkey
) -> None:
    found = await deployment(transport, program_id)
    if found is None:
        raise NoProgram(str(program_id), transport.endpoint, "Deploy it first")
    if not found.upgradeable:
        raise DeployRefused(
            name,
            f"its loader is {found.loader}, which keeps no upgrade authority",
            "Nothing would do",
        )
    if found.authority is None:
        raise DeployRefused(
            name, "the program is final, so nobody may write its metadata", "Nothing would do"
        )
    if found.authority != authority:
        raise DeployRefused(
            name,
            f"the program's upgrade authority is {found.authority}, and the one given is {authority}",
            "Give that key with --authority",
        )


def _kind(account: Account | None) -> int:
    if account is None or account.owner != PROGRAM_METADATA or len(account.data) < _HEADER:
        return 0
    return account.data[0]


def _content(account: Account | None) -> bytes:
    data = b"" if account is None else bytes(account.data)
    return data[_HEADER : _HEADER + int.from_bytes(data[87:91], "little")]


def _document_of(account: Account) -> bytes | None:
    """The text in a metadata account, where it is kept as this module keeps it; else None."""
    if bytes(account.data[83:86]) + bytes(account.data[86:87]) != _FORM + _DIRECT:
        return None
    try:
        return zlib.decompressobj().decompress(_content(account), MAX_IDL + 1)
    except zlib.error:
        return None


def _fits(payer: Pubkey, job: Sequence[Instruction], price: int | None) -> bool:
    budget = compute_budget(_UNITS if price is not None else None, price)
    return size_of(Message([*budget, *job], payer)) <= PACKET


def _chunk_size(rows: Instructions, payer: Pubkey, account: Pubkey, price: int | None) -> int:
    budget = compute_budget(_WRITE_UNITS if price is not None else None, price)
    return PACKET - size_of(Message([*budget, rows.write(account, 0, b"")], payer)) - 2


# --- doing it --------------------------------------------------------------------------------------------------------


async def run_publication(
    transport: Transport,
    plan: PublicationPlan,
    *,
    payer: Keypair,
    authority: Keypair,
    price: int | None = None,
    step: Step = lambda _: None,
) -> Published:
    """Does what *plan* says, and compares the outcome. May be stopped at any time, and begun again with a new plan.

    Raises DeployRefused where the payer is too poor (nothing was sent), ProgramFailed, SendUnknown, TransportError.
    """
    refuse_poor(
        plan.payer,
        plan.balance,
        plan.needed,
        f"to {plan.action} the IDL",
        plan.rent,
        plan.lent,
        plan.fees,
    )
    rows = Instructions(plan.program_id, plan.authority)
    sender = Sender(transport, plan.payer, [payer, authority], price)
    signature = None
    if plan.action == "create":
        signature = await _create(transport, sender, rows, plan, step)
    elif plan.action == "update":
        signature = await _update(transport, sender, rows, plan, step)
    step("comparing what is published")
    for _ in range(_STALE):  # another node behind the same endpoint may answer, a little late
        (account,) = await transport.get_accounts([plan.address])
        there = account is not None and _kind(account) == _METADATA
        if there and (plan.action == "none" or _content(account) == plan.packed):
            return Published(plan, signature)
        await transport.sleep(0.4)
    raise TransportError(
        transport.endpoint, f"{plan.address} does not hold what was written. Run the command again"
    )


async def _create(
    transport: Transport, sender: Sender, rows: Instructions, plan: PublicationPlan, step: Step
) -> Signature:
    if plan.buffer is None:
        step("writing the IDL")
        (account,) = await transport.get_accounts([plan.address])
        lacks = (
            plan.rent
            if account is None
            else _lacks(await Rent.read(transport), account, len(plan.packed))
        )
        return await sender.one(
            [*top_up(plan.payer, plan.address, lacks), rows.initialize(plan.address, plan.packed)],
            units=_UNITS,
        )
    await _fill(transport, sender, rows, plan, _IDL, step)
    step("making it the program's IDL")
    return await sender.one([rows.initialize(plan.address)], units=_UNITS)


async def _update(
    transport: Transport, sender: Sender, rows: Instructions, plan: PublicationPlan, step: Step
) -> Signature:
    if plan.buffer is not None:
        await _fill(transport, sender, rows, plan, _NEXT, step)
    (account,) = await transport.get_accounts([plan.address])
    assert account is not None
    pay = top_up(
        plan.payer, plan.address, _lacks(await Rent.read(transport), account, len(plan.packed))
    )
    more = _HEADER + len(plan.packed) - len(account.data)
    if more > _GROWTH:  # the copy itself can lengthen the account by so much and no more
        step("making room")
        await _grow(sender, rows, plan.address, more, pay)
        pay = []
    step("replacing the IDL")
    job = [*pay, rows.set_data(plan.address, b"" if plan.buffer else plan.packed, plan.buffer)]
    if plan.buffer is not None:
        job.append(rows.close(plan.buffer, plan.payer))
    if more < 0:
        job.append(rows.trim(plan.address, plan.payer))
    return await sender.one(job, units=_UNITS)


def _lacks(rent: Rent, account: Account | None, length: int) -> int:
    return rent.of(_HEADER + length) - (0 if account is None else account.lamports)


async def _grow(
    sender: Sender,
    rows: Instructions,
    account: Pubkey,
    more: int,
    first: Sequence[Instruction] = (),
) -> None:
    steps = rows.extend(account, more)
    for at in range(0, len(steps), 8):
        await sender.one([*(first if at == 0 else ()), *steps[at : at + 8]], units=_UNITS)


async def _fill(
    transport: Transport,
    sender: Sender,
    rows: Instructions,
    plan: PublicationPlan,
    seed: str,
    step: Step,
) -> None:
    """Until the buffer at *seed* holds the packed document and nothing else."""
    target, packed = metadata_address(plan.program_id, seed), plan.packed
    size = _chunk_size(rows, plan.payer, target, sender.price)
    rent = await Rent.read(transport)
    for _ in range(4):
        (account,) = await transport.get_accounts([target])
        if _kind(account) == _BUFFER and account is not None:
            other = bytes(account.data[33:65]) != bytes(plan.authority)
            if other or len(account.data) > _HEADER + len(packed):
                step("closing the buffer of another run")
                await sender.one([rows.close(target, plan.payer)], units=_UNITS)
                account = None
        if _kind(account) != _BUFFER:
            step("making the buffer")
            pay = top_up(plan.payer, target, _lacks(rent, account, len(packed)))
            await sender.one([*pay, rows.allocate(target, seed)], units=_UNITS)
            (account,) = await transport.get_accounts([target])
        if account is None:
            continue
        more = _HEADER + len(packed) - len(account.data)
        if more > 0:
            step("making room")
            await _grow(
                sender,
                rows,
                target,
                more,
                top_up(plan.payer, target, _lacks(rent, account, len(packed))),
            )
            (account,) = await transport.get_accounts([target])
        held = b"" if account is None else bytes(account.data[_HEADER:])
        missing = chunks(packed, held, size)
        if not missing:
            return
        jobs = [[rows.write(target, at, part)] for at, part in missing]

        def told(count: int, of: int = len(jobs)) -> None:
            step(f"writing chunks: {count} of {of}")

        step(f"writing {len(jobs)} chunks")
        await sender.many(jobs, units=_WRITE_UNITS, landed=told)
    raise TransportError(
        transport.endpoint, f"{target} does not keep what is written to it: does another run write?"
    )


async def close_buffers(
    transport: Transport, program_id: Pubkey, *, payer: Keypair, authority: Keypair
) -> list[tuple[Pubkey, int]]:
    """Ends what a stopped publication left: (address, lamports that the payer got) for each buffer."""
    targets = [metadata_address(program_id, seed) for seed in (_IDL, _NEXT)]
    accounts = await transport.get_accounts(targets)
    rows = Instructions(program_id, authority.pubkey())
    sender = Sender(transport, payer.pubkey(), [payer, authority])
    out = []
    for target, account in zip(targets, accounts, strict=True):
        if account is not None and _kind(account) == _BUFFER:
            await sender.one([rows.close(target, payer.pubkey())])
            out.append((target, account.lamports))
    return out
