"""Deploying and upgrading a program through the upgradeable loader, so that a stopped run goes on and nothing is lost.

The new bytes are gathered in a buffer account. Its address is derived: with a seed from the authority's address and the
program's id (`buffer_address`), so no key and no file must be kept for it. A run that was stopped, by a dropped
connection or by a person, is begun again with the same arguments: chunks whose bytes are there already are not written
again, whatever wrote them, and a buffer of another size is closed first. `close_buffer` gives its rent back instead.

    plan = await plan_deployment(transport, elf, program_id=…, authority=…, payer=…)   # sends nothing
    done = await run_deployment(transport, elf, plan, payer=keys, authority=keys, program=keys)

The last step reads the program's account and compares every byte. Source: solana-loader-v3-interface; client/loader.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import (
    AllocateParams,
    AllocateWithSeedParams,
    AssignParams,
    TransferParams,
    allocate,
    allocate_with_seed,
    assign,
    transfer,
)

from mcpsol_py.batch import Sender
from mcpsol_py.calls.transactions import PACKET, compute_budget, size_of
from mcpsol_py.client import loader
from mcpsol_py.client.loader import LOADER, Deployment, Rent, deployment
from mcpsol_py.client.simulation import Payers, run_instructions
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import DeployRefused, TransportError

__all__ = [
    "Deployed",
    "DeploymentPlan",
    "FEE",
    "Step",
    "buffer_address",
    "chunks",
    "close_buffer",
    "plan_deployment",
    "refuse_poor",
    "run_deployment",
    "top_up",
]

#: Lamports a signature costs.
FEE = 5_000
#: Below this an extension may be refused (SIMD-0431: MINIMUM_EXTEND_PROGRAM_BYTES).
_LEAST_EXTENSION = 10_240
#: What a write, and what a deployment takes at most, in compute units (the loader itself 2,370, the system program 150
#: a call, the compute budget 150 each).
_WRITE_UNITS, _DEPLOY_UNITS = 3_500, 10_000
#: Looks after the new slot before a program that was just extended can be upgraded, 0.4 s each.
_LOOKS = 150
#: Looks, as far apart, after what was just written.
_STALE = 8

Step = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """What a deployment will do and cost, in bytes and lamports; nothing was sent for it.

    `action`: "deploy", "upgrade", or "none" where the very bytes are deployed already. `max_len`: room for the ELF
    afterwards; `extend`: (bytes more, by ExtendProgramChecked?) of an upgrade whose program is too small. `rent` is
    what stays locked because of this run, `lent` what an upgrade's buffer holds meanwhile and gives back, `fees` what
    they are at most; `needed` is what the payer must have, `balance` what it has. `writes` of `chunks` transactions are
    still to be made: the others' bytes are in the buffer.
    """

    action: Literal["deploy", "upgrade", "none"]
    program_id: Pubkey
    authority: Pubkey
    payer: Pubkey
    buffer: Pubkey
    size: int
    sha256: str
    max_len: int
    extend: tuple[int, bool] | None
    rent: int
    lent: int
    fees: int
    needed: int
    balance: int
    chunks: int
    writes: int

    @property
    def affordable(self) -> bool:
        """Can the payer pay?"""
        return self.balance >= self.needed


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployment that was compared byte by byte: the slot it was made in, its signature (None where nothing was to
    do), and whether the upgrade authority was taken away."""

    plan: DeploymentPlan
    slot: int
    signature: Signature | None
    final: bool


# --- the buffer ------------------------------------------------------------------------------------------------------


def _seed(program_id: Pubkey) -> str:
    """32 characters, the most a seed may have: 128 bits of the id's hash."""
    return hashlib.sha256(b"mcpsol deploy buffer" + bytes(program_id)).hexdigest()[:32]


def buffer_address(authority: Pubkey, program_id: Pubkey) -> Pubkey:
    """Where *authority* gathers the new bytes of a program: derived, so it is found again by any later run."""
    return Pubkey.create_with_seed(authority, _seed(program_id), LOADER)


def chunks(elf: bytes, there: bytes | None, size: int) -> list[tuple[int, bytes]]:
    """The (offset, bytes) of *elf* that a buffer with *there* still lacks, each at most *size* bytes. A new buffer is
    zeros.

    >>> chunks(b"abcdef" + bytes(6), b"abcdXf" + bytes(6), 4)
    [(4, b'ef\\x00\\x00')]
    """
    there = (there or b"").ljust(len(elf), b"\0")
    return [
        (at, elf[at : at + size])
        for at in range(0, len(elf), size)
        if elf[at : at + size] != there[at : at + min(size, len(elf) - at)]
    ]


