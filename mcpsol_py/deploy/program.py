"""Deploy and upgrade programs through the upgradeable loader. A stopped run can be continued.

The new bytes are first written to a buffer account. Its address is derived from the authority's
address, the program's id and the bytes (`buffer_address`), so no key has to be kept for it, and two
deployments never share one. If a run stops, because a connection drops or a person stops it, run it
again with the same arguments: it skips the chunks whose bytes are in the buffer already.
`close_buffer` gives the buffer's rent back instead.

    plan = await plan_deployment(transport, elf, program_id=…, authority=…, payer=…)  # sends nothing
    done = await run_deployment(transport, elf, plan, payer=keys, authority=keys, program=keys)

A run never spends more than its plan shows, whatever the node says meanwhile. The last step reads
the program's account and compares every byte, also over a second endpoint if one is given.
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
from mcpsol_py.client.loader import current_slot, deployment
from mcpsol_py.client.simulation import Payers, run_instructions
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
from mcpsol_py.errors import DeployRefused, TransportError
from mcpsol_py.solana import loader
from mcpsol_py.solana.fees import LAMPORTS_PER_SIGNATURE, priority_fee
from mcpsol_py.solana.lamports import lamports_of
from mcpsol_py.solana.loader import LOADER, DeployedProgram, ProgramBuffer
from mcpsol_py.solana.rent import HIGHEST_RENT, RentRate

__all__ = [
    "MOST_UNITS",
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
MOST_UNITS = _DEPLOY_UNITS
#: How often to look for a new slot before a program that was just extended can be upgraded.
_SLOT_LOOKS = 150

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

    `rate` is the rent that the run pays, `transfers` the most that it transfers, and `growth` the
    part of that for the bytes of `extend`. Costs are shown by the highest rent of any public
    cluster. `final` takes the upgrade authority away in the transaction that installs the bytes.
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
    rate: RentRate
    transfers: int
    growth: int
    final: bool

    @property
    def affordable(self) -> bool:
        """Whether the payer has enough lamports."""
        return self.balance >= self.needed


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployment that was read back: its bytes were compared, over each endpoint.

    `signature` is None if nothing was sent. `final`: nobody has the upgrade authority.
    """

    plan: DeploymentPlan
    slot: int
    signature: Signature | None
    final: bool


# --- the buffer ------------------------------------------------------------------------------


def _seed(program_id: Pubkey, sha256: str) -> str:
    """Return the seed of a buffer: 32 characters, the most that a seed can have."""
    text = b"mcpsol deploy buffer" + bytes(program_id) + bytes.fromhex(sha256)
    return hashlib.sha256(text).hexdigest()[:32]


def buffer_address(authority: Pubkey, program_id: Pubkey, elf: bytes) -> Pubkey:
    """Return the buffer in which *authority* collects the bytes *elf* of a program."""
    seed = _seed(program_id, hashlib.sha256(elf).hexdigest())
    return Pubkey.create_with_seed(authority, seed, LOADER)


def _chunk_size(
    payer: Pubkey, authority: Pubkey, buffer: Pubkey, price: int | None
) -> int:
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
        seed=_seed(plan.program_id, plan.sha256),
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
    final: bool = False,
) -> DeploymentPlan:
    """Plan the deployment of *elf* at *program_id*, from the accounts on chain.

    *max_len* leaves room for later versions; the default is the ELF's size. *price* is the priority
    fee in micro-lamports for each compute unit. *final* takes the upgrade authority away, for good.
    The same transaction installs the bytes, also if the program seems to have them already: a node
    that lies about them must not make another program final.

    Raises DeployRefused if the program belongs to another authority, is final or cannot be
    upgraded, or if the address is in use, and TransportError.
    """
    name = f"program {program_id}"
    room = _checked_room(name, len(elf), max_len)
    buffer = buffer_address(authority, program_id, elf)
    found = await _look(transport, program_id, buffer, payer)
    _check_address(name, found)
    if found.program is not None:
        _check_authority(name, found.program, authority)

    size = _chunk_size(payer, authority, buffer, price)
    missing = chunks(elf, _usable_bytes(found.buffer, len(elf), authority), size)
    action = _action(found.program, elf, room, final=final)
    extend: tuple[int, bool] | None = None
    if found.program is not None:
        more = max(0, room - len(found.program.data))
        if more > 0:
            extend = await _extension(transport, found, payer, authority, more)
        room = len(found.program.data) + (extend[0] if extend is not None else 0)
    costs = Costs()
    if action != "none":
        signatures = len({payer, authority})
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
        rate=found.rent,
        transfers=costs.transfers,
        growth=0 if extend is None else _growth(found, extend[0]),
        final=final,
    )


