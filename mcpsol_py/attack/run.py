"""Runs every attack on every instruction, and says how each ended."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Literal

from solders.pubkey import Pubkey

from mcpsol_py.attack.baseline import Baseline, NoBaseline, find_baseline, made_up
from mcpsol_py.attack.expect import ANCHOR_SAYS, failure_name
from mcpsol_py.attack.kinds import Attack, attacks_on, own_call_attacks, unknown_instructions
from mcpsol_py.attack.sandbox import Call, Scene
from mcpsol_py.errors import MissingSigner, SourceError, UnknownName
from mcpsol_py.model.check import only_itself
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import TOKEN_PROGRAM

__all__ = ["Report", "Result", "Scenario", "Verdict", "attack_program", "read_scenario"]

#: refused: by the right name, nothing changed. held: what must (or may) go through did, and all was right after it.
#: open: it went through, and whether it may is for the author to say. misnamed: refused, but by no right name. hole: it
#: went through where it must not, or something was wrong after it.
Verdict = Literal["refused", "held", "open", "misnamed", "hole"]

#: What the SVM says when it stops a program, not the program: no check of the program's refused the call.
_STOPPED = (
    "ProgramFailedToComplete",
    "ComputationalBudgetExceeded",
    "ProgramEnvironmentSetupFailure",
    "AccountDataTooSmall",
    "ExternalAccountDataModified",
    "ExternalAccountLamportSpend",
    "ReadonlyDataModified",
    "ReadonlyLamportChange",
    "UnbalancedInstruction",
    "ModifiedProgramId",
    "PrivilegeEscalation",
    "AccountBorrowFailed",
    "InsufficientFundsForRent",
)


@dataclass(frozen=True, slots=True)
class Result:
    """How one attack ended. `got`: the error's name, "" if it went through; `changed`: accounts that are not as before
    although it was refused; `wrong`: what was wrong after it went through."""

    instruction: str
    kind: str
    target: str
    what: str
    expected: tuple[str, ...]
    got: str
    verdict: Verdict
    changed: tuple[str, ...] = ()
    wrong: str = ""

    @property
    def fine(self) -> bool:
        """The program stood it."""
        return self.verdict in ("refused", "held", "open")

    def __str__(self) -> str:
        wanted = " or ".join(self.expected) or "to go through"
        head = f"{self.instruction}: {self.kind}: {self.target} {self.what}"
        if self.verdict == "hole":
            why = self.wrong or (
                f"{', '.join(self.changed)} changed" if self.changed else "it went through"
            )
            return f"{head}: {why}; expected {wanted}"
        return f"{head}: {self.got or 'it went through'}; expected {wanted}"


@dataclass
class Report:
    """All that was tried, and where the program ran. `not_attacked`: instruction -> why no good call of it was found;
    `skipped`: instruction -> why the scenario leaves it out."""

    program: str
    program_id: Pubkey
    features: str = "default"
    results: list[Result] = field(default_factory=list)
    not_attacked: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def holes(self) -> list[Result]:
        """Attacks that went through, or left something wrong."""
        return [r for r in self.results if r.verdict == "hole"]

    @property
    def unbound(self) -> list[str]:
        """Accounts that anyone's may stand for, as "instruction.account"."""
        return [f"{r.instruction}.{r.target}" for r in self.results if r.verdict == "open"]

    @property
    def misnamed(self) -> list[Result]:
        """Attacks that were refused, by no name that their constraint gives."""
        return [r for r in self.results if r.verdict == "misnamed"]

    @property
    def fine(self) -> bool:
        """Every instruction was attacked (or left out on purpose), and none gave way."""
        return not self.not_attacked and all(r.fine for r in self.results)

    @property
    def instructions(self) -> list[str]:
        """The instructions that were attacked, in order."""
        return list(dict.fromkeys(r.instruction for r in self.results))


@dataclass(frozen=True)
class Scenario:
    """What a scenario file says: functions that give good calls, by instruction; errors of the handlers' own that an
    attack may be refused by ({"pay re-init": "AlreadyPaid"}); instructions that are left out, with the reason."""

    calls: Mapping[str, Callable[[Scene], Call]] = field(default_factory=dict)
    expect: Mapping[str, str | Collection[str]] = field(default_factory=dict)
    skip: Mapping[str, str] = field(default_factory=dict)


def read_scenario(path: Path, program: Program) -> Scenario:
    """A scenario file: a Python module whose public functions are named as instructions; EXPECT and SKIP are dicts.

    Raises SourceError, also for a function or a key that names no instruction.
    """
    module = _imported(path)
    names = set(program.instructions)
    calls = {
        name: value
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and not isinstance(value, type)
    }
    expect, skip = dict(getattr(module, "EXPECT", {})), dict(getattr(module, "SKIP", {}))
    for name in [*calls, *(key.split()[0] for key in expect if key.split()), *skip]:
        if name not in names:
            error = UnknownName("instruction", name, program.instructions)
            raise SourceError(f"{error} Helpers begin with an underscore.", origin=str(path))
    return Scenario(calls, expect, skip)


