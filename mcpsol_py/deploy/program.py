"""Deploy and upgrade programs through the upgradeable loader. A stopped run can be continued.

The new bytes are first written to a buffer account. Its address is derived from the authority's
address and the program's id (`buffer_address`), so no key and no file has to be kept for it. If a
run stops, because a connection drops or a person stops it, run it again with the same arguments: it
skips the chunks whose bytes are in the buffer already, and closes a buffer of another size first.
`close_buffer` gives the buffer's rent back instead.

    plan = await plan_deployment(transport, elf, program_id=…, authority=…, payer=…)  # sends nothing
    done = await run_deployment(transport, elf, plan, payer=keys, authority=keys, program=keys)

The last step reads the program's account and compares every byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import (
    AllocateParams,
    AllocateWithSeedParams,
    AssignParams,
    allocate,
    allocate_with_seed,
    assign,
)

from mcpsol_py.batch import Sender
from mcpsol_py.calls.transactions import PACKET, compute_budget, size_of
from mcpsol_py.client.loader import current_slot, deployment, read_rent
from mcpsol_py.client.simulation import Payers, run_instructions
from mcpsol_py.client.transport import Transport
from mcpsol_py.deploy.funding import (
    Costs,
    Step,
    chunk_count,
    chunks,
    refuse_poor,
    top_up,
)
from mcpsol_py.errors import DeployRefused, TransportError
from mcpsol_py.solana import loader
from mcpsol_py.solana.fees import LAMPORTS_PER_SIGNATURE, priority_fee
from mcpsol_py.solana.loader import LOADER, DeployedProgram, ProgramBuffer
from mcpsol_py.solana.rent import RentRate

__all__ = [
    "Deployed",
    "DeploymentPlan",
    "Step",
    "buffer_address",
    "chunks",
    "close_buffer",
    "plan_deployment",
    "refuse_poor",
    "run_deployment",
    "top_up",
]

#: Below this an extension may be refused (SIMD-0431: MINIMUM_EXTEND_PROGRAM_BYTES).
_LEAST_EXTENSION = 10_240
#: The most compute units of a write, and of a deployment (the loader itself takes 2,370, the system
#: program 150 for each call, the compute budget 150 for each instruction).
_WRITE_UNITS, _DEPLOY_UNITS = 3_500, 10_000
#: How often to look for a new slot before a program that was just extended can be upgraded.
_SLOT_LOOKS = 150
#: How often to read a new account again: another node behind the endpoint may be late.
_STALE_LOOKS = 8
#: Seconds between two looks.
_PAUSE = 0.4

Action = Literal["deploy", "upgrade", "none"]


@dataclass(frozen=True, slots=True)
class DeploymentPlan:
    """What a deployment will do and cost, in bytes and lamports. Planning sends nothing.

    `action` is "none" if the same bytes are deployed already. `max_len` is the room for the ELF
    after the deployment. `extend` is set for an upgrade of a program that is too small: the bytes
    to add, and whether by ExtendProgramChecked.

    `rent` stays locked because of this run, `lent` is held by the buffer of an upgrade and comes
    back, `fees` is the most that fees can be. The payer must have `needed` and has `balance`.

    `writes` of `chunks` transactions have to be sent: the other chunks are in the buffer already.
    """

    action: Action
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
        """Whether the payer has enough lamports."""
        return self.balance >= self.needed


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployment whose bytes were compared after it.

    `signature` is None if nothing was sent. `final`: the upgrade authority was taken away.
    """

    plan: DeploymentPlan
    slot: int
    signature: Signature | None
    final: bool


# --- the buffer ------------------------------------------------------------------------------


def _seed(program_id: Pubkey) -> str:
    """Return the seed of a program's buffer: 32 characters, the most that a seed can have."""
    return hashlib.sha256(b"mcpsol deploy buffer" + bytes(program_id)).hexdigest()[:32]


def buffer_address(authority: Pubkey, program_id: Pubkey) -> Pubkey:
    """Return the buffer in which *authority* collects the new bytes of a program."""
    return Pubkey.create_with_seed(authority, _seed(program_id), LOADER)


def _chunk_size(payer: Pubkey, authority: Pubkey, buffer: Pubkey, price: int | None) -> int:
    """Return the bytes that one transaction can write.

    That is the rest of a packet, less two bytes because the data's length takes more bytes then.
    """
    budget = compute_budget(_WRITE_UNITS if price is not None else None, price)
    message = Message([*budget, loader.write(buffer, authority, 0, b"")], payer)
    return PACKET - size_of(message) - 2


