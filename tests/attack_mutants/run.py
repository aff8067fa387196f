"""Attacks a program without one check at a time, and says by which attack each missing check was reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

from solders.pubkey import Pubkey

import mcpsol_py.attack
from mcpsol_py import load
from mcpsol_py.attack import Report, attack_program
from mcpsol_py.attack.run import Scenario, read_scenario
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from tests.attack_mutants.crates import PROGRAMS, Built
from tests.attack_mutants.sites import Mutant

__all__ = ["Attacker", "Found", "attacker", "digest", "run"]


@dataclass(frozen=True, slots=True)
class Found:
    """How attack reported a mutant; `by` is empty if it did not."""

    mutant: Mutant
    by: str


@dataclass
class Attacker:
    """Attacks the mutants of one program."""

    program: Program
    scenario: Scenario
    built: Built

    def __post_init__(self) -> None:
        self._whole: dict[tuple[str, Pubkey], Report] = {}

    def judge(self, mutant: Mutant) -> str:
        """What attack reports of *mutant* and not of the whole program; "" for nothing."""
        names = (
            [mutant.instruction] if mutant.instruction else self.program.instructions
        )
        for token_program in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
            for name in names:
                whole, found = self._both(mutant.number, name, token_program)
                for what in _faults(found):
                    if what not in set(_faults(whole)):
                        return what
        return ""

    def _both(
        self, number: int, name: str, token_program: Pubkey
    ) -> tuple[Report, Report]:
        attack = partial(
            attack_program,
            self.program,
            scenario=self.scenario,
            only=[name],
            token_program=token_program,
        )
        key = (name, token_program)
        if key not in self._whole:
            self._whole[key] = attack(elf=self.built.without(0))
        return self._whole[key], attack(elf=self.built.without(number))


def _faults(report: Report) -> Iterator[str]:
    """All that a person sees in a report: attacks that were not withstood, what is listed, calls that fail."""
    for result in report.results:
        if not result.fine or result.verdict == "open":
            yield f"{result.verdict} {result.kind} {result.instruction}.{result.target}"
    for name in report.not_attacked:
        yield f"not attacked {name}"


def attacker(program: str, built: Built) -> Attacker:
    """The attacker of a bundled program, with its scenario."""
    loaded = load(PROGRAMS / program / "spec.py")
    file = PROGRAMS / program / "attack.py"
    scenario = read_scenario(file, loaded) if file.is_file() else Scenario()
    return Attacker(loaded, scenario, built)


def run(program: str, built: Built, memory: Path) -> Iterator[Found]:
    """Judge each mutant. *memory* keeps what is known, so that a run that was stopped goes on."""
    known: dict[str, str] = json.loads(memory.read_text()) if memory.is_file() else {}
    attacks = attacker(program, built)
    for mutant in built.mutants:
        number = str(mutant.number)
        if number not in known:
            known[number] = attacks.judge(mutant)
            memory.parent.mkdir(parents=True, exist_ok=True)
            memory.write_text(json.dumps(known))
        yield Found(mutant, known[number])


def digest(program: str, built: Built) -> str:
    """Of all that a result depends on: the compiled program, the scenario and the attacks."""
    folder = PROGRAMS / program
    code = sorted(Path(mcpsol_py.attack.__path__[0]).rglob("*.py"))
    found = sha256(built.elf)
    for file in (*code, folder / "spec.py", folder / "attack.py"):
        found.update(file.read_bytes() if file.is_file() else b"")
    return found.hexdigest()[:16]
