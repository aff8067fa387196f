"""What the owner of a wallet allows the bridge to sign, read from TOML, and the check of each transaction against it.

    [policy]
    clusters = ["devnet"]                   # mainnet only where it is named; other chains by their genesis hash

    [[policy.program]]
    id = "4Nd1…"
    instructions = ["deposit", "withdraw"]  # or ["*"]
    writable = ["7xKX…"]                    # optional: the only accounts that may be written, beside the wallet's own
    hands_over = true                       # optional: it may put another address in the wallet's place (see below)

    [policy.outflow.SOL]                    # base units (lamports); a token by its mint's address
    per_call = 10_000_000
    per_day = 50_000_000
    confirm_above = 5_000_000               # optional: a person is asked above this

What is not named is refused: a cluster, a program, an instruction, and any outflow of a token without limits. Outflow
is measured from a simulation of the very bytes that are signed, net over everything that the wallet owns; giving others
power over what the wallet owns (ownership, delegates, close authorities, authorities over mints, stakes, nonces and
programs) is always refused, as is a signature of anyone but the wallet. Where an account of another program held the
wallet's address and then holds another in its place, ownership passes by all appearance: that needs `hands_over`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcpsol_py.calls.balances import SOL, Outflow
from mcpsol_py.errors import PolicyError, SourceError, abbr, suggest
from mcpsol_py.names import snake
from mcpsol_py.solana import ids
from mcpsol_py.toml_schema import FLAG, TABLE, TABLES, TEXT, TEXTS, U64, Keys, checked

__all__ = ["CLUSTERS", "Limit", "Policy", "ProgramRule", "cluster_of"]

#: genesis hash -> name
CLUSTERS = {
    ids.MAINNET_GENESIS: "mainnet",
    ids.DEVNET_GENESIS: "devnet",
    ids.TESTNET_GENESIS: "testnet",
}
_NAMES = (*dict.fromkeys(CLUSTERS.values()), "local")
_HERE = ("127.0.0.1", "localhost", "::1")


def cluster_of(genesis_hash: str, url: str = "") -> str:
    """The cluster's name by its genesis hash: what the endpoint at *url* is called is not asked.

    A chain that is none of Solana's is "local" on this machine. Elsewhere it may be anybody's, with money of its own,
    and is called by its genesis hash.
    """
    here = not url or urlsplit(url).hostname in _HERE
    return CLUSTERS.get(genesis_hash, "local" if here else genesis_hash)


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """A program that may be called. `writable` None: any account that the instruction names. `hands_over`: it may put
    another address where the wallet's stood in an account of its own.
    """

    id: str
    instructions: frozenset[str]
    writable: frozenset[str] | None = None
    hands_over: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """How much of a token may leave the wallet, in base units."""

    per_call: int
    per_day: int
    confirm_above: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole policy; the default one allows nothing."""

    clusters: frozenset[str] = frozenset()
    programs: tuple[ProgramRule, ...] = ()
    limits: tuple[tuple[str, Limit], ...] = ()

    @classmethod
    def read(cls, document: Mapping[str, Any], origin: str = "") -> Policy:
        """From a parsed TOML document's table `policy`. Raises SourceError with the path of what is wrong."""
        try:
            return _read(document)
        except SourceError as error:
            raise error.at(origin=origin, path="policy") from None

    def check_target(self, cluster: str, program_id: str, instruction: str) -> ProgramRule:
        """Is this instruction allowed at all? Before anything is built. Raises PolicyError."""
        if cluster not in self.clusters:
            allowed = ", ".join(sorted(self.clusters)) or "none"
            raise PolicyError("clusters", f"this chain is {cluster}; allowed: {allowed}")
        rule = next((r for r in self.programs if r.id == program_id), None)
        if rule is None:
            raise PolicyError("program", f"program {program_id} is not listed")
        if "*" not in rule.instructions and snake(instruction) not in rule.instructions:
            allowed = ", ".join(sorted(rule.instructions)) or "none"
            raise PolicyError(
                "program.instructions", f"{instruction} of program {program_id}; allowed: {allowed}"
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
        """Who signs and what is written. *own*: writable accounts that belong to the wallet. Raises PolicyError."""
        for signer in signers:
            if signer != wallet:
                raise PolicyError(
                    "signers", f"{signer} must sign too, and only the wallet {wallet} signs here"
                )
        if rule.writable is None:
            return
        for address in writable:
            if address != wallet and address not in own and address not in rule.writable:
                raise PolicyError(
                    "program.writable", f"account {address} would be written and is not listed"
                )

    def check_effects(
        self, outflow: Sequence[Outflow], takeovers: Sequence[str], spent_today: Mapping[str, int]
    ) -> list[Outflow]:
        """What the simulation measured, against the limits. *spent_today*: base units by mint.

        Returns the outflows that a person must confirm. Raises PolicyError.
        """
        if takeovers:
            raise PolicyError("takeover", "; ".join(takeovers))
        limits = dict(self.limits)
        ask: list[Outflow] = []
        for flow in outflow:
            limit = limits.get(flow.mint)
            unit = "lamports" if flow.mint == SOL else f"base units of {flow.mint}"
            if limit is None:
                raise PolicyError(
                    "outflow",
                    f"{flow.amount:,} {unit} would leave the wallet, and no limit names it",
                )
            if flow.amount > limit.per_call:
                raise PolicyError(
                    "outflow.per_call",
                    f"{flow.amount:,} {unit} would leave the wallet; a call may take {limit.per_call:,}",
                )
            spent = spent_today.get(flow.mint, 0)
            if spent + flow.amount > limit.per_day:
                raise PolicyError(
                    "outflow.per_day",
                    f"{flow.amount:,} {unit} would leave the wallet, after {spent:,} today; "
                    f"a day may take {limit.per_day:,}",
                )
            if limit.confirm_above is not None and flow.amount > limit.confirm_above:
                ask.append(flow)
        return ask


#: The keys of `[policy]`, `[[policy.program]]` and `[policy.outflow.…]`.
POLICY: Keys = {"clusters": TEXTS, "program": TABLES, "outflow": TABLE}
PROGRAM: Keys = {"id": TEXT, "instructions": TEXTS, "writable": TEXTS, "hands_over": FLAG}
OUTFLOW: Keys = {"per_call": U64, "per_day": U64, "confirm_above": U64}


def _read(document: Mapping[str, Any]) -> Policy:
    table = checked(document, POLICY)
    clusters = table.get("clusters", [])
    for place, name in enumerate(clusters):
        if name not in _NAMES and not _is_address(name):
            raise SourceError(
                f"unknown cluster {abbr(name)}. {suggest(name, _NAMES)}", path=f"clusters[{place}]"
            )
    rules = [_rule(item, f"program[{i}]") for i, item in enumerate(table.get("program", []))]
    _check_listed_once(rules)
    outflow = table.get("outflow", {}).items()
    limits = tuple((_mint(mint), _limit(item, f"outflow.{mint}")) for mint, item in outflow)
    return Policy(frozenset(clusters), tuple(rules), limits)


def _check_listed_once(rules: Sequence[ProgramRule]) -> None:
    ids = [rule.id for rule in rules]
    for place, program_id in enumerate(ids):
        if program_id in ids[:place]:
            raise SourceError(
                f"program {program_id} is listed twice; keep one rule for it",
                path=f"program[{place}].id",
            )


def _rule(item: Any, path: str) -> ProgramRule:
    table = checked(item, PROGRAM, path, required=["id"])
    program_id = _address(table["id"], f"{path}.id")
    if "instructions" not in table:
        raise SourceError(
            'missing, but required: list the instructions that may be called, or ["*"]',
            path=f"{path}.instructions",
        )
    names = frozenset("*" if n == "*" else snake(n) for n in table["instructions"])
    writable = None
    if "writable" in table:
        listed = enumerate(table["writable"])
        writable = frozenset(_address(a, f"{path}.writable[{i}]") for i, a in listed)
    return ProgramRule(program_id, names, writable, table.get("hands_over", False))


def _limit(item: Any, path: str) -> Limit:
    table = checked(item, OUTFLOW, path)
    for key in ("per_call", "per_day"):
        if key not in table:
            raise SourceError(
                f"{key} is missing: give both per_call and per_day, in base units", path=path
            )
    return Limit(table["per_call"], table["per_day"], table.get("confirm_above"))


def _mint(text: str) -> str:
    if text == ids.NATIVE_MINT:
        raise SourceError(
            "wrapped SOL counts as SOL: set the limits of SOL", path=f"outflow.{text}"
        )
    return SOL if text == SOL else _address(text, f"outflow.{text}")


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