def _checked_room(name: str, size: int, max_len: int | None) -> int:
    """Return the bytes to leave for the program. Raises DeployRefused."""
    if max_len is not None and max_len < size:
        raise DeployRefused(
            name,
            f"--max-len {max_len:,} is less than the file's {size:,} bytes",
            "Leave it out",
        )
    room = max(size, max_len or 0)
    if room > loader.MAX_ELF:
        raise DeployRefused(
            name,
            f"{room:,} bytes; an account holds {loader.MAX_ELF:,} of a program",
            "Make it smaller",
        )
    return room


async def _look(
    transport: Transport, program_id: Pubkey, buffer: Pubkey, payer: Pubkey
) -> _Found:
    rent = await read_checked_rent(transport, f"program {program_id}")
    program = await deployment(transport, program_id)
    account, held, wallet = await transport.get_accounts([program_id, buffer, payer])
    return _Found(
        program=program,
        account=account,
        buffer=loader.read_buffer(held),
        buffer_lamports=lamports_of(held),
        payer_lamports=lamports_of(wallet),
        rent=rent,
    )


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
            name,
            "it is final: it cannot be upgraded",
            "Deploy under another --program-id",
        )
    if found.authority != authority:
        raise DeployRefused(
            name,
            f"its upgrade authority is {found.authority}, and the one given is {authority}",
            "Give that key with --authority",
        )


def _usable_bytes(
    buffer: ProgramBuffer | None, size: int, authority: Pubkey
) -> bytes | None:
    """Return the bytes of a buffer that a run can continue, or None."""
    if buffer is None or len(buffer.data) != size or buffer.authority != authority:
        return None
    return buffer.data


def _action(
    program: DeployedProgram | None, elf: bytes, room: int, *, final: bool
) -> Action:
    if program is None:
        return "deploy"
    is_there = program.holds(elf) and len(program.data) >= room
    return "none" if is_there and not final else "upgrade"


def _fees(writes: int, signatures: int, price: int | None) -> int:
    """Return the most that fees can be: of the writes, some retries, and three other transactions."""
    writes += writes // WRITES_A_RETRY
    units = _WRITE_UNITS * writes + 3 * _DEPLOY_UNITS
    return LAMPORTS_PER_SIGNATURE * (signatures * (writes + 3) + 1) + priority_fee(
        units, price
    )


def _costs(found: _Found, size: int, room: int, fees: int) -> Costs:
    """Return the costs of a deployment or upgrade to *room* bytes, by the highest rent.

    The loader itself takes the rent of a new program from the payer. All else the run transfers.
    """
    rent = HIGHEST_RENT
    programdata = rent.of(loader.PROGRAMDATA_HEADER + room)
    buffer = max(0, rent.of(loader.BUFFER_HEADER + size) - found.buffer_lamports)
    if found.program is None:
        # The buffer's lamports pay for a part of the ProgramData account.
        program = max(0, rent.of(loader.PROGRAM_SIZE) - lamports_of(found.account))
        locked, lent = program + programdata, 0
        most, transfers = locked - found.buffer_lamports, program + buffer
    else:
        locked, lent = max(0, programdata - found.program.lamports), buffer
        most = transfers = locked + buffer
    return Costs(locked, lent, fees, max(0, most) + fees + rent.of(0), transfers)


def _growth(found: _Found, more: int) -> int:
    """Return the lamports that a program lacks to grow by *more* bytes."""
    program = found.program
    assert program is not None
    size = loader.PROGRAMDATA_HEADER + len(program.data) + more
    return max(0, found.rent.of(size) - program.lamports)


def _extend(
    program_id: Pubkey,
    payer: Pubkey,
    authority: Pubkey,
    more: int,
    *,
    checked: bool,
    growth: int,
) -> list[Instruction]:
    """Return instructions that lengthen a program for exactly *growth* lamports.

    The loader is given no payer, so it cannot take more than was transferred before.
    """
    return [
        *top_up(payer, loader.programdata_address(program_id), growth),
        loader.extend(program_id, None, authority, more, checked=checked),
    ]


