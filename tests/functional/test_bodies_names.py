"""Random bodies whose accounts, arguments, fields and helpers have names that mean something in the crate."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.build.toolchain import Toolchain
from tests.long.bodies import clippy
from tests.support import random_programs
from tests.support.random_bodies import ODD_NAMES, spec_text

pytestmark = pytest.mark.rust

#: The names in random specs that stand for no word of the language, and that no text of the spec quotes.
NAMES = """
other spare tokens purse stash interface coin shown coins change thing blob wallet sysvar this extra aide pot
nest nester associated_program crowd who flag mode pair mark maybe deep guest mood twin sure pairs numbers keys
bits raw share larger must_differ mode_of total pair_of reset weight weights scored rescore seen may_take
held_by or_else mode_or guest_of knows kept sum_of mixed share_of_one stage score heir most held f_u8 f_u16
f_u64 f_i64 f_u128 gain last left right best is_last
"""
#: More names that mean something in a crate than those that random bodies give to variables.
MORE = """
iter encode decode load_mut invoke process instructions entrypoint list_tools log codec types into clone copied
next some clock rent sysvars now size space name authority other_state item_data it_2 value_2 remaining_accounts
to_account_info key is_signer is_writable executable try_borrow accounts_2 args_2
"""


def renamed(value: Any, names: dict[str, str]) -> Any:
    """The same values under other names, in dicts of any depth."""
    if isinstance(value, dict):
        return {
            names.get(key, key): renamed(item, names) for key, item in value.items()
        }
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    return value


@pytest.mark.parametrize("seed", [12, 41])
def test_python_and_the_svm_agree_whatever_the_names_are(
    seed: int,
    tmp_path: Path,
    no_std_toolchain: Toolchain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    r = random.Random(seed)
    text = spec_text(seed, bodies=8)
    taken = set(re.findall(r"\w+", text))
    odd = [name for name in (ODD_NAMES + MORE).split() if name.islower()]
    free = [name for name in odd if name not in taken]
    names = dict(
        zip(
            r.sample(NAMES.split(), len(free) // 2),
            r.sample(free, len(free) // 2),
            strict=True,
        )
    )
    head, start, rest = text.partition("\n\nADDRESS")  # the imports keep their names
    rest = re.sub(r"\b\w+\b", lambda found: names.get(found[0], found[0]), rest)
    (tmp_path / "spec.py").write_text(head + start + rest, encoding="utf-8")

    oracle = random_programs.built(tmp_path)
    call, put_state = oracle.call, oracle.put_state
    monkeypatch.setattr(
        oracle,
        "call",
        lambda name, accounts, args, *signers, **more: call(
            name, renamed(accounts, names), renamed(args, names), *signers, **more
        ),
    )
    monkeypatch.setattr(
        oracle,
        "put_state",
        lambda key, name, **fields: put_state(key, name, **renamed(fields, names)),
    )
    assert not random_programs.differences(oracle, seed, calls=50)
    assert oracle.errors[""] > 50
    assert not clippy(tmp_path / "crate", "pinocchio")