def _chunk_size(payer: Pubkey, authority: Pubkey, buffer: Pubkey, price: int | None) -> int:
    """Bytes that one transaction writes: what a packet leaves, with two bytes for the length of the data growing."""
    empty = [*compute_budget(_WRITE_UNITS if price is not None else None, price)]
    message = Message([*empty, loader.write(buffer, authority, 0, b"")], payer)
    return PACKET - size_of(message) - 2


def _make_buffer(plan: DeploymentPlan, lamports: int) -> list[Instruction]:
    """Pays, allocates and initialises the buffer; also where somebody sent lamports to the address before."""
    params = AllocateWithSeedParams(
        address=plan.buffer,
        base=plan.authority,
        seed=_seed(plan.program_id),
        space=loader.BUFFER_HEADER + plan.size,
        owner=LOADER,
    )
    return [
        *top_up(plan.payer, plan.buffer, lamports),
        allocate_with_seed(params),
        loader.initialize_buffer(plan.buffer, plan.authority),
    ]


def refuse_poor(
    payer: Pubkey, balance: int, needed: int, doing: str, rent: int, lent: int, fees: int
) -> None:
    """Raises DeployRefused, with the parts of the sum, where *payer* has less than *needed* lamports."""
    if balance >= needed:
        return
    buffer = f", {_sol(lent)} for the buffer, which come back" if lent else ""
    raise DeployRefused(
        f"payer {payer}",
        f"it has {_sol(balance)}, and {doing} takes {_sol(needed)} ({_sol(rent)} of rent that stays{buffer}, at most "
        f"{_sol(fees)} of fees)",
        "Fund it, or write less",
    )


def top_up(payer: Pubkey, to: Pubkey, lamports: int) -> list[Instruction]:
    """A transfer of *lamports*; none where that is not more than 0."""
    if lamports <= 0:
        return []
    return [transfer(TransferParams(from_pubkey=payer, to_pubkey=to, lamports=lamports))]


# --- the plan --------------------------------------------------------------------------------------------------------


