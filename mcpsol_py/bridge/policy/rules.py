"""The policy: which transactions the bridge may sign, read from TOML and checked before signing.

    [policy]
    clusters = ["devnet"]                   # mainnet must be named; other chains by genesis hash
    guard = "on"                            # optional: enforce the limits on chain; "off", or a program
    priority_fee = "auto"                   # optional: or micro-lamports for each compute unit
    max_priority_fee = 100_000              # optional: lamports, for one transaction

    [[policy.program]]
    id = "4Nd1…"
    instructions = ["deposit", "withdraw"]  # or ["*"]
    writable = ["7xKX…"]                    # optional: only these and the wallet's accounts
    hands_over = true                       # optional: see below

    [policy.outflow.SOL]                    # in lamports; other tokens by mint, in base units
    per_call = 10_000_000
    per_day = 50_000_000
    confirm_above = 5_000_000               # optional: larger amounts need a confirmation

Everything that is not listed is refused: clusters, programs, instructions, and any outflow of a
token without limits. Outflow is measured by simulating the exact bytes that are signed, as the net
change of everything that the wallet owns.

Two things are always refused: a transaction that needs another signature than the wallet's, and one
that gives others power over what the wallet owns (ownership, delegates, close authorities, and
authorities over mints, stakes, nonces and programs).

If an account of another program contains the wallet's address before the call and a different one
in the same place afterwards, ownership has probably passed to someone else. That needs
`hands_over`.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any

from mcpsol_py.calls.balances import SOL, Outflow
from mcpsol_py.calls.priority import MOST_LAMPORTS, NO_PRIORITY, PriorityFee
from mcpsol_py.errors import PolicyError, SourceError, abbr, suggest
from mcpsol_py.names import snake
from mcpsol_py.solana import ids
from mcpsol_py.solana.clusters import is_on_this_machine
from mcpsol_py.toml_schema import (
    FLAG,
    TABLE,
    TABLES,
    TEXT,
    TEXTS,
    U64,
    Keys,
    Kind,
    checked,
)

__all__ = ["CLUSTERS", "Confirm", "OutflowLimit", "Policy", "ProgramRule", "cluster_of"]

#: Asks a person to confirm the text. The digest says what exactly is asked. Returns whether the person agreed, or text:
#: an agreement with a mark, by which it is recognised if it is brought a second time.
Confirm = Callable[[str, str], Awaitable[bool | str]]

#: Genesis hash -> cluster name.
CLUSTERS = {
    ids.MAINNET_GENESIS: "mainnet",
    ids.DEVNET_GENESIS: "devnet",
    ids.TESTNET_GENESIS: "testnet",
}
_CLUSTER_NAMES = (*dict.fromkeys(CLUSTERS.values()), "local")


def cluster_of(genesis_hash: str, url: str = "") -> str:
    """Return the cluster's name by its genesis hash. The name in *url* does not matter.

    An unknown chain is "local" if *url* is on this machine. Elsewhere it may be someone else's
    chain, with real money, so its genesis hash is its name.
    """
    if genesis_hash in CLUSTERS:
        return CLUSTERS[genesis_hash]
    is_local = not url or is_on_this_machine(url)
    return "local" if is_local else genesis_hash


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """A program that may be called.

    `instructions` are in snake case, `written` as the owner wrote them. `writable` None allows any
    account that the instruction names. `hands_over` allows the program
    to replace the wallet's address in its own accounts by another one.
    """

    id: str
    instructions: frozenset[str]
    writable: frozenset[str] | None = None
    hands_over: bool = False
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OutflowLimit:
    """How much of a token may leave the wallet, in base units."""

    per_call: int
    per_day: int
    confirm_above: int | None = None

    def check(self, flow: Outflow, spent_today: int) -> None:
        """Raise PolicyError if *flow* exceeds the limit."""
        sums = {
            "outflow.per_call": (flow.amount, self.per_call),
            "outflow.per_day": (spent_today + flow.amount, self.per_day),
        }
        for rule, (amount, most) in sums.items():
            if amount > most:
                raise PolicyError(
                    rule, f"{_leaving(flow)}. {self.words(flow.mint, spent_today)}"
                )

    def left(self, spent_today: int) -> int:
        """Return the base units that may still leave the wallet today."""
        return max(0, self.per_day - spent_today)

    def words(self, mint: str, spent_today: int) -> str:
        """Return the limit as a sentence, with today's spending and the rest."""
        asks = (
            ""
            if self.confirm_above is None
            else f", a person is asked above {_units(self.confirm_above, mint)}"
        )
        return (
            f"At most {_units(self.per_call, mint)} may leave the wallet in a call and "
            f"{_units(self.per_day, mint)} in a day (UTC){asks}; spent today: {_units(spent_today, mint)}, "
            f"left: {_units(self.left(spent_today), mint)}"
        )

    def at_most(self, spent_today: int, confirmed: int | None) -> int:
        """Return the most that one call may take. *confirmed*: the amount that a person agreed to, if any."""
        agreed = self.confirm_above if confirmed is None else confirmed
        return min(
            self.per_call,
            self.left(spent_today),
            self.per_call if agreed is None else agreed,
        )

    def needs_confirmation(self, flow: Outflow) -> bool:
        """Return True if a person must confirm *flow*."""
        return self.confirm_above is not None and flow.amount > self.confirm_above


