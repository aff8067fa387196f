"""The attacks, by kind: each takes the good call of an instruction and changes what one constraint speaks of.

A kind is a function from a `Baseline` to the attacks that the instruction's constraints admit. What it changes is
prepared so that the other constraints hold where they can: an address that is derived from the changed one is derived
anew, and what stood there is moved along.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.baseline import (
    Baseline,
    NoBaseline,
    constraints_of,
    derive,
    has_address,
    pda_of,
    seeds_of,
)
from mcpsol_py.attack.expect import Names
from mcpsol_py.attack.sandbox import Snapshot
from mcpsol_py.errors import McpsolError
from mcpsol_py.model.program import LIST_TOOLS, ConstValue
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Int,
    Option,
    SizePrefixed,
    Struct,
    Type,
)
from mcpsol_py.solana import tokens
from mcpsol_py.solana.addresses import (
    SYSTEM_PROGRAM,
    SYSVAR_OWNER,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = ["KINDS", "Attack", "Trial", "attacks_on", "own_call_attacks", "unknown_instructions"]

#: More cuts of the data than this are sampled.
_MOST_CUTS = 48
_U64_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Trial:
    """What is sent: transactions in order, of which the last one is the attack; before them, accounts are put in place.

    `after` looks at the chain once the attack went through, where that is right: it says what is wrong, or ""."""

    transactions: tuple[tuple[Instruction, ...], ...]
    accounts: Snapshot = field(default_factory=dict)
    after: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack. `expected`: the names of which it must be refused by one. `may_pass`: it need not be refused, only
    end as it should: it goes through with nothing wrong, or is refused by a name (of the program's or of one it
    calls). `open_is_fine`: it may go through, and the report then says that nothing binds the account."""

    kind: str
    target: str
    what: str
    expected: frozenset[str]
    trial: Trial
    may_pass: bool = False
    open_is_fine: bool = False


# --- changing a call -------------------------------------------------------------------------------------------------


class _Change:
    """Makes variations of one good call."""

    def __init__(self, base: Baseline) -> None:
        self.base = base
        self.names = Names(base)
        self.scene = base.scene

    def trial(
        self,
        metas: list[AccountMeta] | None = None,
        data: bytes | None = None,
        accounts: Snapshot | None = None,
        *,
        first: int = 0,
        together: int = 1,
        between: tuple[Instruction, ...] = (),
        after: Callable[[], str] | None = None,
    ) -> Trial:
        """The call with other accounts, data, or accounts in place; *first* good calls in transactions before it;
        *together* calls in one transaction, with instructions *between* them."""
        good = (*self.base.before, self.base.call())
        changed: tuple[Instruction, ...] = (*self.base.before, self.base.call(metas, data))
        for _ in range(together - 1):
            changed = (*changed, *between, *self.base.before, self.base.call(metas, data))
        return Trial((*(good for _ in range(first)), changed), accounts or {}, after)

    def attack(
        self,
        kind: str,
        leaf: Leaf | str,
        what: str,
        expected: set[str] | str,
        trial: Trial,
        may_pass: bool = False,
    ) -> Attack:
        """An attack on an account, or on what *leaf* says."""
        names = frozenset({expected} if isinstance(expected, str) else expected)
        return Attack(
            kind, leaf if isinstance(leaf, str) else leaf.name, what, names, trial, may_pass
        )

    def with_meta(self, leaf: Leaf, **changed: Any) -> list[AccountMeta]:
        """The accounts, with that one (and the same key elsewhere, which would lend it its flags) changed."""
        key = self.base.addresses[leaf.index]
        out = []
        for meta in self.base.metas():
            if meta.pubkey == key:
                flags = {"is_signer": meta.is_signer, "is_writable": meta.is_writable} | changed
                meta = AccountMeta(meta.pubkey, flags["is_signer"], flags["is_writable"])
            out.append(meta)
        return out

    def same_key(self, leaf: Leaf) -> list[Leaf]:
        """All leaves at the same address."""
        key = self.base.addresses[leaf.index]
        return [other for other in self.base.present if self.base.addresses[other.index] == key]

    def at(self, leaf: Leaf, key: Pubkey, *, signer: bool | None = None) -> list[AccountMeta]:
        """The accounts, with another address in that one's place."""
        metas = self.base.metas()
        old = metas[leaf.index]
        metas[leaf.index] = AccountMeta(
            key, old.is_signer if signer is None else signer, old.is_writable
        )
        return metas

    def stranger(self, label: str) -> Pubkey:
        """A key of the attacker's."""
        return self.scene.key(f"attacker {label}").pubkey()

    def moved(self, leaf: Leaf, key: Pubkey) -> tuple[list[AccountMeta], Snapshot]:
        """The call with *leaf* at another address: what is derived from it is derived anew, and all data that names a
        changed address names the new one."""
        base = self.base
        addresses = list(base.addresses)
        addresses[leaf.index] = key
        for _ in base.present:
            changed = False
            for other in base.present:
                if other.index == leaf.index or not has_address(other) or not self._follows(other):
                    continue
                new, _ = base.derived(other, addresses)
                if new != addresses[other.index]:
                    addresses[other.index] = new
                    changed = True
            if not changed:
                break
        mapping = {
            old: new for old, new in zip(base.addresses, addresses, strict=True) if old != new
        }
        placed: Snapshot = {}
        for other in base.present:
            account = base.account(other)
            if account is None or account.executable or constraints_of(other).init is not None:
                continue
            data = bytes(account.data)
            for old, new in mapping.items():
                data = data.replace(bytes(old), bytes(new))
            data = self._rebumped(other, data, addresses)
            target = addresses[other.index]
            if data != bytes(account.data) or target != base.addresses[other.index]:
                placed[target] = Account(account.lamports, data, account.owner)
        return base.metas(addresses), placed

    def _follows(self, leaf: Leaf) -> bool:
        """Is a leaf where its seeds say now? (An address that only the handler checks may be another.)"""
        try:
            return (
                self.base.derived(leaf, self.base.addresses)[0] == self.base.addresses[leaf.index]
            )
        except (NoBaseline, McpsolError):
            return False

    def _rebumped(self, leaf: Leaf, data: bytes, addresses: list[Pubkey]) -> bytes:
        pda, state = leaf.account.pda, constraints_of(leaf).state
        if (
            pda is None
            or pda.bump is None
            or state is None
            or addresses[leaf.index] == self.base.addresses[leaf.index]
        ):
            return data
        values = self.base.fields(leaf, data)
        try:
            new, bump = self.base.derived(leaf, addresses)
        except NoBaseline:
            return data
        if values is None or new != addresses[leaf.index]:
            return data
        values[pda.bump] = bump
        return self.state_data(leaf, values, data)

    def state_data(self, leaf: Leaf, values: dict[str, Any], like: bytes) -> bytes:
        """A leaf's state as bytes, as long as *like*."""
        made = bytes(self.scene.program.encode_account(constraints_of(leaf).state or "", values))
        return made + like[len(made) :]

    def holding(self, leaf: Leaf, **changed: Any) -> Snapshot:
        """A leaf's account with other data, owner or lamports, at its address."""
        account = self.base.account(leaf)
        assert account is not None
        return {
            self.base.addresses[leaf.index]: Account(
                changed.get("lamports", account.lamports),
                changed.get("data", bytes(account.data)),
                changed.get("owner", account.owner),
            )
        }


