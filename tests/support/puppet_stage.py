"""A bridge that may call the puppet (tests/puppet) for alice. The puppet does what an account of its owner says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.state import TokenAccount, TokenAccountState

from idl2mcp.local_cluster import LocalCluster, wallet
from mcpsol_py import load
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.keys import KeypairSigner
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import (
    NATIVE_MINT,
    TOKEN_PROGRAM,
)
from tests.functional.bridges import key
from tests.support.policy_scene import MINTED, PatchedTransport, ix

PUPPET, SCRIPT = Pubkey(bytes([81]) * 32), Pubkey(bytes([82]) * 32)
WRAPPED = Pubkey(bytes([83]) * 32)
SLOTS = ("a", "b", "c", "d")
IDL = {
    "address": str(PUPPET),
    "metadata": {"name": "puppet", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        ix(
            "act",
            [1],
            ["wallet+!", "script", *(f"{s}+" for s in SLOTS), "system", "token"],
            {},
        )
    ],
}
#: Places of accounts in the instruction.
WALLET, A, B, C, D, SYSTEM, TOKEN = 0, 2, 3, 4, 5, 6, 7
#: Lamports and USDC that a call may take. 5,000 of the lamports are the fee.
SOL_LIMIT, USDC_LIMIT = 25_000, 500_000
RENT = 2_039_280
LIGHTHOUSE_SO = os.environ.get("MCPSOL_LIGHTHOUSE_SO")


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def call(program: int, places: Sequence[int], data: bytes) -> bytes:
    """One call in the puppet's script."""
    return bytes([program, len(places), *places, len(data)]) + data


def send_sol(lamports: int, to: int = A) -> bytes:
    return call(SYSTEM, [WALLET, to], bytes([2, 0, 0, 0]) + u64(lamports))


def send_tokens(amount: int, source: int = A, target: int = B) -> bytes:
    return call(TOKEN, [source, target, WALLET], bytes([3]) + u64(amount))


def set_authority(account: int, kind: int, heir: Pubkey) -> bytes:
    return call(TOKEN, [account, WALLET], bytes([6, kind, 1]) + bytes(heir))


@dataclass
class Stage:
    """A bridge that may call the puppet for alice."""

    local: LocalCluster
    bridge: Bridge
    audit: AuditLog

    def script(self, script: bytes) -> None:
        self.local.transport.set_account(SCRIPT, Account(10**8, script, PUPPET))

    async def act(
        self,
        now: bytes,
        then: bytes | None = None,
        accounts: Mapping[str, str] | None = None,
    ) -> Any:
        """Call the puppet: *now* is its script in the simulation, *then* when the transaction lands."""

        async def turned(_signature: str) -> None:
            self.script(now if then is None else then)

        self.script(now)
        self.bridge.will_send = turned
        given = {
            slot: (accounts or {}).get(slot, self.local.names["usdc"]) for slot in SLOTS
        }
        programs = {"system": "1" * 32, "token": str(TOKEN_PROGRAM)}
        arguments = {
            "accounts": {
                **given,
                **programs,
                "wallet": key("alice"),
                "script": str(SCRIPT),
            }
        }
        return await self.bridge.call("act", arguments)

    def of_alice(self) -> dict[str, Account | None]:
        """All that is alice's, and her wallet without the fee that she pays."""
        names = ("alice", "alice_usdc", "alice_empty", "alice_other", "usdc", "other")
        keys = [
            *(Pubkey.from_string(self.local.names[name]) for name in names),
            WRAPPED,
        ]
        # Of which alice can take, where there are any.
        others = ("carol_usdc", "fee", "bob_fee")
        keys += [
            Pubkey.from_string(self.local.names.get(name, key("carol")))
            for name in others
        ]
        return {str(where): self.local.svm.get_account(where) for where in keys}

    def tokens(self, name: str) -> int:
        account = self.local.svm.get_account(Pubkey.from_string(self.local.names[name]))
        assert account is not None
        return TokenAccount.from_bytes(bytes(account.data)).amount


def signer() -> KeypairSigner:
    return KeypairSigner(wallet("alice"))


def policy_of(local: LocalCluster, guard: str) -> Policy:
    """The puppet may be called; SOL 25,000 a call; USDC 500,000, above 300,000 with a confirmation."""
    limits = (
        ("SOL", OutflowLimit(SOL_LIMIT, 10**6)),
        (local.names["usdc"], OutflowLimit(USDC_LIMIT, 800_000, 300_000)),
    )
    rules = (ProgramRule(str(PUPPET), frozenset({"act"})),)
    return Policy(frozenset({"local"}), rules, limits, guard)


def programs_of(node: Any) -> tuple[Program, Pubkey, Any, str, str]:
    """What a bridge serves: the puppet on the chain behind *node*."""
    return load(IDL), PUPPET, node, "test", "local"


def stage(
    puppet: bytes, *, chain: SvmTransport | None = None, guard: str = "on"
) -> Stage:
    import tomllib

    local = LocalCluster(chain)
    local.apply(tomllib.loads(MINTED))
    local.transport.add_program(PUPPET, puppet)
    state = TokenAccount(
        mint=NATIVE_MINT,
        owner=Pubkey.from_string(key("alice")),
        amount=10**9,
        delegate=None,
        state=TokenAccountState.Initialized,
        is_native=RENT,
        delegated_amount=0,
        close_authority=None,
    )
    local.transport.set_account(
        WRAPPED, Account(10**9 + RENT, bytes(state), TOKEN_PROGRAM)
    )
    # A node that does not refuse early: the transaction lands in a block, and the guard fails it there.
    node = local.transport

    async def hasty(transaction: Any, **_options: Any) -> Any:
        return await node.send(transaction, skip_preflight=True)

    audit = AuditLog()
    bridge = Bridge(
        [ServedProgram(*programs_of(PatchedTransport(node, send=hasty)))],
        mode="send",
        signer=signer(),
        policy=policy_of(local, guard),
        audit=audit,
        names=local.resolve,
    )
    return Stage(local, bridge, audit)