async def _extension(
    transport: Transport, found: _Found, payer: Pubkey, authority: Pubkey, more: int
) -> tuple[int, bool]:
    """Return how this cluster extends a program: (bytes, by the checked instruction?).

    Features decide that (SIMD-0431 sets a least size), so each way is simulated.
    """
    assert found.program is not None
    program_id = found.program.program_id
    why = ""
    for size, checked in (
        (more, True),
        (more, False),
        (max(more, _LEAST_EXTENSION), False),
    ):
        growth = _growth(found, size)
        job = _extend(
            program_id, payer, authority, size, checked=checked, growth=growth
        )
        outcome = await run_instructions(transport, job, Payers(option=payer))
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
    check: Transport | None = None,
) -> Deployed:
    """Carry out *plan*, and compare the deployed bytes with *elf*.

    *program* is the key pair of the program's id; only the first deployment needs it. *final* takes
    the upgrade authority away, for good, in the transaction that installs the bytes. *step* is
    called with each step. *check* is a second endpoint of the cluster: it must show the buffer
    before a program is made final, and the same outcome at the end.

    A run can be stopped at any time. To continue, make a new plan. Raises DeployRefused, before
    anything is sent, if the payer is too poor or the id's key pair is missing, and later if the
    node asks for more than the plan showed; ProgramFailed, SendUnknown, TransportError.
    """
    refuse_poor(
        plan.payer,
        plan.balance,
        plan.needed,
        f"to {plan.action}",
        plan.rent,
        plan.lent,
        plan.fees,
    )
    final = final or plan.final
    _check_plan(elf, plan, final=final)
    if plan.action == "deploy":
        _check_program_key(plan.program_id, program)
    signers = [payer, authority] if program is None else [payer, authority, program]
    allowance = Allowance(f"program {plan.program_id}", plan.transfers, plan.fees)
    sender = Sender(transport, plan.payer, signers, price, charge=allowance.charge)
    run = _Run(transport, sender, elf, plan, step, check, final)
    signature = None
    if plan.action != "none":
        signature = await run.install()
    step("comparing the deployed bytes")
    found = await run.compare()
    assert found.slot is not None
    return Deployed(plan, found.slot, signature, found.authority is None)


def _check_plan(elf: bytes, plan: DeploymentPlan, *, final: bool) -> None:
    """Raise DeployRefused if *plan* was made for something else."""
    name = f"program {plan.program_id}"
    if hashlib.sha256(elf).hexdigest() != plan.sha256:
        raise DeployRefused(
            name, "the plan was made for other bytes", "Make a new plan"
        )
    if final and plan.action == "none":
        raise DeployRefused(
            name,
            "the plan installs nothing, and only the transaction that installs the bytes may make them final",
            "Make a plan with final=True",
        )