def _held(base: Baseline) -> Iterator[tuple[Leaf, Account]]:
    """Accounts that exist before the call."""
    for leaf in base.present:
        account = base.account(leaf)
        if account is not None and constraints_of(leaf).init is None:
            yield leaf, account


def _states(base: Baseline) -> Iterator[tuple[Leaf, Account]]:
    for leaf, account in _held(base):
        if constraints_of(leaf).state is not None:
            yield leaf, account


# --- flags -----------------------------------------------------------------------------------------------------------


def missing_signer(c: _Change) -> Iterator[Attack]:
    """An account that must sign does not."""
    for leaf in c.base.present:
        if leaf.account.signer is True:
            expected = {
                c.names.signer(other) for other in c.same_key(leaf) if other.account.signer is True
            }
            yield c.attack(
                "missing-signer",
                leaf,
                "does not sign",
                expected,
                c.trial(c.with_meta(leaf, is_signer=False)),
            )


def not_writable(c: _Change) -> Iterator[Attack]:
    """An account that is written is given read-only."""
    for leaf in c.base.present:
        if leaf.account.writable:
            yield c.attack(
                "not-writable",
                leaf,
                "is read-only",
                "ConstraintMut",
                c.trial(c.with_meta(leaf, is_writable=False)),
            )


# --- owners and types of accounts ------------------------------------------------------------------------------------


def wrong_owner(c: _Change) -> Iterator[Attack]:
    """The same bytes, in an account that another program owns."""
    other = c.stranger("program")
    for leaf, account in _held(c.base):
        k = constraints_of(leaf)
        if k.state is not None or k.token is not None:
            expected = "AccountOwnedByWrongProgram"
        elif k.owner is not None:
            expected = c.names.owner(leaf)
        else:
            continue
        for owner, said in (
            (other, "a stranger's program"),
            (SYSTEM_PROGRAM, "the system program"),
        ):
            if account.owner == owner or (owner == SYSTEM_PROGRAM and not account.data):
                continue
            what = f"is owned by {said}"
            yield c.attack(
                "wrong-owner", leaf, what, expected, c.trial(accounts=c.holding(leaf, owner=owner))
            )


def not_initialized(c: _Change) -> Iterator[Attack]:
    """Nothing stands at the address yet."""
    for leaf, _ in _held(c.base):
        k = constraints_of(leaf)
        if k.state is not None or k.token is not None:
            empty: Snapshot = {c.base.addresses[leaf.index]: None}
            yield c.attack(
                "not-initialized",
                leaf,
                "does not exist",
                "AccountNotInitialized",
                c.trial(accounts=empty),
            )


