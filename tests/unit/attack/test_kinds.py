"""What an attack is prepared of: the one thing that is changed, and all that must go along with it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.attack.baseline import Baseline, find_baseline
from mcpsol_py.attack.kinds import Attack, attacks_on
from mcpsol_py.attack.sandbox import Scene

REPO = Path(__file__).resolve().parents[3]


@cache
def base(program: str, name: str) -> Baseline:
    loaded = load(REPO / f"programs/{program}/spec.py")
    elf = (REPO / f"programs/{program}/{program}.so").read_bytes()
    key = loaded.address
    assert key is not None
    return find_baseline(lambda: Scene(loaded, key, elf), name, None)


def attacks(program: str, name: str, kind: str, target: str) -> list[Attack]:
    return [
        a
        for a in attacks_on(base(program, name))
        if (a.kind, a.target) == (kind, target)
    ]


def test_what_is_derived_from_a_moved_account_is_moved_along() -> None:
    """The vault elsewhere: its tokens stand where the new address puts them, and name it as their owner."""
    good = base("vault", "withdraw")
    [elsewhere] = attacks("vault", "withdraw", "wrong-address", "vault")
    [call] = elsewhere.trial.transactions[-1]
    vault, tokens = call.accounts[0].pubkey, call.accounts[1].pubkey
    assert vault != good.addresses[0]
    assert (
        tokens
        == Pubkey.find_program_address(
            [b"tokens", bytes(vault)], good.scene.program_id
        )[0]
    )
    placed = elsewhere.trial.accounts
    assert set(placed) == {vault, tokens}
    there = placed[tokens]
    assert there is not None
    assert bytes(there.data)[32:64] == bytes(vault)
    state = placed[vault]
    assert state is not None
    before = good.scene.svm.get_account(good.addresses[0])
    assert before is not None
    assert bytes(state.data) == bytes(before.data)
    assert [m.pubkey for m in call.accounts[2:]] == good.addresses[2:]


def test_another_bump_is_off_the_curve_and_not_the_first() -> None:
    good = base("counter", "increment")
    [second] = attacks("counter", "increment", "other-bump", "counter")
    at = second.trial.transactions[-1][0].accounts[0].pubkey
    seeds = [b"counter", bytes(good.addresses[1])]
    first, bump = Pubkey.find_program_address(seeds, good.scene.program_id)
    assert first == good.addresses[0]
    made = []
    for other in range(bump - 1, -1, -1):
        try:
            made.append(
                Pubkey.create_program_address(
                    [*seeds, bytes([other])], good.scene.program_id
                )
            )
        except Exception:  # noqa: BLE001  # solders names the class of a point on the curve nowhere
            continue
        break
    assert made == [at]


def test_a_forged_field_is_the_only_byte_range_that_differs() -> None:
    good = base("counter", "increment")
    [forged] = attacks("counter", "increment", "has-one", "counter")
    account = forged.trial.accounts[good.addresses[0]]
    true = good.scene.account(good.addresses[0])
    assert account is not None
    assert true is not None
    differs = [
        i
        for i, (a, b) in enumerate(
            zip(bytes(account.data), bytes(true.data), strict=True)
        )
        if a != b
    ]
    assert differs
    assert set(differs) <= set(range(8, 40))  # State.authority
    assert (account.owner, account.lamports) == (true.owner, true.lamports)


def test_data_is_cut_at_every_byte() -> None:
    cuts = [
        len(a.trial.transactions[-1][0].data)
        for a in attacks("counter", "increment", "truncated-data", "data")
    ]
    assert sorted(cuts) == [*range(7, 16)]


def test_each_flag_is_taken_by_itself() -> None:
    good = base("vault", "initialize")
    for attack in (
        a for a in attacks_on(good) if a.kind in ("missing-signer", "not-writable")
    ):
        [call] = attack.trial.transactions[-1]
        changed = [
            (i, now.is_signer != was.is_signer, now.is_writable != was.is_writable)
            for i, (now, was) in enumerate(
                zip(call.accounts, good.metas(), strict=True)
            )
            if now != was
        ]
        [(index, signs, writes)] = changed
        assert good.leaves[index].name == attack.target
        assert (signs, writes) == (
            attack.kind == "missing-signer",
            attack.kind == "not-writable",
        )


@pytest.mark.parametrize(
    ("program", "name"),
    [("counter", "close"), ("vault", "deposit"), ("vault", "initialize")],
)
def test_every_attack_differs_from_the_good_call(program: str, name: str) -> None:
    good = base(program, name)
    for attack in attacks_on(good):
        last = attack.trial.transactions[-1]
        same = (
            last == (good.call(),)
            and not attack.trial.accounts
            and len(attack.trial.transactions) == 1
        )
        # the good call itself stands for what it must leave behind: a close's lamports, an argument that is 1
        assert (
            not same
            or (attack.kind, attack.what) == ("arithmetic", "is 1")
            or attack.kind == "close"
        ), attack


def test_the_same_attacks_each_time() -> None:
    first, again = (
        [
            (a.kind, a.target, a.what, a.expected)
            for a in attacks_on(base("vault", "deposit"))
        ]
        for _ in "12"
    )
    assert first == again
