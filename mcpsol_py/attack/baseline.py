"""Finds a good call of an instruction: the scenario's, completed with values made up from the spec.

A handler may want certain numbers, so several are tried: a counter can be closed at zero, and counted down only above
zero. Then random ones are: an offer may have to be open, begin before it ends, and name an account of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import filterfalse
from random import Random

from mcpsol_py.attack.call_maker import CallMaker
from mcpsol_py.attack.derivation import (
    NoBaseline,
    constraints_of,
    has_address,
    pda_of,
    token_program_of,
)
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.sandbox import Call, Outcome, Scene
from mcpsol_py.errors import McpsolError, SourceError

__all__ = [
    "Baseline",
    "NoBaseline",
    "constraints_of",
    "find_baseline",
    "has_address",
    "made_up",
    "pda_of",
    "token_program_of",
]

#: Pairs of (each integer argument, each integer of state), in the order in which they are tried.
NUMBERS = (
    (1, 1000),
    (1, 0),
    (0, 0),
    (1, 1),
    (1000, 1),
    (0, 1000),
    (1000, 10**6),
    (5, 2**32 + 5),
)
#: How many random calls are tried after these.
RANDOM_TRIES = 24


def find_baseline(
    scenes: Callable[[], Scene], name: str, scenario: Callable[[Scene], Call] | None
) -> Baseline:
    """Find a call of the instruction *name* that succeeds, on a chain of its own from *scenes*.

    Raises NoBaseline with the error of the first try, SourceError for a scenario that cannot be used.
    """
    errors: list[str] = []
    for made in _tries(scenes, name, scenario, errors):
        if made.outcome.ok:
            return made
        errors.append(failure_text(made.outcome))
    raise NoBaseline(errors[0] if errors else "no call was found")


def _tries(
    scenes: Callable[[], Scene],
    name: str,
    scenario: Callable[[Scene], Call] | None,
    errors: list[str],
) -> Iterator[Baseline]:
    """Yield calls with their outcomes, and add to *errors* why others could not be made."""
    for numbers, chance in _values(name):
        scene = scenes()
        given = Call() if scenario is None else _from_scenario(scene, name, scenario)
        try:
            made = CallMaker(scene, name, given, numbers, chance).make()
            made.outcome = scene.rehearse([*made.before, made.call()])
        except (NoBaseline, McpsolError) as error:
            errors.append(str(error))
            continue
        yield made
        if scenario is not None and not _depends_on_numbers(made, given):
            return


def _values(name: str) -> Iterator[tuple[tuple[int, int], Random | None]]:
    """Yield the numbers to try, and from then on what makes other values, the same in every run."""
    yield from ((numbers, None) for numbers in NUMBERS)
    for turn in range(RANDOM_TRIES):
        yield NUMBERS[turn % len(NUMBERS)], Random(f"{name} {turn}")


def made_up(scene: Scene, name: str) -> Baseline:
    """Make a call up. It may or may not succeed."""
    return CallMaker(scene, name, Call(), NUMBERS[0]).make()


def failure_text(outcome: Outcome) -> str:
    """Return the last lines of a failed call's log."""
    lines = list(filterfalse(_is_routine, outcome.logs))
    return " | ".join(lines[-2:]) or str(outcome.error)


def _is_routine(line: str) -> bool:
    return line.endswith("compute units") or "invoke [" in line


def _from_scenario(scene: Scene, name: str, scenario: Callable[[Scene], Call]) -> Call:
    origin = getattr(getattr(scenario, "__code__", None), "co_filename", "")
    try:
        found: object = scenario(scene)
    except McpsolError as error:
        raise SourceError(str(error), origin=origin, path=name) from error
    except Exception as error:  # a scenario is the user's code: it may raise anything
        text = f"it raised {type(error).__name__}: {error}"
        raise SourceError(text, origin=origin, path=name) from error
    if not isinstance(found, Call):
        text = f"it returned a value of type {type(found).__name__}; return a Call"
        raise SourceError(text, origin=origin, path=name)
    return found


def _depends_on_numbers(made: Baseline, given: Call) -> bool:
    """Would other numbers make another call than this one of a scenario?"""
    if len(given.args) < len(made.instruction.model.args):
        return True
    collected, _ = made.instruction.plan.collect(given.accounts)
    return any(
        constraints_of(leaf).state
        for leaf in made.leaves
        if leaf.index not in collected
    )