def _units(amount: int, mint: str) -> str:
    return f"{amount:,} lamports" if mint == SOL else f"{amount:,} base units of {mint}"


def _leaving(flow: Outflow) -> str:
    return f"{_units(flow.amount, flow.mint)} would leave the wallet"


@dataclass(frozen=True, slots=True)
class Policy:
    """A whole policy. The default one allows nothing.

    `guard` is "on", "off", or the address of the guard program to use. `priority` is the priority fee of each
    transaction.
    """

    clusters: frozenset[str] = frozenset()
    programs: tuple[ProgramRule, ...] = ()
    limits: tuple[tuple[str, OutflowLimit], ...] = ()
    guard: str = "on"
    priority: PriorityFee = NO_PRIORITY

    @classmethod
    def read(
        cls,
        document: Mapping[str, Any],
        origin: str = "",
        names: Callable[[str], str] = lambda text: text,
    ) -> Policy:
        """Return the policy in the parsed TOML table `policy`. *names* turns "@usdc" into an address.

        Raises SourceError with the path of a wrong value.
        """
        try:
            return _read(document, _Addresses(names))
        except SourceError as error:
            raise error.at(origin=origin, path="policy") from None

    def check_target(
        self, cluster: str, program_id: str, instruction: str
    ) -> ProgramRule:
        """Return the rule for an instruction, before anything is built.

        Raises PolicyError if the instruction is not allowed.
        """
        if cluster not in self.clusters:
            raise PolicyError(
                "clusters",
                f"this chain is {cluster}, and the policy allows {_listed(self.clusters)}",
            )
        rule = next((rule for rule in self.programs if rule.id == program_id), None)
        if rule is None:
            raise PolicyError(
                "program", f"the policy does not list program {program_id}"
            )
        allowed = rule.instructions
        if "*" not in allowed and snake(instruction) not in allowed:
            raise PolicyError(
                "program.instructions",
                f"of program {program_id} the policy allows {_listed(rule.written or allowed)}, and not {instruction}",
            )
        return rule

    def check_accounts(
        self,
        rule: ProgramRule,
        wallet: str,
        signers: Sequence[str],
        writable: Sequence[str],
        own: Sequence[str],
    ) -> None:
        """Check the signers and the writable accounts of a transaction.

        *own* are writable accounts that belong to the wallet. Raises PolicyError.
        """
        for signer in signers:
            if signer != wallet:
                raise PolicyError(
                    "signers",
                    f"{signer} must sign too, but only the wallet {wallet} signs here",
                )
        if rule.writable is None:
            return
        allowed = {wallet, *own, *rule.writable}
        for address in writable:
            if address not in allowed:
                raise PolicyError(
                    "program.writable",
                    f"account {address} would be written, and the policy does not list it",
                )

    def check_effects(
        self,
        outflow: Sequence[Outflow],
        takeovers: Sequence[str],
        spent_today: Mapping[str, int],
    ) -> list[Outflow]:
        """Check the effects that a simulation measured against the limits.

        *spent_today* are base units by mint. Returns the outflows that a person must confirm.
        Raises PolicyError.
        """
        if takeovers:
            raise PolicyError("takeover", f"the call {_joined(takeovers)}")
        limits = dict(self.limits)
        to_confirm: list[Outflow] = []
        for flow in outflow:
            limit = limits.get(flow.mint)
            if limit is None:
                raise PolicyError(
                    "outflow",
                    f"{_leaving(flow)}, and the policy has no limit for that token, so nothing of it may leave",
                )
            limit.check(flow, spent_today.get(flow.mint, 0))
            if limit.needs_confirmation(flow):
                to_confirm.append(flow)
        return to_confirm

    def at_most(
        self,
        mints: Iterable[str],
        spent_today: Mapping[str, int],
        confirmed: Mapping[str, int],
    ) -> dict[str, int]:
        """Return the most of each of *mints* that one call may take; 0 without a limit.

        *confirmed* are the amounts that a person agreed to.
        """
        limits = dict(self.limits)
        return {
            mint: limits[mint].at_most(spent_today.get(mint, 0), confirmed.get(mint))
            if mint in limits
            else 0
            for mint in mints
        }

    def check_reserved(
        self, at_most: Mapping[str, int], spent_today: Mapping[str, int]
    ) -> None:
        """Raise PolicyError if *at_most* no longer fits into the day, because another process has spent meanwhile."""
        for mint, limit in self.limits:
            spent = spent_today.get(mint, 0)
            if at_most.get(mint, 0) > limit.left(spent):
                raise PolicyError(
                    "outflow.per_day",
                    f"another call spent meanwhile. {limit.words(mint, spent)}. Call again",
                )


def _joined(takeovers: Sequence[str]) -> str:
    """Return what a call would do as the rest of a sentence."""
    acts = [
        text if text.startswith("would ") else f"is refused, since {text}"
        for text in takeovers
    ]
    return "; it ".join(acts)


