"""What the owner of a bridge should look at when it starts: programs and rules that do less than they seem to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcpsol_py.calls.prepare import programs_by_id
from mcpsol_py.errors import suggest
from mcpsol_py.names import snake

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge
    from mcpsol_py.bridge.policy import OutflowLimit, ProgramRule
    from mcpsol_py.calls.prepare import ServedProgram

__all__ = ["findings"]


def findings(bridge: Bridge, has_policy: bool) -> list[str]:
    """Return a line for each finding, under a heading; nothing if there is nothing to look at."""
    rules = (_unused_rules, _policy) if has_policy or bridge.mode == "send" else ()
    found = [line for check in (_left_out, _programs, *rules) for line in check(bridge)]
    return ["look at:", *(f"  {line}" for line in found)] if found else []


def _left_out(bridge: Bridge) -> Iterator[str]:
    box = bridge.box
    refused = {
        label: served.refused for label, served in box.labels.items() if served.refused
    }
    for name, reason in {**box.quarantined, **box.left_out, **refused}.items():
        yield f"not served: {name}: {reason}"


def _programs(bridge: Bridge) -> Iterator[str]:
    if not bridge.box.labels and bridge.registry.catalog is None:
        yield "no program is served: name one as SOURCE, or in [[program]] of the configuration"
    yield from _served_twice(bridge)
    for label, served in bridge.box.labels.items():
        if served.program_id is None:
            yield f"{label}: its address is not known, so its calls cannot be built. Give --program-id"
        if served.transport is None:
            yield f"{label}: it has no chain, so its calls are not simulated. Give --url, or a .so with --so"
        elif _is_absent(served):
            yield f"{label}: it is not on the local chain, so its calls fail. Give its .so with --so, or --url"


def _is_absent(served: ServedProgram) -> bool:
    """Return whether a program has no code on the local chain."""
    svm = getattr(served.transport, "svm", None)
    if svm is None or served.program_id is None:
        return False
    account = svm.get_account(served.program_id)
    return account is None or not account.executable


def _served_twice(bridge: Bridge) -> Iterator[str]:
    served = bridge.box.labels.values()
    places = Counter((one.program_id, id(one.transport)) for one in served)
    for one in served:
        count = places.pop((one.program_id, id(one.transport)), 0)
        if count > 1 and one.program_id is not None:
            name = f"{one.program.name} ({one.program_id})"
            where = f" on {one.cluster}" if one.cluster else ""
            yield f"{name} is served more than once{where}, so each of its tools has two names"


def _unused_rules(bridge: Bridge) -> Iterator[str]:
    if bridge.mode != "send":
        yield f'policy: it is for mode "send" alone, and this mode is {bridge.mode}'


def _policy(bridge: Bridge) -> Iterator[str]:
    """Yield the rules of the policy that allow nothing, and the programs that no rule allows."""
    policy = bridge.policy
    served = programs_by_id(bridge.box.labels.values())
    ruled = {rule.id for rule in policy.programs}
    for rule in policy.programs:
        if rule.id in served:
            yield from _unknown_instructions(rule, served[rule.id])
        else:
            yield f"policy: it allows calls of {rule.id}, which is not served here"
    if not policy.clusters:
        yield "policy: it allows no chain (clusters), so nothing is sent"
    allowed = ", ".join(sorted(policy.clusters))
    for key, program in served.items():
        if key not in ruled:
            yield f"policy: it does not list {program.label} ({key}), so calls of it are refused"
        if allowed and program.cluster and program.cluster not in policy.clusters:
            yield f"policy: {program.label} is on {program.cluster}, and calls on {allowed} alone are allowed"
    for mint, limit in policy.limits:
        yield from _useless_limits(f"policy: outflow.{mint}", limit)


def _useless_limits(name: str, limit: OutflowLimit) -> Iterator[str]:
    most = min(limit.per_call, limit.per_day)
    if limit.per_call > limit.per_day:
        yield f"{name}: per_call ({limit.per_call}) is over per_day ({limit.per_day})"
    if limit.confirm_above is not None and limit.confirm_above >= most:
        yield f"{name}: confirm_above ({limit.confirm_above}) asks nobody: no call may take more than {most}"


def _unknown_instructions(rule: ProgramRule, served: ServedProgram) -> Iterator[str]:
    known = set(map(snake, served.program.instructions))
    for name in sorted(rule.instructions - {"*", *known}):
        yield f"policy: {served.label} has no instruction {name!r}. {suggest(name, known)}"