def look_alike(c: _Change) -> Iterator[Attack]:
    """State of the right owner and size, but of another type."""
    model = c.scene.program.model
    for leaf, account in _states(c.base):
        own = next(a for a in model.accounts if a.name == constraints_of(leaf).state)
        size = len(own.discriminator.value)
        if not size:
            continue
        rest = bytes(account.data)[size:]
        strange = bytes(b ^ 0xA5 for b in own.discriminator.value)
        kinds = [(strange, "a type that does not exist")]
        kinds += [
            (a.discriminator.value, f"the type {a.name}")
            for a in model.accounts
            if a.name != own.name and len(a.discriminator.value) == size
        ]
        for value, said in kinds:
            placed = c.holding(leaf, data=value + rest)
            what = f"holds {said}"
            yield c.attack(
                "look-alike", leaf, what, "AccountDiscriminatorMismatch", c.trial(accounts=placed)
            )


def short_account(c: _Change) -> Iterator[Attack]:
    """State of the right owner whose data is cut short."""
    model = c.scene.program.model
    for leaf, account in _states(c.base):
        own = next(a for a in model.accounts if a.name == constraints_of(leaf).state)
        data, size = bytes(account.data), len(own.discriminator.value)
        if own.size is not None:
            placed = c.holding(leaf, data=data[: own.size - 1])
            yield c.attack(
                "short-account",
                leaf,
                "is a byte short",
                "AccountDidNotDeserialize",
                c.trial(accounts=placed),
            )
        if size:
            placed = c.holding(leaf, data=b"")
            expected = "AccountDiscriminatorNotFound"
            yield c.attack("short-account", leaf, "has no data", expected, c.trial(accounts=placed))


# --- addresses -------------------------------------------------------------------------------------------------------


def wrong_address(c: _Change) -> Iterator[Attack]:
    """A derived account stands elsewhere, complete with all that is derived from it."""
    for leaf in c.base.present:
        if not has_address(leaf):
            continue
        placed: Snapshot = {}
        if leaf.account.signer is True:
            metas = c.at(leaf, c.stranger(leaf.name))
        else:
            metas, placed = c.moved(leaf, c.stranger(leaf.name))
        what = "stands at an address of the attacker's"
        yield c.attack(
            "wrong-address", leaf, what, c.names.seeds(leaf), c.trial(metas, accounts=placed)
        )


def other_bump(c: _Change) -> Iterator[Attack]:
    """A derived account stands at the same seeds with another bump, as a second account beside the true one."""
    for leaf in c.base.present:
        if not has_address(leaf) or leaf.account.signer is True:
            continue
        key = _second_bump(c.base, leaf)
        if key is None:
            continue
        metas, placed = c.moved(leaf, key)
        what = "stands at its seeds with another bump"
        yield c.attack(
            "other-bump", leaf, what, c.names.seeds(leaf), c.trial(metas, accounts=placed)
        )


def _second_bump(base: Baseline, leaf: Leaf) -> Pubkey | None:
    """The next address off the curve that the seeds of a leaf give below the canonical bump."""

    def value(path: tuple[str, ...], name: str) -> Any:
        index = base.instruction.plan.locate(path, leaf)
        owner = base.leaves[index] if index is not None else leaf
        account = base.account(owner)
        found = base.fields(owner, bytes(account.data)) if account is not None else None
        if found is None:
            raise NoBaseline(f"{owner.name} holds no state")
        return found[name]

    pda = pda_of(leaf, base.instruction)
    try:
        found, bump = derive(
            base.scene,
            base.instruction,
            leaf,
            pda,
            lambda o: base.addresses[o.index],
            value,
            base.args,
        )
        seeds = seeds_of(
            base.scene,
            base.instruction,
            leaf,
            pda,
            lambda o: base.addresses[o.index],
            value,
            base.args,
        )
    except (NoBaseline, McpsolError):
        return None
    if found != base.addresses[leaf.index]:
        return None
    program = base.scene.program_id
    if isinstance(pda.program, ConstValue):
        named = base.instruction.plan.locate((str(pda.program.value),), leaf)
        program = (
            Pubkey.from_string(str(pda.program.value)) if named is None else base.addresses[named]
        )
    for other in range(bump - 1, -1, -1):
        made = Pubkey(
            sha256(
                b"".join([*seeds, bytes([other]), bytes(program), b"ProgramDerivedAddress"])
            ).digest()
        )
        if not made.is_on_curve():
            return made
    return None


def fake_program(c: _Change) -> Iterator[Attack]:
    """Another program in place of the one that is to be called."""
    for leaf in c.base.present:
        k = constraints_of(leaf)
        if not k.executable:
            continue
        if leaf.account.address is None and not k.one_of:
            wallet = c.stranger("no program")
            placed: Snapshot = {wallet: Account(10**9, b"", SYSTEM_PROGRAM)}
            owned = {
                c.names.owner(x)
                for x in c.base.present
                if c.base.find(constraints_of(x).owner, x) == leaf
            }
            what, expected = "is no program", {"InvalidProgramExecutable"} | owned
            yield c.attack(
                "fake-program", leaf, what, expected, c.trial(c.at(leaf, wallet), accounts=placed)
            )
            continue
        fake = c.stranger("program that is called")
        if c.scene.account(fake) is None:
            c.scene.transport.add_program(fake, c.scene.elf)
        what = "is a program of the attacker's"
        yield c.attack("fake-program", leaf, what, c.names.address(leaf), c.trial(c.at(leaf, fake)))
        expected = c.names.depending_on(leaf)
        for text in k.one_of:
            other = Pubkey.from_string(text)
            if other != c.base.addresses[leaf.index] and expected:
                what = "is the other token program, not the one of these accounts"
                yield c.attack("other-program", leaf, what, expected, c.trial(c.at(leaf, other)))


