"""Verdicts, scenario files, and that the chain is put back after each attack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.attack.baseline import find_baseline
from mcpsol_py.attack.judge import Judge
from mcpsol_py.attack.kinds import Attack, Trial, attacks_on
from mcpsol_py.attack.run import Scenario, attack_program, read_scenario
from mcpsol_py.attack.sandbox import Scene
from mcpsol_py.errors import SourceError, UnknownName

REPO = Path(__file__).resolve().parents[3]
COUNTER = REPO / "programs/counter"


def judge(name: str, scenario: Scenario | None = None) -> Judge:
    program = load(COUNTER / "spec.py")
    elf = (COUNTER / "counter.so").read_bytes()
    assert program.address is not None
    key = program.address
    return Judge(
        find_baseline(lambda: Scene(program, key, elf), name, None),
        name,
        scenario or Scenario(),
    )


def attack(
    of: Judge, expected: str, *, may_pass: bool = False, wrong: str | None = None
) -> Attack:
    """The good call itself, as if it were an attack."""
    trial = Trial(((of.base.call(),),), {}, None if wrong is None else lambda: wrong)
    return Attack(
        "kind", "target", "what", frozenset({expected} - {""}), trial, may_pass
    )


def test_what_goes_through_and_must_not_is_a_hole() -> None:
    of = judge("increment")
    result = of.run(attack(of, "ConstraintSeeds"))
    assert (result.verdict, result.got, result.fine) == ("hole", "", False)
    assert (
        str(result)
        == "increment: kind: target what: it went through; expected ConstraintSeeds"
    )


def test_what_must_go_through_is_looked_at_afterwards() -> None:
    of = judge("increment")
    assert of.run(attack(of, "", wrong="")).verdict == "held"
    bad = of.run(attack(of, "", wrong="a token is gone"))
    assert (bad.verdict, bad.wrong) == ("hole", "a token is gone")


def test_a_refusal_counts_by_its_name_only() -> None:
    of = judge("increment")
    call = of.base.call()
    [unsigned] = [a for a in attacks_on(of.base) if a.kind == "missing-signer"]
    assert of.run(unsigned).verdict == "refused"
    assert (
        of.run(replace(unsigned, expected=frozenset({"ConstraintSeeds"}))).verdict
        == "misnamed"
    )
    assert (
        of.run(
            replace(unsigned, expected=frozenset({"ConstraintSeeds"}), may_pass=True)
        ).verdict
        == "refused"
    )
    assert call == of.base.call()


def test_a_scenario_may_name_the_handlers_own_error() -> None:
    for key in ("increment missing-signer", "increment missing-signer authority"):
        of = judge("increment", Scenario(expect={key: ["Other", "AccountNotSigner"]}))
        [unsigned] = [a for a in attacks_on(of.base) if a.kind == "missing-signer"]
        assert (
            of.run(replace(unsigned, expected=frozenset({"ConstraintSeeds"}))).verdict
            == "refused"
        )
    of = judge(
        "increment",
        Scenario(expect={"increment missing-signer counter": "AccountNotSigner"}),
    )
    assert (
        of.run(replace(unsigned, expected=frozenset({"ConstraintSeeds"}))).verdict
        == "misnamed"
    )


@pytest.mark.parametrize("name", ["initialize", "increment", "close"])
def test_the_chain_is_as_before_after_each_attack(name: str) -> None:
    of = judge(name)
    scene = of.scene
    seen: set[Pubkey] = {m.pubkey for m in of.base.metas()}
    before = scene.snapshot(seen)
    for each in attacks_on(of.base):
        new = {
            m.pubkey for t in each.trial.transactions for i in t for m in i.accounts
        } | set(each.trial.accounts)
        before |= scene.snapshot(new - set(before))
        of.run(each)
        assert scene.snapshot(before) == {
            k: v for k, v in before.items() if k != scene.payer.pubkey()
        }, each
    assert scene.rehearse([of.base.call()]).ok


def test_a_refusal_after_which_something_changed_is_a_hole() -> None:
    """What the SVM does not allow is made here: the account changes while the refused call runs."""
    of = judge("increment")
    [unsigned] = [a for a in attacks_on(of.base) if a.kind == "missing-signer"]
    run = of.scene.run
    victim = of.base.addresses[0]

    def meddling(instructions: object) -> object:
        outcome = run(instructions)  # type: ignore[arg-type]  # as it came
        of.scene.svm.set_account(victim, Account(5, b"", Pubkey.default()))
        return outcome

    of.scene.run = meddling  # type: ignore[assignment,method-assign]  # what the test is about
    result = of.run(unsigned)
    assert (result.verdict, result.changed) == ("hole", (str(victim),))


# --- scenario files ---------------------------------------------------------------------------------------------------


def test_helpers_and_imports_are_no_calls(tmp_path: Path) -> None:
    file = tmp_path / "attack.py"
    file.write_text(
        "from mcpsol_py.attack import Call, Scene\nfrom os.path import join as close\n\n"
        "class Thing: ...\n\ndef _helper(): ...\n\ndef increment(scene): return Call()\n",
        encoding="utf-8",
    )
    scenario = read_scenario(file, load(COUNTER / "spec.py"))
    assert list(scenario.calls) == ["increment"]
    assert not (tmp_path / "__pycache__").exists()


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read_scenario(tmp_path / "attack.py", load(COUNTER / "spec.py"))


def test_only_what_was_asked_for() -> None:
    program, elf = load(COUNTER / "spec.py"), (COUNTER / "counter.so").read_bytes()
    assert attack_program(program, elf, only=["Close"]).instructions == ["close"]
    with pytest.raises(UnknownName, match="Did you mean 'close'"):
        attack_program(program, elf, only=["closed"])


def test_what_the_author_allows_is_listed_and_no_other_hole() -> None:
    allowed = Scenario(allow={"increment unbound target": "on purpose"})
    of = judge("increment", allowed)
    taken = replace(attack(of, "", wrong="a stranger got it"), kind="unbound")
    assert (of.run(taken).verdict, of.run(taken).fine) == ("open", True)
    assert of.run(replace(taken, target="other")).verdict == "hole"
    assert of.run(replace(taken, kind="close")).verdict == "hole"
    assert judge("increment").run(taken).verdict == "hole"