def _make_buffer(plan: DeploymentPlan, lamports: int) -> list[Instruction]:
    """Return instructions that pay for, allocate and initialize the buffer.

    They also work if somebody has sent lamports to its address.
    """
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


# --- the plan --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """The accounts that a plan is made from, as they are on chain now."""

    program: DeployedProgram | None
    account: Account | None
    buffer: ProgramBuffer | None
    buffer_lamports: int
    payer_lamports: int
    rent: RentRate


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
    """Plan the deployment of *elf* at *program_id*, from the accounts on chain.

    *max_len* leaves room for later versions; the default is the ELF's size. *price* is the priority
    fee in micro-lamports for each compute unit.

    Raises DeployRefused if the program belongs to another authority, is final or cannot be
    upgraded, or if the address is in use, and TransportError.
    """
    name = f"program {program_id}"
    room = _checked_room(name, len(elf), max_len)
    buffer = buffer_address(authority, program_id)
    found = await _look(transport, program_id, buffer, payer)
    _check_address(name, found)
    if found.program is not None:
        _check_authority(name, found.program, authority)

    size = _chunk_size(payer, authority, buffer, price)
    missing = chunks(elf, _usable_bytes(found.buffer, len(elf), authority), size)
    action = _action(found.program, elf, room)
    extend: tuple[int, bool] | None = None
    if found.program is not None:
        more = max(0, room - len(found.program.data))
        if more > 0:
            extend = await _extension(transport, program_id, payer, authority, more)
        room = len(found.program.data) + (extend[0] if extend is not None else 0)
    costs = Costs()
    if action != "none":
        signatures = 1 if payer == authority else 2
        costs = _costs(found, len(elf), room, _fees(len(missing), signatures, price))
    return DeploymentPlan(
        action=action,
        program_id=program_id,
        authority=authority,
        payer=payer,
        buffer=buffer,
        size=len(elf),
        sha256=hashlib.sha256(elf).hexdigest(),
        max_len=room,
        extend=extend,
        rent=costs.rent,
        lent=costs.lent,
        fees=costs.fees,
        needed=costs.needed,
        balance=found.payer_lamports,
        chunks=chunk_count(len(elf), size),
        writes=0 if action == "none" else len(missing),
    )


def _checked_room(name: str, size: int, max_len: int | None) -> int:
    """Return the bytes to leave for the program. Raises DeployRefused."""
    if max_len is not None and max_len < size:
        raise DeployRefused(
            name, f"--max-len {max_len:,} is less than the file's {size:,} bytes", "Leave it out"
        )
    room = max(size, max_len or 0)
    if room > loader.MAX_ELF:
        raise DeployRefused(
            name,
            f"{room:,} bytes; an account holds {loader.MAX_ELF:,} of a program",
            "Make it smaller",
        )
    return room


async def _look(transport: Transport, program_id: Pubkey, buffer: Pubkey, payer: Pubkey) -> _Found:
    rent = await read_rent(transport)
    program = await deployment(transport, program_id)
    account, held, wallet = await transport.get_accounts([program_id, buffer, payer])
    return _Found(
        program=program,
        account=account,
        buffer=loader.read_buffer(held),
        buffer_lamports=_lamports(held),
        payer_lamports=_lamports(wallet),
        rent=rent,
    )


def _lamports(account: Account | None) -> int:
    return 0 if account is None else account.lamports


def _check_address(name: str, found: _Found) -> None:
    """Raise DeployRefused if another account is at the program's address."""
    account = found.account
    if found.program is not None or account is None:
        return
    if account.owner == LOADER:
        why = "it was closed: the address cannot be used again"
    elif account.data or account.owner != Pubkey.default():
        why = "it is an account in use"
    else:
        return
    raise DeployRefused(name, why, "Deploy under another --program-id")


def _check_authority(name: str, found: DeployedProgram, authority: Pubkey) -> None:
    """Raise DeployRefused if *authority* cannot upgrade the program."""
    if not found.upgradeable:
        raise DeployRefused(
            name,
            f"its loader is {found.loader}, which this command does not upgrade",
            "Deploy under another id",
        )
    if found.authority is None:
        raise DeployRefused(
            name, "it is final: it cannot be upgraded", "Deploy under another --program-id"
        )
    if found.authority != authority:
        raise DeployRefused(
            name,
            f"its upgrade authority is {found.authority}, and the one given is {authority}",
            "Give that key with --authority",
        )


def _usable_bytes(buffer: ProgramBuffer | None, size: int, authority: Pubkey) -> bytes | None:
    """Return the bytes of a buffer that a run can continue, or None."""
    if buffer is None or len(buffer.data) != size or buffer.authority != authority:
        return None
    return buffer.data


