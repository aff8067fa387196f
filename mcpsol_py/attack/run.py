"""Attacks every instruction of a program and reports how each attack ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256

from solders.pubkey import Pubkey

from mcpsol_py.attack.baseline import NoBaseline, find_baseline, made_up
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.judge import Judge, Result, Verdict
from mcpsol_py.attack.kinds import (
    Attack,
    attacks_on,
    own_call_attacks,
    unknown_instructions,
)
from mcpsol_py.attack.sandbox import Scene
from mcpsol_py.attack.scenario import Scenario, read_scenario
from mcpsol_py.model.check import only_itself
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import TOKEN_PROGRAM

__all__ = ["Report", "Result", "Scenario", "Verdict", "attack_program", "read_scenario"]


@dataclass
class Report:
    """All results, and the SVM's feature set in `features`.

    `not_attacked`: instruction -> why no good call of it was found. `skipped`: instruction -> why the scenario leaves
    it out.
    """

    program: str
    program_id: Pubkey
    features: str = "default"
    results: list[Result] = field(default_factory=list)
    not_attacked: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def holes(self) -> list[Result]:
        """Attacks that succeeded and must not, or that left something wrong."""
        return self._judged("hole")

    @property
    def unbound(self) -> list[str]:
        """Accounts that anyone can replace with their own, as "instruction.account"."""
        return [name for kind, name in self._open() if kind != "two-roles"]

    @property
    def two_roles(self) -> list[str]:
        """Accounts that may be one and the same, as "instruction.account=account"."""
        return [name for kind, name in self._open() if kind == "two-roles"]

    def _open(self) -> list[tuple[str, str]]:
        found = [(r.kind, f"{r.instruction}.{r.target}") for r in self._judged("open")]
        return list(dict.fromkeys(found))

    @property
    def misnamed(self) -> list[Result]:
        """Attacks that were refused by an unexpected name."""
        return self._judged("misnamed")

    def _judged(self, verdict: Verdict) -> list[Result]:
        return [result for result in self.results if result.verdict == verdict]

    @property
    def fine(self) -> bool:
        """Every instruction was attacked or left out on purpose, and withstood."""
        return not self.not_attacked and all(r.fine for r in self.results)

    @property
    def instructions(self) -> list[str]:
        """The instructions that were attacked, in order."""
        return list(dict.fromkeys(r.instruction for r in self.results))


def attack_program(
    program: Program,
    elf: bytes,
    *,
    program_id: Pubkey | None = None,
    scenario: Scenario | None = None,
    only: Collection[str] = (),
    features: str = "default",
    token_program: Pubkey = TOKEN_PROGRAM,
    progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Attack the instructions of *program*, whose compiled form is *elf*, each on a chain of its own.

    *only*: names of instructions; all if empty. *token_program*: the one for mints and token accounts if the program
    takes both. *features*: "all" for programs that are built with the standard library. Raises SourceError for a
    scenario that cannot be used, UnknownName, TransportError for bytes that are not a program.
    """
    scenario = scenario or Scenario()
    key = program_id or program.address or _made_up_id(program.name)
    names = [program.instruction(name).name for name in only] or program.instructions
    report = Report(program.name, key, features)

    scene = partial(
        Scene, program, key, elf, features=features, token_program=token_program
    )
    for name in names:
        if name in scenario.skip:
            report.skipped[name] = scenario.skip[name]
            continue
        progress(f"attacking {program.name}.{name}")
        try:
            _attack_instruction(report, scene, program, name, scenario)
        except NoBaseline as error:
            report.not_attacked[name] = str(error)
    return report


def _made_up_id(name: str) -> Pubkey:
    return Pubkey(sha256(b"mcpsol attack: " + name.encode()).digest())


def _attack_instruction(
    report: Report,
    scene: Callable[[], Scene],
    program: Program,
    name: str,
    scenario: Scenario,
) -> None:
    """Add one instruction's results to *report*. Raises NoBaseline."""
    if only_itself(program.instruction(name).model) is not None:
        base = made_up(scene(), name)
        attacks = own_call_attacks(base)
    else:
        base = find_baseline(scene, name, scenario.calls.get(name))
        attacks = _attacks(base, report)
    judge = Judge(base, name, scenario)
    report.results += list(map(judge.run, attacks))


def _attacks(base: Baseline, report: Report) -> Iterator[Attack]:
    """Yield the attacks on an instruction, and once for each program the unknown instructions."""
    yield from attacks_on(base)
    if all(result.kind != "unknown-instruction" for result in report.results):
        yield from unknown_instructions(base)