def _listed(names: Collection[str]) -> str:
    return ", ".join(sorted(names)) or "none"


# --- reading a policy ----------------------------------------------------------------------------

#: A price for each compute unit.
PRIORITY_FEE = Kind(
    "whole number or auto",
    lambda value: value == "auto" or U64.fits(value),
    'micro-lamports for each compute unit (a whole number), or "auto"',
)
#: The keys of `[policy]`, `[[policy.program]]` and `[policy.outflow.…]`.
POLICY: Keys = {
    "clusters": TEXTS,
    "program": TABLES,
    "outflow": TABLE,
    "guard": TEXT,
    "priority_fee": PRIORITY_FEE,
    "max_priority_fee": U64,
}
PROGRAM: Keys = {
    "id": TEXT,
    "instructions": TEXTS,
    "writable": TEXTS,
    "hands_over": FLAG,
}
OUTFLOW: Keys = {"per_call": U64, "per_day": U64, "confirm_above": U64}


def _read(document: Mapping[str, Any], addresses: _Addresses) -> Policy:
    table = checked(document, POLICY)
    clusters = table.get("clusters", [])
    for place, name in enumerate(clusters):
        if name not in _CLUSTER_NAMES and not _is_address(name):
            raise SourceError(
                f"unknown cluster {abbr(name)}. {suggest(name, _CLUSTER_NAMES)}",
                path=f"clusters[{place}]",
            )
    rules = [
        _rule(item, f"program[{i}]", addresses)
        for i, item in enumerate(table.get("program", []))
    ]
    _check_listed_once(rules)
    outflow = table.get("outflow", {}).items()
    limits = tuple(
        (addresses.mint(mint), _limit(item, f"outflow.{mint}"))
        for mint, item in outflow
    )
    _check_limited_once(limits)
    priority = PriorityFee(
        table.get("priority_fee"), table.get("max_priority_fee", MOST_LAMPORTS)
    )
    guard = table.get("guard", "on")
    if guard not in ("on", "off"):
        guard = addresses.read(guard, "guard")
    return Policy(frozenset(clusters), tuple(rules), limits, guard, priority)


def _check_limited_once(limits: Sequence[tuple[str, OutflowLimit]]) -> None:
    for _, mint in _repeated([mint for mint, _ in limits]):
        raise SourceError(
            f"{mint} has limits twice; keep one table for it", path=f"outflow.{mint}"
        )


def _check_listed_once(rules: Sequence[ProgramRule]) -> None:
    for place, program_id in _repeated([rule.id for rule in rules]):
        raise SourceError(
            f"program {program_id} is listed twice; keep one rule for it",
            path=f"program[{place}].id",
        )


def _repeated(names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the names that came before, with their places."""
    return ((place, name) for place, name in enumerate(names) if name in names[:place])


def _rule(item: Any, path: str, addresses: _Addresses) -> ProgramRule:
    table = checked(item, PROGRAM, path, required=["id"])
    program_id = addresses.read(table["id"], f"{path}.id")
    if "instructions" not in table:
        raise SourceError(
            'missing, but required: list the instructions that may be called, or ["*"]',
            path=f"{path}.instructions",
        )
    names = frozenset("*" if n == "*" else snake(n) for n in table["instructions"])
    writable = None
    if "writable" in table:
        listed = enumerate(table["writable"])
        writable = frozenset(
            addresses.read(a, f"{path}.writable[{i}]") for i, a in listed
        )
    written = tuple(table["instructions"])
    return ProgramRule(
        program_id, names, writable, table.get("hands_over", False), written
    )


def _limit(item: Any, path: str) -> OutflowLimit:
    table = checked(item, OUTFLOW, path)
    for key in ("per_call", "per_day"):
        if key not in table:
            raise SourceError(
                f"{key} is missing: give both per_call and per_day, in base units",
                path=path,
            )
    return OutflowLimit(table["per_call"], table["per_day"], table.get("confirm_above"))


@dataclass(frozen=True, slots=True)
class _Addresses:
    """Reads the addresses of a policy. `names` turns "@usdc" into one, and raises SourceError for an unknown name."""

    names: Callable[[str], str]

    def read(self, value: Any, path: str) -> str:
        if isinstance(value, str) and value.startswith("@"):
            try:
                value = self.names(value)
            except SourceError as error:
                raise error.at(path=path) from None
        return _address(value, path)

    def mint(self, text: str) -> str:
        """Read the key of a table of limits: "SOL", or a mint."""
        path = f"outflow.{text}"
        found = SOL if text == SOL else self.read(text, path)
        if found == ids.NATIVE_MINT:
            raise SourceError(
                "wrapped SOL counts as SOL; set the limits of SOL instead", path=path
            )
        return found


def _is_address(text: str) -> bool:
    try:
        _address(text, "")
    except SourceError:
        return False
    return True


def _address(value: Any, path: str) -> str:
    from solders.pubkey import Pubkey

    try:
        return str(Pubkey.from_string(value))
    except (TypeError, ValueError) as error:
        raise SourceError(
            f"expected an address (base58 of 32 bytes), got {abbr(value)}", path=path
        ) from error
