"""Runs attacks from one good call and says how each ended. The chain is put back after each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Literal

from solders.pubkey import Pubkey

from mcpsol_py.attack.expect import ANCHOR_SAYS, failure_name
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.kinds import Attack, Trial
from mcpsol_py.attack.sandbox import Outcome
from mcpsol_py.attack.scenario import Scenario
from mcpsol_py.errors import MissingSigner

__all__ = ["Judge", "Result", "Verdict"]

#: refused: by an expected name, and nothing changed. held: the call succeeded, as it must or may, and all is right
#: afterwards. open: the call succeeded; the author decides whether it may. misnamed: refused by another name. hole: the
#: call must not succeed and did, or something is wrong afterwards.
Verdict = Literal["refused", "held", "open", "misnamed", "hole"]

#: Errors of the SVM itself: no check of the program refused the call.
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
    """How one attack ended.

    `got`: the error's name, "" if the call succeeded. `changed`: accounts that changed although the call was refused.
    `wrong`: the fault found after the call succeeded.
    """

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
        """The program withstood the attack."""
        return self.verdict in ("refused", "held", "open")

    def __str__(self) -> str:
        wanted = " or ".join(self.expected) or "to go through"
        return (
            f"{self.instruction}: {self.kind}: {self.target} {self.what}: {self._end()};"
            f" expected {wanted}"
        )

    def _end(self) -> str:
        if self.verdict != "hole":
            return self.got or "it went through"
        if self.wrong:
            return self.wrong
        if self.changed:
            return f"{', '.join(self.changed)} changed"
        return "it went through"


@dataclass(frozen=True, slots=True)
class _End:
    """How a trial ended. `fault`: the trial itself could not be carried out."""

    got: str
    changed: tuple[str, ...] = ()
    wrong: str = ""
    fault: bool = False


class Judge:
    """Runs attacks from one good call, and puts the chain back after each."""

    def __init__(self, base: Baseline, name: str, scenario: Scenario) -> None:
        self.base = base
        self.name = name
        self.scenario = scenario
        self.scene = base.scene
        # only Anchor logs the name of each instruction
        logged = [
            line.startswith("Program log: Instruction: ") for line in base.outcome.logs
        ]
        self.is_anchor = any(logged)

    def run(self, attack: Attack) -> Result:
        """Run one attack."""
        end = self._try(attack.trial)
        accepted = self._accepted(attack)
        return Result(
            instruction=self.name,
            kind=attack.kind,
            target=attack.target,
            what=attack.what,
            expected=tuple(sorted(accepted)),
            got=end.got,
            verdict=self._verdict(attack, end, accepted),
            changed=end.changed,
            wrong=end.wrong,
        )

    def _verdict(self, attack: Attack, end: _End, accepted: set[str]) -> Verdict:
        succeeded = not end.got and not end.fault
        names = (self.name, attack.kind, attack.target)
        if succeeded and end.wrong and self.scenario.allows(*names):
            return "open"
        return _verdict(attack, end, accepted)

    def _try(self, trial: Trial) -> _End:
        keys = _keys(trial)
        put_back = self.scene.snapshot(keys.union(trial.accounts))
        try:
            self.scene.restore(trial.accounts)
            for transaction in trial.transactions[:-1]:
                good = self.scene.run(transaction)
                if not good.ok:
                    wrong = "the good call before it failed"
                    return _End(self._failure(good), wrong=wrong, fault=True)
            return self._attempt(trial, keys)
        finally:
            self.scene.restore(put_back)

    def _attempt(self, trial: Trial, keys: set[Pubkey]) -> _End:
        """Send the attack itself."""
        before = self.scene.snapshot(keys)
        try:
            outcome = self.scene.run(trial.transactions[-1])
        except MissingSigner as error:
            return _End(str(error), fault=True)
        if outcome.ok:
            return _End("", wrong=trial.after() if trial.after is not None else "")
        changed = [
            key for key, account in before.items() if self.scene.account(key) != account
        ]
        return _End(self._failure(outcome), tuple(map(str, changed)))

    def _failure(self, outcome: Outcome) -> str:
        return failure_name(
            self.scene.program.model, str(self.scene.program_id), outcome
        )

    def _accepted(self, attack: Attack) -> set[str]:
        """Return the names of all errors that may refuse an attack."""
        names = self.scenario.expected(self.name, attack.kind, attack.target)
        names.update(attack.expected)
        if self.is_anchor and attack.expected:
            names.update(ANCHOR_SAYS.get(attack.kind, ()))
        return names


def _keys(trial: Trial) -> set[Pubkey]:
    instructions = chain.from_iterable(trial.transactions)
    metas = chain.from_iterable(each.accounts for each in instructions)
    return {meta.pubkey for meta in metas}


def _verdict(attack: Attack, end: _End, accepted: set[str]) -> Verdict:
    if end.fault:
        return "misnamed"
    if not end.got:
        return _success(attack, end.wrong)
    if end.changed:
        return "hole"
    is_named = end.got in accepted
    if attack.may_pass:
        is_named = not end.got.startswith(_STOPPED)
    return "refused" if is_named else "misnamed"


def _success(attack: Attack, wrong: str) -> Verdict:
    """Judge a call that succeeded."""
    if wrong:
        return "hole"
    if attack.open_is_fine:
        return "open"
    if attack.may_pass or not attack.expected:
        return "held"
    return "hole"
