"""A bridge with a policy over SPL Token and the system program, and what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from solders.pubkey import Pubkey
from solders.token.state import TokenAccount

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.keys import KeypairSigner
from tests.functional.bridges import TOKEN, cluster, served
from tests.functional.cli import SETUP, TOKEN_IDL

SYSTEM = "11111111111111111111111111111111"


def ix(
    name: str, discriminator: list[int], accounts: list[str], args: dict[str, str]
) -> dict[str, Any]:
    """An instruction of an IDL; an account is "name", with "+" written, with "!" signing."""
    return {
        "name": name,
        "discriminator": discriminator,
        "accounts": [
            {
                "name": a.strip("+!"),
                **({"writable": True} if "+" in a else {}),
                **({"signer": True} if "!" in a else {}),
            }
            for a in accounts
        ],
        "args": [{"name": n, "type": t} for n, t in args.items()],
    }


TOKEN_MORE = {
    **TOKEN_IDL,
    "instructions": [
        *TOKEN_IDL["instructions"],
        ix("set_closer", [6, 3, 1], ["account+", "owner!"], {"closer": "pubkey"}),
        ix(
            "set_mint_authority",
            [6, 0, 1],
            ["mint+", "owner!"],
            {"authority": "pubkey"},
        ),
        ix("drop_mint_authority", [6, 0, 0], ["mint+", "owner!"], {}),
        ix("close_account", [9], ["account+", "destination+", "owner!"], {}),
        ix("burn", [8], ["account+", "mint+", "owner!"], {"amount": "u64"}),
    ],
}


SYSTEM_IDL = {
    "address": SYSTEM,
    "metadata": {"name": "system", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        ix("send_sol", [2, 0, 0, 0], ["source+!", "destination+"], {"lamports": "u64"}),
        ix("assign", [1, 0, 0, 0], ["account+!"], {"owner": "pubkey"}),
        ix(
            "create_account",
            [0, 0, 0, 0],
            ["funder+!", "fresh+!"],
            {"lamports": "u64", "space": "u64", "owner": "pubkey"},
        ),
    ],
}


MINTED = SETUP.replace("decimals = 6", 'decimals = 6\nauthority = "@alice"') + (
    '[mints.other]\n[tokens.alice_other]\nmint = "@other"\nowner = "@alice"\namount = 50\n'
    '[tokens.bob_other]\nmint = "@other"\nowner = "@bob"\n'
    '[mints.empty]\n[tokens.alice_empty]\nmint = "@empty"\nowner = "@alice"\n'
)


@dataclass
class Scene:
    """A sending bridge for alice, and what to look at afterwards."""

    local: LocalCluster
    bridge: Bridge
    audit: AuditLog
    asked: list[str] = field(default_factory=list)

    def held(self, name: str) -> int:
        account = self.local.svm.get_account(Pubkey.from_string(self.local.names[name]))
        amount: int = (
            0
            if account is None
            else TokenAccount.from_bytes(bytes(account.data)).amount
        )
        return amount

    def picture(self) -> dict[str, Any]:
        """Everything of alice's and what others could gain."""
        keys = [Pubkey.from_string(a) for a in self.local.names.values()]
        return {str(k): self.local.svm.get_account(k) for k in keys}

    def sent(self) -> int:
        return sum(e["event"] == "sent" for e in self.audit.entries())


def policy(local: LocalCluster, **changed: Any) -> Policy:
    """Local chain; token: transfer and others; usdc 500,000 a call, 800,000 a day, asked above 300,000; SOL 10,000 a
    call.
    """
    usdc = local.names["usdc"]
    values: dict[str, Any] = {
        "clusters": frozenset({"local"}),
        "programs": (
            ProgramRule(str(TOKEN), frozenset({"*"})),
            ProgramRule(SYSTEM, frozenset({"*"})),
        ),
        "limits": (
            (usdc, OutflowLimit(500_000, 800_000, 300_000)),
            ("SOL", OutflowLimit(10_000, 100_000)),
        ),
    }
    return Policy(**{**values, **changed})


def scene(
    rule: Callable[[LocalCluster], Policy] = policy,
    *,
    audit: AuditLog | None = None,
    signer: Any = None,
    **options: Any,
) -> Scene:
    local = cluster(MINTED)
    audit = audit or AuditLog()
    programs = options.pop("programs", None) or [
        served(local, load(TOKEN_MORE)),
        ServedProgram(
            load(SYSTEM_IDL),
            Pubkey.from_string(SYSTEM),
            local.transport,
            "a test",
            "local",
        ),
    ]
    for one in programs:
        one.transport = options.get("transport", one.transport)
    options.pop("transport", None)
    bridge = Bridge(
        programs,
        mode="send",
        signer=signer or KeypairSigner(wallet("alice")),
        policy=rule(local),
        audit=audit,
        names=local.resolve,
        **options,
    )
    return Scene(local, bridge, audit)


def transfer(amount: object = 1000, **accounts: Any) -> tuple[str, dict[str, Any]]:
    base = {"source": "@alice_usdc", "destination": "@bob_usdc", "authority": "@alice"}
    return "token_transfer", {"amount": str(amount), "accounts": {**base, **accounts}}


async def yes(question: str, digest: str) -> bool:
    return True


async def no(question: str, digest: str) -> bool:
    return False


class PatchedTransport:
    """The scene's transport with some methods replaced."""

    def __init__(self, inner: Any, **replaced: Any) -> None:
        self._inner, self._replaced = inner, replaced

    def __getattr__(self, name: str) -> Any:
        return self._replaced.get(name) or getattr(self._inner, name)


def broken(s: Scene, **replaced: Callable[..., Awaitable[Any]]) -> Scene:
    for program in s.bridge.box.programs:
        program.transport = PatchedTransport(program.transport, **replaced)
    return s