def _action(program: DeployedProgram | None, elf: bytes, room: int) -> Action:
    if program is None:
        return "deploy"
    return "none" if program.holds(elf) and len(program.data) >= room else "upgrade"


def _fees(writes: int, signatures: int, price: int | None) -> int:
    """Return the most that fees can be: of the writes and three other transactions."""
    units = _WRITE_UNITS * writes + 3 * _DEPLOY_UNITS
    return LAMPORTS_PER_SIGNATURE * (signatures * (writes + 3) + 1) + priority_fee(units, price)


def _costs(found: _Found, size: int, room: int, fees: int) -> Costs:
    """Return the costs of a deployment or upgrade to *room* bytes."""
    rent = found.rent
    programdata = rent.of(loader.PROGRAMDATA_HEADER + room)
    if found.program is None:
        # The buffer's lamports pay for a part of the ProgramData account.
        program = max(0, rent.of(loader.PROGRAM_SIZE) - _lamports(found.account))
        locked, lent = program + programdata, 0
        most = locked - found.buffer_lamports
    else:
        buffer = rent.of(loader.BUFFER_HEADER + size) - found.buffer_lamports
        locked, lent = max(0, programdata - found.program.lamports), max(0, buffer)
        most = locked + buffer
    return Costs(locked, lent, fees, max(0, most) + fees + rent.of(0))


async def _extension(
    transport: Transport, program_id: Pubkey, payer: Pubkey, authority: Pubkey, more: int
) -> tuple[int, bool]:
    """Return how this cluster extends a program: (bytes, by the checked instruction?).

    Features decide that (SIMD-0431 sets a least size), so each way is simulated.
    """
    why = ""
    for size, checked in ((more, True), (more, False), (max(more, _LEAST_EXTENSION), False)):
        instruction = loader.extend(program_id, payer, authority, size, checked=checked)
        outcome = await run_instructions(transport, [instruction], Payers(option=payer))
        if outcome.err is None:
            return size, checked
        if _payer_is_too_poor(outcome.err, outcome.logs):
            return more, True  # `refuse_poor` reports the whole sum
        failed = [line for line in outcome.logs if "log:" in line or "failed" in line]
        why = "; ".join(failed) or str(outcome.err)
    raise DeployRefused(
        f"program {program_id}",
        f"it has to grow by {more:,} bytes, and the cluster refuses to extend it ({why[:300]})",
        "Fund the payer, or wait a slot after the last deployment",
    )


def _payer_is_too_poor(err: object, logs: Sequence[str]) -> bool:
    """Whether a simulation failed because the payer cannot pay fee or rent."""
    return isinstance(err, str) or any("insufficient lamports" in line for line in logs)


# --- running it ------------------------------------------------------------------------------


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
    """Carry out *plan*, and compare the deployed bytes with *elf*.

    *program* is the key pair of the program's id; only the first deployment needs it. *final* takes
    the upgrade authority away at the end, for good. *step* is called with each step.

    A run can be stopped at any time. To continue, make a new plan. Raises DeployRefused, before
    anything is sent, if the payer is too poor or the id's key pair is missing; ProgramFailed,
    SendUnknown, TransportError.
    """
    refuse_poor(
        plan.payer, plan.balance, plan.needed, f"to {plan.action}", plan.rent, plan.lent, plan.fees
    )
    if plan.action == "deploy":
        _check_program_key(plan.program_id, program)
    signers = [payer, authority] if program is None else [payer, authority, program]
    sender = Sender(transport, plan.payer, signers, price)
    signature = None
    if plan.action != "none":
        signature = await _install(transport, sender, elf, plan, step)
    step("comparing the deployed bytes")
    slot = await _compared_slot(transport, plan.program_id, elf)
    if final:
        step("taking the upgrade authority away")
        await sender.one([loader.make_final(plan.program_id, plan.authority)], units=_DEPLOY_UNITS)
    return Deployed(plan, slot, signature, final)


def _check_program_key(program_id: Pubkey, program: Keypair | None) -> None:
    if program is None or program.pubkey() != program_id:
        raise DeployRefused(
            f"program {program_id}",
            "it does not exist yet, and its own key must sign the first deployment",
            "Give its key pair file",
        )


async def _compared_slot(transport: Transport, program_id: Pubkey, elf: bytes) -> int:
    """Return the slot of the deployment once the chain shows *elf*. Raises TransportError."""
    for look in range(_STALE_LOOKS + 1):
        if look > 0:
            await transport.sleep(_PAUSE)
        found = await deployment(transport, program_id)
        if found is not None and found.slot is not None and found.holds(elf):
            return found.slot
    raise TransportError(
        transport.endpoint,
        f"program {program_id} does not have the file's bytes after the deployment. "
        "Run the command again",
    )


