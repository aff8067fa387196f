"""Unusual bodies: rustc and clippy find nothing in them, and Python and the SVM agree."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from tests.long.bodies import clippy
from tests.support.oracle import Oracle
from tests.support.random_programs import built_from

pytestmark = pytest.mark.rust

SPEC = Path(__file__).with_name("corners_spec.py")
AMOUNTS = (0, 3, 7, 2**64 - 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corners")


@pytest.fixture(scope="module")
def oracle(folder: Path, no_std_toolchain: Toolchain) -> Oracle:
    return built_from(SPEC, folder)


def test_python_and_the_svm_agree(oracle: Oracle) -> None:
    r = random.Random(7)
    owner, box, data = oracle.wallet(), Pubkey.new_unique(), Pubkey.new_unique()
    one, two = oracle.wallet().pubkey(), oracle.wallet().pubkey()
    for _ in range(40):
        total, amount = r.choice(AMOUNTS), r.choice(AMOUNTS)
        kept = r.randbytes(r.choice([0, 9, 1025, 1200]))
        oracle.put_data(data, one, r.choice([kept, bytes(len(kept))]))
        calls: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
            "exchange": ({}, {"left": total, "right": amount}),
            "unnamed": ({}, {"amount": amount}),
            "counted": ({}, {"numbers": r.choices(AMOUNTS, k=r.randint(0, 3))}),
            "octets": (
                {},
                {
                    "numbers": list(r.randbytes(r.randint(0, 3))),
                    "least": r.randint(0, 255),
                },
            ),
            "whose": (
                {},
                {"keys": r.choices([one, two], k=3), "who": r.choice([None, one])},
            ),
            "parted": (
                {},
                {"who": one, "by": r.choice([0, 3]), "is_counted": amount == 0},
            ),
            "named": ({}, {"amount": amount}),
            "noted": ({"box": box}, {"amount": amount}),
            "hashed": ({}, {"who": one, "is_empty": r.random() < 0.3}),
            "marked": (
                {"box": box},
                {"mark": r.randbytes(32), "is_old": r.random() < 0.5},
            ),
            "take": ({"box": box, "owner": one}, {"amount": amount}),
            "leave": ({"box": box, "one": one, "two": two}, {}),
            "copies": ({"data": data, "signer": owner.pubkey()}, {}),
        }
        for name, (accounts, args) in calls.items():
            oracle.put_state(box, "Box", total=total, mark=r.randbytes(32))
            oracle.call(name, accounts, args, *([owner] if name == "copies" else []))
    wanted = {"", "Empty", "ArithmeticOverflow", "AccountDidNotDeserialize"}
    assert set(oracle.errors) == wanted


@pytest.mark.usefixtures("oracle")
def test_clippy_finds_nothing(folder: Path) -> None:
    assert not clippy(folder / "crate", "pinocchio")