def _imported(path: Path) -> ModuleType:
    name = f"mcpsol_attack_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None or not path.is_file():
        raise SourceError("there is no such Python file", origin=str(path))
    module = importlib.util.module_from_spec(found)
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.modules[name] = module  # dataclasses in it look their module up
    try:
        found.loader.exec_module(module)
    except SourceError:
        raise
    except Exception as error:  # a scenario is the user's code: it may raise anything
        raise SourceError(
            f"the scenario raised {type(error).__name__}: {error}", origin=str(path)
        ) from error
    finally:
        sys.dont_write_bytecode = before
        sys.modules.pop(name, None)
    return module


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
    """Attacks every instruction of *program*, whose compiled form is *elf*, on chains of its own.

    *only*: names of instructions. *token_program*: whose mints and token accounts are made for a program that takes
    both. *features*: "all" for programs that are built with the standard library. Raises SourceError for a scenario
    that cannot be used, UnknownName, TransportError for bytes that are no program.
    """
    scenario = scenario or Scenario()
    key = program_id or program.address
    if key is None:
        key = Pubkey(sha256(b"mcpsol attack: " + program.name.encode()).digest())
    names = [program.instruction(name).name for name in only] or program.instructions
    report = Report(program.name, key, features)

    def scene() -> Scene:
        return Scene(program, key, elf, features=features, token_program=token_program)

    unknown_done = False
    for name in names:
        if name in scenario.skip:
            report.skipped[name] = scenario.skip[name]
            continue
        progress(f"attacking {program.name}.{name}")
        own = only_itself(program.instruction(name).model) is not None
        try:
            base = (
                made_up(scene(), name)
                if own
                else find_baseline(scene, name, scenario.calls.get(name))
            )
        except NoBaseline as error:
            report.not_attacked[name] = str(error)
            continue
        attacks = own_call_attacks(base) if own else attacks_on(base)
        judge = _Judge(base, name, scenario)
        report.results += [judge.run(attack) for attack in attacks]
        if not unknown_done and not own:
            report.results += [judge.run(attack) for attack in unknown_instructions(base)]
            unknown_done = True
    return report


class _Judge:
    """Runs attacks from one baseline, and puts the chain back after each."""

    def __init__(self, base: Baseline, name: str, scenario: Scenario) -> None:
        self.base = base
        self.name = name
        self.scenario = scenario
        self.scene = base.scene
        #: Anchor logs the name of each instruction; some checks it leaves to the programs that it calls
        self.anchor = any(
            line.startswith("Program log: Instruction: ") for line in base.outcome.logs
        )

    def run(self, attack: Attack) -> Result:
        scene, trial = self.scene, attack.trial
        keys = {
            m.pubkey for transaction in trial.transactions for i in transaction for m in i.accounts
        }
        put_back = scene.snapshot({*keys, *trial.accounts})
        try:
            for key, account in trial.accounts.items():
                scene.restore({key: account})
            for transaction in trial.transactions[:-1]:
                first = scene.run(transaction)
                if not first.ok:
                    got = failure_name(scene.program.model, str(scene.program_id), first)
                    return self._result(
                        attack, got, "misnamed", wrong="the good call before it failed"
                    )
            before = scene.snapshot(keys)
            try:
                outcome = scene.run(trial.transactions[-1])
            except MissingSigner as error:
                return self._result(attack, str(error), "misnamed")
            got = failure_name(scene.program.model, str(scene.program_id), outcome)
            changed = tuple(str(k) for k, account in before.items() if scene.account(k) != account)
            wrong = trial.after() if outcome.ok and trial.after is not None else ""
        finally:
            scene.restore(put_back)
        return self._result(
            attack, got, self._verdict(attack, got, changed, wrong), changed if got else (), wrong
        )

    def _verdict(self, attack: Attack, got: str, changed: Iterable[str], wrong: str) -> Verdict:
        if not got and attack.open_is_fine:
            return "open"
        if not got:
            return "held" if (attack.may_pass or not attack.expected) and not wrong else "hole"
        if list(changed):
            return "hole"
        if attack.may_pass:
            return "misnamed" if got.startswith(_STOPPED) else "refused"
        return "refused" if got in self._accepted(attack) else "misnamed"

    def _accepted(self, attack: Attack) -> set[str]:
        names = set(attack.expected)
        for key, value in self.scenario.expect.items():
            if key in (
                f"{self.name} {attack.kind}",
                f"{self.name} {attack.kind} {attack.target}",
            ):
                names |= {value} if isinstance(value, str) else set(value)
        if self.anchor and attack.expected:
            names |= set(ANCHOR_SAYS.get(attack.kind, ()))
        return names

    def _result(
        self,
        attack: Attack,
        got: str,
        verdict: Verdict,
        changed: tuple[str, ...] = (),
        wrong: str = "",
    ) -> Result:
        expected = tuple(sorted(self._accepted(attack)))
        return Result(
            self.name,
            attack.kind,
            attack.target,
            attack.what,
            expected,
            got,
            verdict,
            changed,
            wrong,
        )