async def _install(
    transport: Transport, sender: Sender, elf: bytes, plan: DeploymentPlan, step: Step
) -> Signature:
    await _fill_buffer(transport, sender, elf, plan, step)
    if plan.extend is not None:
        more, checked = plan.extend
        step(f"making room for {more:,} more bytes")
        grow = loader.extend(plan.program_id, plan.payer, plan.authority, more, checked=checked)
        await sender.one([grow], units=_DEPLOY_UNITS)
    if plan.action == "upgrade":
        await _wait_for_next_slot(transport, plan.program_id)
        step("upgrading")
        job = [loader.upgrade(plan.program_id, plan.buffer, plan.payer, plan.authority)]
    else:
        step("deploying")
        job = await _first_deployment(transport, plan)
    return await sender.one(job, units=_DEPLOY_UNITS)


async def _first_deployment(transport: Transport, plan: DeploymentPlan) -> list[Instruction]:
    rent = await read_rent(transport)
    (account,) = await transport.get_accounts([plan.program_id])
    lacking = rent.of(loader.PROGRAM_SIZE) - _lamports(account)
    return [
        *top_up(plan.payer, plan.program_id, lacking),
        allocate(AllocateParams(pubkey=plan.program_id, space=loader.PROGRAM_SIZE)),
        assign(AssignParams(pubkey=plan.program_id, owner=LOADER)),
        loader.deploy(plan.payer, plan.program_id, plan.buffer, plan.authority, plan.max_len),
    ]


async def _fill_buffer(
    transport: Transport, sender: Sender, elf: bytes, plan: DeploymentPlan, step: Step
) -> None:
    """Write to the buffer until it has the bytes of *elf*."""
    size = _chunk_size(plan.payer, plan.authority, plan.buffer, sender.price)
    for _ in range(3):
        there = await _open_buffer(transport, sender, plan, step)
        missing = chunks(elf, there, size)
        if not missing:
            return
        jobs = [[loader.write(plan.buffer, plan.authority, at, part)] for at, part in missing]
        step(f"writing {len(jobs)} of {plan.chunks} chunks")

        def landed(count: int, of: int = len(jobs)) -> None:
            step(f"writing chunks: {count} of {of}")

        await sender.many(jobs, units=_WRITE_UNITS, landed=landed)
    raise TransportError(
        transport.endpoint,
        f"buffer {plan.buffer} does not keep the bytes that are written to it: does another run write to it?",
    )


async def _open_buffer(
    transport: Transport, sender: Sender, plan: DeploymentPlan, step: Step
) -> bytes | None:
    """Return the bytes in the buffer, or None for a new one, which this function creates."""
    (held,) = await transport.get_accounts([plan.buffer])
    buffer = loader.read_buffer(held)
    if buffer is not None and len(buffer.data) == plan.size:
        return buffer.data
    lamports = _lamports(held)
    if buffer is not None:
        step("closing the buffer of another size")
        closing = loader.close(plan.buffer, plan.payer, plan.authority)
        await sender.one([closing], units=_DEPLOY_UNITS)
        lamports = 0
    step("making the buffer")
    rent = await read_rent(transport)
    lacking = rent.of(loader.BUFFER_HEADER + plan.size) - lamports
    await sender.one(_make_buffer(plan, lacking), units=_DEPLOY_UNITS)
    return None


async def _wait_for_next_slot(transport: Transport, program_id: Pubkey) -> None:
    """Wait for a slot after the last deployment or extension: only then can it be upgraded."""
    found = await deployment(transport, program_id)
    if found is None or found.slot is None:
        return
    for _ in range(_SLOT_LOOKS):
        if await current_slot(transport) > found.slot:
            return
        await transport.sleep(_PAUSE)
    raise TransportError(transport.endpoint, "the cluster makes no new slots", retryable=True)


async def close_buffer(
    transport: Transport, program_id: Pubkey, *, payer: Keypair, authority: Keypair
) -> tuple[Pubkey, int]:
    """Close the buffer of a stopped deployment; its lamports go to the payer.

    Returns its address and the lamports, 0 without a buffer.
    """
    buffer = buffer_address(authority.pubkey(), program_id)
    (held,) = await transport.get_accounts([buffer])
    if loader.read_buffer(held) is None:
        return buffer, 0
    sender = Sender(transport, payer.pubkey(), [payer, authority])
    await sender.one([loader.close(buffer, payer.pubkey(), authority.pubkey())])
    return buffer, _lamports(held)