def _check_program_key(program_id: Pubkey, program: Keypair | None) -> None:
    if program is None or program.pubkey() != program_id:
        raise DeployRefused(
            f"program {program_id}",
            "it does not exist yet, and its own key must sign the first deployment",
            "Give its key pair file",
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a plan."""

    transport: Transport
    sender: Sender
    elf: bytes
    plan: DeploymentPlan
    step: Step
    check: Transport | None
    final: bool

    async def install(self) -> Signature:
        """Fill the buffer, make room, and deploy or upgrade. Returns the last signature."""
        plan = self.plan
        await self._fill_buffer()
        if plan.extend is not None:
            more, checked = plan.extend
            self.step(f"making room for {more:,} more bytes")
            job = _extend(
                plan.program_id,
                plan.payer,
                plan.authority,
                more,
                checked=checked,
                growth=plan.growth,
            )
            await self.sender.one(job, units=_DEPLOY_UNITS)
        if plan.action == "upgrade":
            await _wait_for_next_slot(self.transport, plan.program_id)
            self.step("upgrading")
            job = [
                loader.upgrade(plan.program_id, plan.buffer, plan.payer, plan.authority)
            ]
        else:
            self.step("deploying")
            job = await self._first_deployment()
        if self.final:
            await self._check_buffer()
            # In one transaction: alone, it could make another program final than the one that was installed.
            job.append(loader.make_final(plan.program_id, plan.authority))
        return await self.sender.one(job, units=_DEPLOY_UNITS)

    async def compare(self) -> DeployedProgram:
        """Return the program once every endpoint shows the bytes and the authority. Raises TransportError."""
        found = await self._compare_at(self.transport)
        if self.check is not None:
            found = await self._compare_at(self.check)
        return found

    async def _compare_at(self, transport: Transport) -> DeployedProgram:
        authority = None if self.final else self.plan.authority
        found = None
        for look in range(STALE_LOOKS + 1):
            if look > 0:
                await transport.sleep(PAUSE)
            found = await deployment(transport, self.plan.program_id)
            if found is None or found.slot is None or not found.holds(self.elf):
                continue
            if found.authority == authority:
                return found
        raise TransportError(
            transport.endpoint,
            f"after the deployment, it shows {_described(self.plan.program_id, found, self.elf)}. Ask another endpoint "
            "what is deployed, and run the command again",
        )

    async def _first_deployment(self) -> list[Instruction]:
        plan = self.plan
        (account,) = await self.transport.get_accounts([plan.program_id])
        lacking = plan.rate.of(loader.PROGRAM_SIZE) - lamports_of(account)
        return [
            *top_up(plan.payer, plan.program_id, lacking),
            allocate(AllocateParams(pubkey=plan.program_id, space=loader.PROGRAM_SIZE)),
            assign(AssignParams(pubkey=plan.program_id, owner=LOADER)),
            loader.deploy(
                plan.payer, plan.program_id, plan.buffer, plan.authority, plan.max_len
            ),
        ]

    async def _fill_buffer(self) -> None:
        """Write to the buffer until it has the bytes of the ELF."""
        plan = self.plan
        size = _chunk_size(plan.payer, plan.authority, plan.buffer, self.sender.price)
        missing = chunks(self.elf, await self._open_buffer(), size)
        for _ in range(3):
            if not missing:
                return
            await self._write(missing)
            missing = await self._missing(self.transport, size)
        raise TransportError(
            self.transport.endpoint,
            f"buffer {plan.buffer} does not keep the bytes that are written to it: does another run write to it?",
        )

    async def _write(self, missing: Sequence[tuple[int, bytes]]) -> None:
        plan = self.plan
        jobs = [
            [loader.write(plan.buffer, plan.authority, at, part)]
            for at, part in missing
        ]
        self.step(f"writing {len(jobs)} of {plan.chunks} chunks")

        def landed(count: int) -> None:
            self.step(f"writing chunks: {count} of {len(jobs)}")

        await self.sender.many(jobs, units=_WRITE_UNITS, landed=landed)

    async def _missing(
        self, transport: Transport, size: int
    ) -> list[tuple[int, bytes]]:
        """Return the chunks that an endpoint does not show in the buffer, after it had time to catch up."""
        missing: list[tuple[int, bytes]] = []
        for look in range(STALE_LOOKS + 1):
            if look > 0:
                await transport.sleep(PAUSE)
            (held,) = await transport.get_accounts([self.plan.buffer])
            there = _usable_bytes(
                loader.read_buffer(held), self.plan.size, self.plan.authority
            )
            missing = chunks(self.elf, there, size)
            if there is not None and not missing:
                return []
        return missing

    async def _check_buffer(self) -> None:
        """Raise TransportError if the second endpoint shows other bytes in the buffer."""
        if self.check is None:
            return
        self.step("comparing the buffer over the second endpoint")
        if await self._missing(self.check, len(self.elf)):
            raise TransportError(
                self.check.endpoint,
                f"it does not show the file's bytes in buffer {self.plan.buffer}, so nothing was made final",
            )

    async def _open_buffer(self) -> bytes | None:
        """Return the bytes in the buffer, or None for a new one, which this method creates."""
        plan = self.plan
        (held,) = await self.transport.get_accounts([plan.buffer])
        buffer = loader.read_buffer(held)
        if buffer is not None:
            return _usable_bytes(buffer, plan.size, plan.authority)
        self.step("making the buffer")
        lacking = plan.rate.of(loader.BUFFER_HEADER + plan.size) - lamports_of(held)
        await self.sender.one(_make_buffer(plan, lacking), units=_DEPLOY_UNITS)
        return None


def _described(program_id: Pubkey, found: DeployedProgram | None, elf: bytes) -> str:
    """Describe what an endpoint shows in place of the outcome."""
    if found is None:
        return f"no program at {program_id}"
    if not found.holds(elf):
        return f"other bytes than the file's in program {program_id}"
    return f"{found.authority or 'nobody'} as the upgrade authority of program {program_id}"


async def _wait_for_next_slot(transport: Transport, program_id: Pubkey) -> None:
    """Wait for a slot after the last deployment or extension: only then can it be upgraded."""
    found = await deployment(transport, program_id)
    if found is None or found.slot is None:
        return
    for _ in range(_SLOT_LOOKS):
        if await current_slot(transport) > found.slot:
            return
        await transport.sleep(PAUSE)
    raise TransportError(
        transport.endpoint, "the cluster makes no new slots", retryable=True
    )


async def close_buffer(
    transport: Transport,
    buffer: Pubkey,
    *,
    payer: Keypair,
    authority: Keypair,
    check: Transport | None = None,
    price: int | None = None,
) -> int:
    """Close the buffer of a stopped deployment (see `buffer_address`); its lamports go to the payer.

    *price* is the priority fee in micro-lamports a compute unit, for MOST_UNITS.

    Returns the lamports, 0 without a buffer. Raises TransportError if the buffer is still there
    afterwards, at *check* too, which is a second endpoint of the cluster.
    """
    (held,) = await transport.get_accounts([buffer])
    if loader.read_buffer(held) is None:
        return 0
    sender = Sender(transport, payer.pubkey(), [payer, authority], price, MOST_UNITS)
    await sender.one([loader.close(buffer, payer.pubkey(), authority.pubkey())])
    for endpoint in (transport, check):
        if endpoint is not None:
            await wait_until_gone(endpoint, [buffer])
    return lamports_of(held)