def fake_sysvar(c: _Change) -> Iterator[Attack]:
    """A copy of a sysvar at another address."""
    for leaf in c.base.present:
        if constraints_of(leaf).sysvar is None:
            continue
        there = c.base.account(leaf)
        data = bytes(there.data) if there is not None else bytes(64)
        sysvars = SYSVAR_OWNER
        fake = c.stranger(f"sysvar {leaf.name}")
        placed: Snapshot = {fake: Account(10**9, data, sysvars)}
        what = "is a copy at another address"
        yield c.attack(
            "fake-sysvar",
            leaf,
            what,
            c.names.address(leaf),
            c.trial(c.at(leaf, fake), accounts=placed),
        )


def other_address(c: _Change) -> Iterator[Attack]:
    """Another account in place of one whose address is fixed."""
    for leaf in c.base.present:
        k = constraints_of(leaf)
        if leaf.account.address is None or k.executable or k.sysvar is not None:
            continue
        other = c.stranger(leaf.name)
        there = c.base.account(leaf)
        placed: Snapshot = (
            {}
            if there is None
            else {other: Account(there.lamports, bytes(there.data), there.owner)}
        )
        expected = c.names.address(leaf)
        yield c.attack(
            "other-address",
            leaf,
            "is another account",
            expected,
            c.trial(c.at(leaf, other), accounts=placed),
        )


def has_one_of_another(c: _Change) -> Iterator[Attack]:
    """State that names another account than the one given: forged state, and somebody else's account."""
    for leaf, account in _states(c.base):
        for name, target in constraints_of(leaf).has_one:
            expected = {c.names.has_one(leaf, name)}
            values = c.base.fields(leaf, bytes(account.data))
            other = c.base.find(target, leaf)
            if values is None or other is None:
                continue
            values[name] = c.stranger(f"{leaf.name}.{name}")
            placed = c.holding(leaf, data=c.state_data(leaf, values, bytes(account.data)))
            also = {c.names.seeds(x) for x in c.base.present if c.names.seeds_use(x, leaf, name)}
            what = f"names another {name}"
            yield c.attack("has-one", leaf, what, expected | also, c.trial(accounts=placed))
            if (
                has_address(other)
                or other.account.address is not None
                or constraints_of(other).init is not None
            ):
                continue
            key = c.stranger(f"{other.name} of another")
            there = c.base.account(other)
            placed = (
                {}
                if there is None
                else {key: Account(there.lamports, bytes(there.data), there.owner)}
            )
            what = f"is somebody else's than {leaf.name}'s"
            expected = expected | c.names.depending_on(other)
            yield c.attack(
                "has-one", other, what, expected, c.trial(c.at(other, key), accounts=placed)
            )


def unbound(c: _Change) -> Iterator[Attack]:
    """A stranger's account in place of one that no address, seeds or signature of its own bind: it is refused by a
    name, or goes through, and then nothing binds it. Whether that is right is for the author to say."""
    for leaf in c.base.present:
        k = constraints_of(leaf)
        fixed = leaf.account.address is not None or k.one_of or k.executable or k.sysvar is not None
        if (
            fixed
            or has_address(leaf)
            or leaf.account.signer is True
            or k.init is not None
            or k.state is not None
        ):
            continue
        key = c.stranger(f"{leaf.name} of their own")
        there = c.base.account(leaf)
        placed: Snapshot = (
            {} if there is None else {key: Account(there.lamports, bytes(there.data), there.owner)}
        )
        trial = c.trial(c.at(leaf, key), accounts=placed)
        yield Attack(
            "unbound", leaf.name, "is an account of the attacker's", frozenset(), trial, True, True
        )


def duplicate(c: _Change) -> Iterator[Attack]:
    """The same account twice, where both are written."""
    held = [
        leaf
        for leaf in c.base.present
        if leaf.account.writable and (constraints_of(leaf).state or constraints_of(leaf).token)
    ]
    for one, other in combinations(held, 2):
        key = c.base.addresses[one.index]
        if key == c.base.addresses[other.index] or other.account.signer is True:
            continue
        what = f"is the same account as {one.name}"
        expected = "ConstraintDuplicateMutableAccount"
        yield c.attack("duplicate", other, what, expected, c.trial(c.at(other, key)))


# --- life of an account ----------------------------------------------------------------------------------------------