async def plan_deployment(
    transport: Transport,
    elf: bytes,
    *,
    program_id: Pubkey,
    authority: Pubkey,
    payer: Pubkey,
    max_len: int | None = None,
    price: int | None = None,
) -> DeploymentPlan:
    """What deploying *elf* at *program_id* takes, from what is there now.

    *max_len*: room to leave for later versions (default: the ELF's own size). *price*: priority fee, micro-lamports a
    compute unit. Raises DeployRefused where the program is another's, final, or of a loader without upgrades, or the
    address is taken, and TransportError.
    """
    name = f"program {program_id}"
    room = max(len(elf), max_len or 0)
    if max_len is not None and max_len < len(elf):
        raise DeployRefused(
            name,
            f"--max-len {max_len:,} is less than the file's {len(elf):,} bytes",
            "Leave it out",
        )
    if room > loader.MAX_ELF:
        raise DeployRefused(
            name,
            f"{room:,} bytes; an account holds {loader.MAX_ELF:,} of a program",
            "Make it smaller",
        )
    rent = await Rent.read(transport)
    buffer = buffer_address(authority, program_id)
    found = await deployment(transport, program_id)
    account, held, purse = await transport.get_accounts([program_id, buffer, payer])
    balance = 0 if purse is None else purse.lamports
    if (
        found is None
        and account is not None
        and (account.data or account.owner != Pubkey.default())
    ):
        why = (
            "was closed: the address cannot be used again"
            if account.owner == LOADER
            else "is an account in use"
        )
        raise DeployRefused(name, f"it {why}", "Deploy under another --program-id")
    if found is not None:
        _refuse_foreign(name, found, authority)

    size = _chunk_size(payer, authority, buffer, price)
    total = -(-len(elf) // size)
    signatures = 1 if payer == authority else 2
    state = loader.read_buffer(held)
    usable = state is not None and len(state.data) == len(elf) and state.authority == authority
    missing = chunks(elf, state.data if state is not None and usable else None, size)
    in_buffer = 0 if held is None else held.lamports
    buffer_rent = rent.of(loader.BUFFER_HEADER + len(elf))
    units = (_WRITE_UNITS * len(missing) + 3 * _DEPLOY_UNITS) * (price or 0)
    fees = FEE * (signatures * (len(missing) + 3) + 1) + -(-units // 1_000_000)
    extend: tuple[int, bool] | None = None
    if found is not None and found.holds(elf) and len(found.data) >= room:
        return DeploymentPlan(
            "none", program_id, authority, payer, buffer, len(elf), _digest(elf), len(found.data), None,
            0, 0, 0, 0, balance, total, 0,
        )  # fmt: skip
    if found is None:
        there = 0 if account is None else account.lamports
        locked = max(0, rent.of(loader.PROGRAM_SIZE) - there) + rent.of(
            loader.PROGRAMDATA_HEADER + room
        )
        peak = locked - in_buffer
        action: Literal["deploy", "upgrade", "none"] = "deploy"
    else:
        action = "upgrade"
        more = room - len(found.data)
        if more > 0:
            extend = await _extension(transport, program_id, payer, authority, more)
            room = len(found.data) + extend[0]
        else:
            room = len(found.data)
        locked = max(0, rent.of(loader.PROGRAMDATA_HEADER + room) - found.lamports)
        peak = locked + buffer_rent - in_buffer
    lent = max(0, buffer_rent - in_buffer) if action == "upgrade" else 0
    needed = max(0, peak) + fees + rent.of(0)
    return DeploymentPlan(
        action, program_id, authority, payer, buffer, len(elf), _digest(elf), room, extend,
        locked, lent, fees, needed, balance, total, len(missing),
    )  # fmt: skip


def _digest(elf: bytes) -> str:
    return hashlib.sha256(elf).hexdigest()


def _refuse_foreign(name: str, found: Deployment, authority: Pubkey) -> None:
    if not found.upgradeable:
        raise DeployRefused(
            name,
            f"its loader is {found.loader}, which this command does not upgrade",
            "Deploy under another id",
        )
    if found.authority is None:
        raise DeployRefused(
            name, "it is final: nobody may upgrade it", "Deploy under another --program-id"
        )
    if found.authority != authority:
        raise DeployRefused(
            name,
            f"its upgrade authority is {found.authority}, and the one given is {authority}",
            "Give that key with --authority",
        )


async def _extension(
    transport: Transport, program_id: Pubkey, payer: Pubkey, authority: Pubkey, more: int
) -> tuple[int, bool]:
    """How this cluster extends a program: asked by simulation, since features decide (the checked instruction or the
    plain one; SIMD-0431's least size)."""
    why = ""
    for size, checked in ((more, True), (more, False), (max(more, _LEAST_EXTENSION), False)):
        instruction = loader.extend(program_id, payer, authority, size, checked=checked)
        outcome = await run_instructions(transport, [instruction], Payers(option=payer))
        if outcome.err is None:
            return size, checked
        if any("insufficient lamports" in line for line in outcome.logs) or isinstance(
            outcome.err, str
        ):
            return more, True  # the payer is too poor, which is told with the whole sum
        why = "; ".join(line for line in outcome.logs if "log:" in line or "failed" in line) or str(
            outcome.err
        )
    raise DeployRefused(
        f"program {program_id}",
        f"it has to grow by {more:,} bytes, and the cluster refuses to extend it ({why[:300]})",
        "Fund the payer, or wait a slot after the last deployment",
    )


# --- doing it --------------------------------------------------------------------------------------------------------


async def run_deployment(
    transport: Transport,
    elf: bytes,
    plan: DeploymentPlan,
    *,
    payer: Keypair,
    authority: Keypair,
    program: Keypair | None = None,
    final: bool = False,
    price: int | None = None,
    step: Step = lambda _: None,
) -> Deployed:
    """Does what *plan* says, and compares the outcome. *program* is the key pair of the id, needed for a first
    deployment alone; *final* takes the upgrade authority away at the end, for good. *step* is told what is being done.

    May be stopped at any time, and begun again with a new plan. Raises DeployRefused where the payer is too poor or the
    key pair of the id is missing (nothing was sent), ProgramFailed, SendUnknown, TransportError.
    """
    name = f"program {plan.program_id}"
    refuse_poor(
        plan.payer, plan.balance, plan.needed, f"to {plan.action}", plan.rent, plan.lent, plan.fees
    )
    if plan.action == "deploy" and (program is None or program.pubkey() != plan.program_id):
        raise DeployRefused(
            name,
            "it is not there yet, and its first deployment is signed by its own key",
            "Give its key pair file",
        )
    signers = [payer, authority, *([program] if program is not None else [])]
    sender = Sender(transport, plan.payer, signers, price)
    signature = None
    if plan.action != "none":
        signature = await _install(transport, sender, elf, plan, step)
    step("comparing what is deployed, byte by byte")
    found = await deployment(transport, plan.program_id)
    for _ in range(_STALE):  # another node behind the same endpoint may answer, a little late
        if found is not None and found.holds(elf):
            break
        await transport.sleep(0.4)
        found = await deployment(transport, plan.program_id)
    if found is None or found.slot is None or not found.holds(elf):
        raise TransportError(
            transport.endpoint,
            f"{name} does not hold the file's bytes after the deployment. Run the command again",
        )
    if final:
        step("taking the upgrade authority away")
        await sender.one([loader.make_final(plan.program_id, plan.authority)], units=_DEPLOY_UNITS)
    return Deployed(plan, found.slot, signature, final)


async def _install(
    transport: Transport, sender: Sender, elf: bytes, plan: DeploymentPlan, step: Step
) -> Signature:
    await _fill_buffer(transport, sender, elf, plan, step)
    if plan.extend is not None:
        step(f"making room for {plan.extend[0]:,} more bytes")
        more, checked = plan.extend
        grow = loader.extend(plan.program_id, plan.payer, plan.authority, more, checked=checked)
        await sender.one([grow], units=_DEPLOY_UNITS)
    if plan.action == "upgrade":
        await _next_slot(transport, plan.program_id)
        step("upgrading")
        job = [loader.upgrade(plan.program_id, plan.buffer, plan.payer, plan.authority)]
    else:
        step("deploying")
        rent = await Rent.read(transport)
        (account,) = await transport.get_accounts([plan.program_id])
        lacks = rent.of(loader.PROGRAM_SIZE) - (0 if account is None else account.lamports)
        job = [
            *top_up(plan.payer, plan.program_id, lacks),
            allocate(AllocateParams(pubkey=plan.program_id, space=loader.PROGRAM_SIZE)),
            assign(AssignParams(pubkey=plan.program_id, owner=LOADER)),
            loader.deploy(plan.payer, plan.program_id, plan.buffer, plan.authority, plan.max_len),
        ]
    return await sender.one(job, units=_DEPLOY_UNITS)


async def _fill_buffer(
    transport: Transport, sender: Sender, elf: bytes, plan: DeploymentPlan, step: Step
) -> None:
    """Until the buffer holds *elf*: read, write what differs, read again."""
    size = _chunk_size(plan.payer, plan.authority, plan.buffer, sender.price)
    rent = await Rent.read(transport)
    for _ in range(3):
        (held,) = await transport.get_accounts([plan.buffer])
        state = loader.read_buffer(held)
        if state is not None and len(state.data) != len(elf):
            step("closing the buffer of another size")
            await sender.one(
                [loader.close(plan.buffer, plan.payer, plan.authority)], units=_DEPLOY_UNITS
            )
            held, state = None, None
        if state is None:
            step("making the buffer")
            lacks = rent.of(loader.BUFFER_HEADER + len(elf)) - (
                0 if held is None else held.lamports
            )
            await sender.one(_make_buffer(plan, lacks), units=_DEPLOY_UNITS)
        missing = chunks(elf, None if state is None else state.data, size)
        if not missing:
            return
        jobs = [[loader.write(plan.buffer, plan.authority, at, part)] for at, part in missing]
        step(f"writing {len(jobs)} of {plan.chunks} chunks")

        def told(count: int, of: int = len(jobs)) -> None:
            step(f"writing chunks: {count} of {of}")

        await sender.many(jobs, units=_WRITE_UNITS, landed=told)
    raise TransportError(
        transport.endpoint,
        f"buffer {plan.buffer} does not keep what is written to it: does another run write to it?",
    )


async def _next_slot(transport: Transport, program_id: Pubkey) -> None:
    """Waits until a program that was extended or deployed in the newest slot may be upgraded: in a later one."""
    found = await deployment(transport, program_id)
    for _ in range(_LOOKS):
        if found is None or found.slot is None or await loader.current_slot(transport) > found.slot:
            return
        await transport.sleep(0.4)
    raise TransportError(transport.endpoint, "the cluster makes no new slots", retryable=True)


async def close_buffer(
    transport: Transport, program_id: Pubkey, *, payer: Keypair, authority: Keypair
) -> tuple[Pubkey, int]:
    """Ends the buffer of a stopped deployment; its lamports go to the payer. Returns its address and the lamports, 0
    where there is none."""
    buffer = buffer_address(authority.pubkey(), program_id)
    (held,) = await transport.get_accounts([buffer])
    if loader.read_buffer(held) is None or held is None:
        return buffer, 0
    sender = Sender(transport, payer.pubkey(), [payer, authority])
    await sender.one([loader.close(buffer, payer.pubkey(), authority.pubkey())])
    return buffer, held.lamports


def _sol(lamports: int) -> str:
    return f"{lamports / 1e9:.9f} SOL"
