"""Generates the build function of an instruction, for callers that give every account by name.

The general way (resolution.py) looks up every account in all spellings, and fills in missing ones.
The generated function does only what a hand-written client does: it looks up each name, makes its
AccountMeta with constant flags, encodes the arguments, and makes the Instruction. All other calls go
to the general way, which also writes the errors: other spellings, text instead of a Pubkey, missing
accounts, None, remaining accounts.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from itertools import count as counter
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.plan import Plan

__all__ = ["compile_build"]

_numbers = counter(1)

_HEADER = (
    "def build(args=None, accounts=None, program_id=default_program, wallet=None, remaining=(),"
    " *, payer=None, resolvers=None):"
)
_CALL_GENERAL = (
    "    return general(args, accounts, program_id, wallet, remaining,"
    " payer=payer, resolvers=resolvers)"
)


def compile_build(
    plan: Plan,
    encode: Callable[[Any], bytes],
    general: Callable[..., Instruction],
    program_id: Pubkey | None,
) -> Callable[..., Instruction]:
    """Return `build(args, accounts, program_id, wallet, remaining, payer, resolvers)` for *plan*.

    *encode* makes the instruction's data. *general* has the same parameters as the result.
    *program_id* is the default. The source is in `linecache`, so tracebacks show it.
    """
    fast_lines = _fast_lines(plan.leaves) if _has_plain_accounts(plan) else []
    source = "\n".join([_HEADER, *fast_lines, _CALL_GENERAL]) + "\n"
    filename = f"<mcpsol build {plan.instruction.name} {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    space: dict[str, Any] = {
        "encode": encode,
        "general": general,
        "make": Instruction,
        "meta": AccountMeta,
        "default_program": program_id,
    }
    exec(compile(source, filename, "exec"), space)
    build: Callable[..., Instruction] = space["build"]
    return build


def _has_plain_accounts(plan: Plan) -> bool:
    """Return whether all accounts are at the top, and all signers are fixed."""
    if plan.remaining or len(plan.by_path) != len(plan.leaves):
        return False
    return all(
        len(leaf.path) == 1 and isinstance(leaf.account.signer, bool)
        for leaf in plan.leaves
    )


def _fast_lines(leaves: list[Leaf]) -> Iterable[str]:
    return [
        f"    if accounts is not None and len(accounts) == {len(leaves)} and not remaining:",
        "        data = encode(args)",
        "        try:",
        "            return make(program_id, data, [",
        *(f"                {_meta(leaf)}," for leaf in leaves),
        "            ])",
        "        except (KeyError, TypeError):",
        "            pass  # a name in another spelling, or a value other than a Pubkey",
    ]


def _meta(leaf: Leaf) -> str:
    account = leaf.account
    return f"meta(accounts[{account.name!r}], {account.signer}, {account.writable})"