def re_initialise(c: _Change) -> Iterator[Attack]:
    """An account that exists is created again: in a later transaction, in the same one, and each account by itself."""
    made = [
        x for x in c.base.present if (i := constraints_of(x).init) is not None and not i.if_needed
    ]
    expected = "AccountDiscriminatorAlreadySet"
    for leaf in made:
        yield c.attack(
            "re-init", leaf, "exists already", expected, c.trial(accounts=_afterwards(c, leaf))
        )
    if made:
        yield c.attack(
            "re-init", made[0], "is created by two transactions", expected, c.trial(first=1)
        )
        yield c.attack(
            "re-init", made[0], "is created twice in one transaction", expected, c.trial(together=2)
        )


def _afterwards(c: _Change, leaf: Leaf) -> Snapshot:
    """What stands at a leaf's address after the good call."""
    scene, key = c.scene, c.base.addresses[leaf.index]
    call = [*c.base.before, c.base.call()]
    before = scene.snapshot({m.pubkey for i in call for m in i.accounts})
    scene.run(call)
    there = scene.account(key)
    scene.restore(before)
    return {key: there}


def dust(c: _Change) -> Iterator[Attack]:
    """Lamports that a stranger sent to the address of an account to be created: they must hinder nobody."""
    for leaf in c.base.present:
        if constraints_of(leaf).init is None:
            continue
        placed: Snapshot = {c.base.addresses[leaf.index]: Account(1_000_000, b"", SYSTEM_PROGRAM)}
        what = "has lamports from a stranger before it is created"
        yield c.attack("dust", leaf, what, set(), c.trial(accounts=placed))


def revival(c: _Change) -> Iterator[Attack]:
    """A closed account that is used again, or that lamports keep alive."""
    for leaf in c.base.present:
        target = c.base.find(constraints_of(leaf).close, leaf)
        if target is None:
            continue
        key = c.base.addresses[leaf.index]
        refund = _transfer(c.scene.payer.pubkey(), key, 10_000_000)

        def gone(key: Pubkey = key) -> str:
            there = c.scene.account(key)
            if there is not None and (there.data or there.owner != SYSTEM_PROGRAM):
                return f"{len(there.data)} bytes owned by {there.owner} are left"
            return ""

        good = (*c.base.before, c.base.call())
        what = "is given lamports after it was closed, in one transaction"
        yield c.attack("revival", leaf, what, set(), Trial(((*good, refund),), {}, gone))
        expected = "AccountNotInitialized"
        what = "is used again in the transaction that closed it"
        yield c.attack("revival", leaf, what, expected, c.trial(together=2, between=(refund,)))
        yield c.attack("revival", leaf, "is used after it was closed", expected, c.trial(first=1))

        before = c.base.account(leaf)
        lamports = 0 if before is None else before.lamports
        to = c.base.addresses[target.index]
        had = c.scene.account(to)

        def paid(
            key: Pubkey = key, to: Pubkey = to, had: Account | None = had, lamports: int = lamports
        ) -> str:
            now = c.scene.account(to)
            if (0 if now is None else now.lamports) < (
                0 if had is None else had.lamports
            ) + lamports:
                return "not all lamports of the closed account arrived"
            return ""

        what = f"is closed: all its lamports go to {target.name}"
        yield c.attack("close", leaf, what, set(), c.trial(after=paid))
        if (
            target.account.signer is not True
            and not has_address(target)
            and target.account.address is None
        ):
            what = f"is itself the {target.name} that gets its lamports"
            expected_names = {"ConstraintClose"} | c.names.depending_on(target)
            yield c.attack("close", leaf, what, expected_names, c.trial(c.at(target, key)))


def resize(c: _Change) -> Iterator[Attack]:
    """An account that is resized: its size is the spec's, what is new of it is zero, and its rent is paid."""
    for leaf, account in _states(c.base):
        size = constraints_of(leaf).realloc
        if size is None:
            continue
        key, had = c.base.addresses[leaf.index], len(account.data)

        def wrong(key: Pubkey = key, size: int = size, had: int = had) -> str:
            there = c.scene.account(key)
            data = b"" if there is None else bytes(there.data)
            if len(data) != size:
                return f"it has {len(data)} bytes, not {size}"
            if any(data[had:]):
                return "what is new of it is not zero"
            rent = c.scene.svm.minimum_balance_for_rent_exemption(size)
            return "its rent is not paid" if there is None or there.lamports < rent else ""

        yield c.attack(
            "resize", leaf, f"is resized from {had} bytes to {size}", set(), c.trial(after=wrong)
        )


def _transfer(source: Pubkey, to: Pubkey, lamports: int) -> Instruction:
    metas = [AccountMeta(source, True, True), AccountMeta(to, False, True)]
    return Instruction(SYSTEM_PROGRAM, struct.pack("<IQ", 2, lamports), metas)


# --- tokens ----------------------------------------------------------------------------------------------------------


