"""The name of a refusal, from what programs and the SVM say."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.transaction_status import (
    InstructionErrorCustom,
    InstructionErrorFieldless,
    TransactionErrorFieldless,
    TransactionErrorInstructionError,
)

from mcpsol_py import load
from mcpsol_py.attack.expect import failure_name
from mcpsol_py.attack.sandbox import Outcome

MODEL = load(Path(__file__).resolve().parents[3] / "programs/counter/spec.py").model
OURS = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"


def custom(code: int) -> TransactionErrorInstructionError:
    return TransactionErrorInstructionError(0, InstructionErrorCustom(code))


@pytest.mark.parametrize(
    ("error", "logs", "name"),
    [
        (None, ["Program log: Overflow (6000): not really"], ""),
        (custom(2001), ["Program log: ConstraintHasOne (2001): A field names another"], "ConstraintHasOne"),
        (custom(2001), [], "ConstraintHasOne"),
        (custom(6000), [], "Overflow"),
        (custom(77), [], "Custom(77)"),
        (custom(3012), ["Program log: AnchorError … Error Code: AccountNotInitialized. …"], "AccountNotInitialized"),
        (custom(0), ["Allocate: account Address { address: x } already in use"], "already in use"),
        (custom(1), [f"Program {TOKEN} failed: no funds", f"Program {OURS} failed: custom"], "SPL Token: no funds"),
        (custom(1), [f"Program {OURS} failed: custom program error: 0x1"], "Custom(1)"),
        (TransactionErrorFieldless.AccountNotFound, [], "AccountNotFound"),
    ],
)  # fmt: skip
def test_names(error: object, logs: list[str], name: str) -> None:
    assert failure_name(MODEL, OURS, Outcome(error, tuple(logs))) == name


def test_the_svms_own() -> None:
    error = TransactionErrorInstructionError(
        0, InstructionErrorFieldless.ProgramFailedToComplete
    )
    assert failure_name(MODEL, OURS, Outcome(error, ())) == "ProgramFailedToComplete"
