"""One function for an instruction whose accounts are all given: straight code, as one would write it by hand.

The general way (resolution.py) looks every account up by its spellings and asks where it comes from. A caller that
gives all accounts by their names needs none of this, so the function generated here does only what a hand-written
client does: look up each name, make its AccountMeta with constant flags, encode, and make the Instruction. Anything
else (another spelling, text instead of a Pubkey, an account to fill in, null, remaining accounts) goes to the general
way, which also words the errors.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.accounts.plan import Plan

__all__ = ["compile_build"]

_count = 0


def compile_build(
    plan: Plan,
    encode: Callable[[Any], bytes],
    general: Callable[..., Instruction],
    program_id: Pubkey | None,
) -> Callable[..., Instruction]:
    """``build(args, accounts, program_id, wallet, remaining, payer, resolvers) -> Instruction`` for *plan*.

    *general* has the same parameters; *program_id* is the default. The source is in linecache, so tracebacks show it.
    """
    global _count
    _count += 1
    leaves = plan.leaves
    signature = (
        "args=None, accounts=None, program_id=default_program, wallet=None, remaining=(),"
        " *, payer=None, resolvers=None"
    )
    lines = [f"def build({signature}):"]
    # Every leaf by its own name at the top level: groups and "either" signers need the general way.
    straight = (
        not plan.remaining
        and all(len(leaf.path) == 1 and isinstance(leaf.account.signer, bool) for leaf in leaves)
        and len(plan.by_path) == len(leaves)
    )
    if straight:
        metas = [
            f"                meta(accounts[{leaf.account.name!r}], {leaf.account.signer}, {leaf.account.writable}),"
            for leaf in leaves
        ]
        lines += [
            f"    if accounts is not None and len(accounts) == {len(leaves)} and not remaining:",
            "        data = encode(args)",
            "        try:",
            "            return make(program_id, data, [",
            *metas,
            "            ])",
            "        except (KeyError, TypeError):",
            "            pass  # a name in another spelling, or a value that is no Pubkey",
        ]
    lines.append(
        "    return general(args, accounts, program_id, wallet, remaining, payer=payer, resolvers=resolvers)"
    )
    source = "\n".join(lines) + "\n"
    filename = f"<mcpsol build {plan.instruction.name} {_count}>"
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