def wrong_tokens(c: _Change) -> Iterator[Attack]:
    """Token accounts and mints that are not what the instruction asks for."""
    for leaf, account in _held(c.base):
        token = constraints_of(leaf).token
        if token is None:
            continue
        data = bytes(account.data)
        stranger = c.stranger(f"{leaf.name} tokens")

        def with_data(changed: bytes, of: Leaf = leaf) -> Trial:
            return c.trial(accounts=c.holding(of, data=changed))

        unborn = "AccountDidNotDeserialize"
        if token.kind == "mint":
            yield c.attack(
                "not-a-mint",
                leaf,
                "is not initialized",
                unborn,
                with_data(tokens.patch_mint(data, is_initialized=0)),
            )
            as_account = tokens.TokenAccount(stranger, stranger, 1).to_bytes()
            yield c.attack("not-a-mint", leaf, "is a token account", unborn, with_data(as_account))
            if token.authority is not None:
                other = tokens.patch_mint(data, mint_authority=stranger)
                expected = "ConstraintMintMintAuthority"
                yield c.attack(
                    "mint-authority", leaf, "has another mint authority", expected, with_data(other)
                )
                none = tokens.patch_mint(data, has_mint_authority=0)
                yield c.attack(
                    "mint-authority", leaf, "has no mint authority", expected, with_data(none)
                )
            if token.decimals is not None:
                other = tokens.patch_mint(data, decimals=token.decimals ^ 1)
                yield c.attack(
                    "mint-decimals",
                    leaf,
                    "has other decimals",
                    "ConstraintMintDecimals",
                    with_data(other),
                )
            continue
        yield c.attack(
            "not-a-token-account",
            leaf,
            "is not initialized",
            unborn,
            with_data(tokens.patch_token_account(data, state=0)),
        )
        yield c.attack(
            "not-a-token-account",
            leaf,
            "is a mint",
            unborn,
            with_data(tokens.Mint(supply=10**15, decimals=6).to_bytes()),
        )
        yield c.attack(
            "not-a-token-account",
            leaf,
            "is a multisig",
            unborn,
            with_data(tokens.forged_multisig(data)),
        )
        if (
            token.mint is not None and token.kind != "associated"
        ):  # at that address none of another mint can be made
            other = tokens.patch_token_account(data, mint=stranger)
            yield c.attack(
                "wrong-mint", leaf, "is of another mint", "ConstraintTokenMint", with_data(other)
            )
        if token.authority is not None:
            other = tokens.patch_token_account(data, owner=stranger)
            yield c.attack(
                "wrong-token-owner",
                leaf,
                "has another owner",
                "ConstraintTokenOwner",
                with_data(other),
            )


# --- data ------------------------------------------------------------------------------------------------------------


def truncated_data(c: _Change) -> Iterator[Attack]:
    """Data that ends within the arguments, or within the discriminator."""
    data = c.base.data
    start = len(c.base.instruction.model.discriminator.value)
    open_end = any(_is_open(c, a.type) for a in c.base.instruction.model.args)
    cuts = list(range(start, start if open_end else len(data)))
    if len(cuts) > _MOST_CUTS:
        step = len(cuts) / _MOST_CUTS
        cuts = sorted({cuts[int(i * step)] for i in range(_MOST_CUTS)} | {start, len(data) - 1})
    for n in cuts:
        what = f"ends after {n} of {len(data)} bytes"
        yield c.attack(
            "truncated-data", "data", what, "InstructionDidNotDeserialize", c.trial(data=data[:n])
        )
    yield c.attack(
        "truncated-data",
        "data",
        "ends within the discriminator",
        "InstructionFallbackNotFound",
        c.trial(data=data[: start - 1]),
    )


def trailing_data(c: _Change) -> Iterator[Attack]:
    """Bytes behind the arguments."""
    if any(_is_open(c, a.type) for a in c.base.instruction.model.args):
        return
    for more in (b"\0", b"\xff" * 9):
        what = f"has {len(more)} byte{'s' if len(more) > 1 else ''} too many"
        expected = "InstructionDidNotDeserialize"
        yield c.attack("trailing-data", "data", what, expected, c.trial(data=c.base.data + more))


def bad_values(c: _Change) -> Iterator[Attack]:
    """Bytes that no value of the argument's type has: a bool of 2, a tag of no variant, a length beyond the data."""
    at = len(c.base.instruction.model.discriminator.value)
    codecs = c.scene.program.codecs
    data = c.base.data
    for arg in c.base.instruction.model.args:
        size = (
            len(codecs.codec(arg.type).encode(c.base.args[arg.name]))
            if arg.name in c.base.args
            else 0
        )
        node = codecs.layouts.resolver.target(arg.type)
        bad: tuple[bytes, str] | None = None
        match node:
            case Bool():
                bad = b"\x02", "is 2"
            case Option(prefix=prefix):
                bad = b"\x02" + bytes(prefix.bits // 8 - 1), "has the tag 2"
            case Enum(tag=Int(bits=bits)):
                bad = b"\xfe" + bytes(bits // 8 - 1), "has the tag of no variant"
            case Array(count=Int(bits=bits)) | SizePrefixed(prefix=Int(bits=bits)):
                bad = b"\xff" * (bits // 8), "has a length beyond the data"
            case _:
                pass
        if bad is not None and size:
            changed = data[:at] + bad[0] + data[at + len(bad[0]) :]
            expected = "InstructionDidNotDeserialize"
            yield c.attack("bad-value", arg.name, bad[1], expected, c.trial(data=changed))
        at += size


def _is_open(c: _Change, node: Type) -> bool:
    """Does a type take all bytes that are left?"""
    target = c.scene.program.codecs.layouts.resolver.target(node)
    return isinstance(target, Bytes) or (isinstance(target, Array) and target.count is None)


def too_few_accounts(c: _Change) -> Iterator[Attack]:
    """Accounts that are left out at the end."""
    metas = c.base.metas()
    for n in range(len(metas)):
        call = Instruction(c.scene.program_id, c.base.data, metas[:n])
        what = f"are {n} of {len(metas)}"
        trial = Trial(((*c.base.before, call),))
        yield c.attack("too-few-accounts", "accounts", what, "AccountNotEnoughKeys", trial)


# --- arithmetic ------------------------------------------------------------------------------------------------------


def arithmetic(c: _Change) -> Iterator[Attack]:
    """The edges of each integer argument, also against the edges of what state and token accounts hold: the call goes
    through, or is refused by a name; nothing wraps around, and no token appears or vanishes."""
    model = c.base.instruction.model
    for arg in model.args:
        number = _integer(c, arg.type)
        if number is None:
            continue
        top = 2 ** (number.bits - number.signed) - 1
        values = [0, 1, top, *((-(2 ** (number.bits - 1)), -1) if number.signed else ())]
        for value in dict.fromkeys(values):
            varied = _with_argument(c, arg.name, value)
            if varied is None:
                continue
            metas, placed, data = varied
            shown = "the largest" if value == top else "the smallest" if value < -1 else str(value)
            what = f"is {shown}"
            after = _conserved(c, metas, placed)
            yield c.attack(
                "arithmetic", arg.name, what, set(), c.trial(metas, data, placed, after=after), True
            )
            for name, rich in _all_in_one(c, metas, placed) if value == top else ():
                what = f"is the largest, and {name} holds all tokens that there can be"
                trial = c.trial(
                    metas, data, placed | rich, after=_conserved(c, metas, placed | rich)
                )
                yield c.attack("arithmetic", arg.name, what, set(), trial, True)
        yield from _wraps(c, arg.name)


def _integer(c: _Change, node: Type) -> Int | None:
    target = c.scene.program.codecs.layouts.resolver.target(node)
    if isinstance(target, (Amount, DateTime)):
        target = target.number
    return target if isinstance(target, Int) else None


def _with_argument(
    c: _Change, name: str, value: int
) -> tuple[list[AccountMeta], Snapshot, bytes] | None:
    """The call with another argument; accounts whose seeds have it are derived anew, and moved there."""
    args = c.base.args | {name: value}
    try:
        data = bytes(c.base.instruction.encode(args))
    except McpsolError:
        return None
    addresses = list(c.base.addresses)
    placed: Snapshot = {}
    for leaf in c.base.present:
        if not c.names.seeds_use_argument(leaf, name):
            continue
        try:
            addresses[leaf.index], _ = c.base.derived(leaf, addresses, args)
        except (NoBaseline, McpsolError):
            return None
    for leaf in c.base.present:  # what is derived from those
        if has_address(leaf) and not c.names.seeds_use_argument(leaf, name) and c._follows(leaf):
            addresses[leaf.index] = c.base.derived(leaf, addresses, args)[0]
    mapping = {old: new for old, new in zip(c.base.addresses, addresses, strict=True) if old != new}
    for leaf, account in _held(c.base):
        moved = bytes(account.data)
        for old, new in mapping.items():
            moved = moved.replace(bytes(old), bytes(new))
        if addresses[leaf.index] != c.base.addresses[leaf.index] or moved != bytes(account.data):
            placed[addresses[leaf.index]] = Account(account.lamports, moved, account.owner)
    return c.base.metas(addresses), placed, data


def _all_in_one(
    c: _Change, metas: list[AccountMeta], placed: Snapshot
) -> Iterator[tuple[str, Snapshot]]:
    """For each token account of the call: it holds 2**64 - 1 base units, the others none, as the mints' supplies say.
    (All of them so rich would be more tokens than a mint can have.)"""
    found: dict[str, tuple[Pubkey, Account]] = {}
    supplies: Snapshot = {}
    for leaf in c.base.present:
        key = metas[leaf.index].pubkey
        account = placed.get(key) or c.scene.account(key)
        if account is None or account.owner not in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
            continue
        if len(account.data) >= tokens.TOKEN_ACCOUNT_SIZE:
            found[leaf.name] = (key, account)
        elif len(account.data) == tokens.MINT_SIZE:
            supplies[key] = _with_data(account, tokens.patch_mint(account.data, supply=_U64_MAX))
    for name in found:
        balances: Snapshot = {}
        for other, (key, account) in found.items():
            amount = _U64_MAX if other == name else 0
            balances[key] = _with_data(
                account, tokens.patch_token_account(account.data, amount=amount)
            )
        yield name, supplies | balances


def _with_data(account: Account, data: bytes) -> Account:
    return Account(account.lamports, data, account.owner)


def _conserved(c: _Change, metas: list[AccountMeta], placed: Snapshot) -> Callable[[], str]:
    """Whether each mint's tokens are as many after the call as before it (or as many fewer or more as its supply
    is)."""
    keys = list(dict.fromkeys(meta.pubkey for meta in metas))

    def sums(overlay: Snapshot) -> dict[Pubkey, int]:
        total: dict[Pubkey, int] = {}
        for key in keys:
            account = overlay.get(key) or c.scene.account(key)
            if account is None or account.owner not in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
                continue
            data = bytes(account.data)
            if len(data) >= tokens.TOKEN_ACCOUNT_SIZE:
                held = tokens.TokenAccount.from_bytes(data)
                total[held.mint] = total.get(held.mint, 0) + held.amount
            elif len(data) == tokens.MINT_SIZE:
                total[key] = total.get(key, 0) - tokens.Mint.from_bytes(data).supply
        return total

    before = sums(placed)

    def check() -> str:
        after = sums({})
        wrong = [k for k in set(before) | set(after) if before.get(k, 0) != after.get(k, 0)]
        return "tokens appeared or vanished" if wrong else ""

    return check


def _wraps(c: _Change, name: str) -> Iterator[Attack]:
    """State whose integers stand at their largest or at zero: after a call with 7, none may stand where a sum or a
    difference that wrapped around would leave it."""
    step = 7
    varied = _with_argument(c, name, step)
    if varied is None:
        return
    metas, placed, data = varied
    for leaf, account in _states(c.base):
        if not leaf.account.writable:
            continue
        values = c.base.fields(leaf, bytes(account.data))
        state = c.base.instruction.plan.state_type(constraints_of(leaf).state or "")
        node = c.scene.program.codecs.layouts.resolver.target(state) if state is not None else None
        if values is None or not isinstance(node, Struct):
            continue
        bump = leaf.account.pda.bump if leaf.account.pda is not None else None
        for f in node.fields:
            number = _integer(c, f.type)
            if number is None or number.bits < 16 or f.name == bump:
                continue
            top = 2 ** (number.bits - number.signed) - 1
            low = -(2 ** (number.bits - 1)) if number.signed else 0
            for start, wrapped, said in (
                (top, low + step - 1, "largest"),
                (low, top - step + 1, "smallest"),
            ):
                forged = c.state_data(leaf, values | {f.name: start}, bytes(account.data))
                key = metas[leaf.index].pubkey

                def after(
                    key: Pubkey = key,
                    leaf: Leaf = leaf,
                    field: str = f.name,
                    wrapped: int = wrapped,
                ) -> str:
                    there = c.scene.account(key)
                    found = None if there is None else c.base.fields(leaf, bytes(there.data))
                    return (
                        f"{field} wrapped around to {wrapped}"
                        if found and found.get(field) == wrapped
                        else ""
                    )

                what = f"is 7 where {leaf.name}.{f.name} stands at its {said}"
                put = placed | {key: Account(account.lamports, forged, account.owner)}
                yield c.attack(
                    "arithmetic", name, what, set(), c.trial(metas, data, put, after=after), True
                )


#: In the order of the report.
KINDS: tuple[Callable[[_Change], Iterator[Attack]], ...] = (
    missing_signer,
    not_writable,
    wrong_owner,
    not_initialized,
    look_alike,
    short_account,
    wrong_address,
    other_bump,
    other_address,
    fake_program,
    fake_sysvar,
    has_one_of_another,
    unbound,
    duplicate,
    wrong_tokens,
    re_initialise,
    dust,
    revival,
    resize,
    arithmetic,
    truncated_data,
    trailing_data,
    bad_values,
    too_few_accounts,
)


def attacks_on(base: Baseline) -> Iterator[Attack]:
    """Every attack that the constraints of an instruction admit, from its good call."""
    change = _Change(base)
    for kind in KINDS:
        yield from kind(change)


def own_call_attacks(base: Baseline) -> Iterator[Attack]:
    """What strangers can try on an instruction that only the program itself can call, since an address of its own must
    sign: not to sign, and to sign with a key of theirs."""
    change = _Change(base)
    for leaf in base.present:
        if (
            leaf.account.signer is True
            and leaf.account.pda is not None
            and leaf.account.pda.program is None
        ):
            yield from (a for a in missing_signer(change) if a.target == leaf.name)
            yield from (a for a in wrong_address(change) if a.target == leaf.name)


def unknown_instructions(base: Baseline) -> Iterator[Attack]:
    """Data that no instruction of the program begins with."""
    change = _Change(base)
    known = [i.discriminator.value for i in base.scene.program.model.instructions] + [LIST_TOOLS]
    strange = next(
        d for n in range(255, -1, -1) if not any((d := bytes([n]) * 8).startswith(k) for k in known)
    )
    expected = "InstructionFallbackNotFound"
    for data, what in (
        (b"", "is empty"),
        (strange[:1], "is one byte"),
        (strange, "has an unknown discriminator"),
    ):
        if any(data.startswith(k) for k in known):
            continue
        yield change.attack("unknown-instruction", "data", what, expected, change.trial(data=data))
