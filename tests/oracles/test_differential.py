"""Our bytes against those of independent encoders: every instruction, account and event of every real IDL, with
random values.

Both directions: the oracle encodes the same value, and decodes our bytes back to it. MCPSOL_FULL=1 compares over
20,000 values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpsol_py.sources.detect import read
from tests.conftest import SHARED_IDLS_ABSENT, shared_idl_files
from tests.oracles.batch import FULL, Row, ask, compare, rows
from tests.oracles.environment import ORACLES, anchorpy_python, node

#: Where an oracle says something else and is wrong, or cannot know: the same rows stand in docs/differences.md, with
#: what settles them.
DIFFERENCES = {
    "anchor": {
        "anchor__anchor2_serialization.json account PaddedUnsafeAccount": "repr(C) pads before the u64",
        "anchor__offerbook.json account Loan": "a repr(C) union has its largest variant's size",
        "anchor__offerbook.json account Offer": "a repr(C) union has its largest variant's size",
    },
    "codama": {
        "anchor__anchor2_serialization.json account PaddedUnsafeAccount": "repr(C) pads before the u64",
    },
    "anchorpy": {},
}


def legacy_files() -> list[Path]:
    return shared_idl_files("legacy")


def modern_files() -> list[Path]:
    return shared_idl_files("anchor")


@pytest.mark.parametrize(
    ("oracle", "command", "files", "least"),
    [
        pytest.param(
            "anchor", lambda: [node(), "anchor.mjs"], modern_files, 500, id="anchor"
        ),
        pytest.param(
            "codama",
            lambda: [node(), "codama.mjs"],
            shared_idl_files,
            1200,
            id="codama",
        ),
        pytest.param(
            "anchorpy",
            lambda: [anchorpy_python(), "anchorpy_worker.py"],
            legacy_files,
            450,
            id="anchorpy",
        ),
    ],
)
def test_every_value_is_encoded_and_decoded_alike(
    oracle: str,
    command: Callable[[], list[str]],
    files: Callable[[], list[Path]],
    least: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not files():
        pytest.skip(SHARED_IDLS_ABSENT)
    asked: list[Row] = []
    for file in files():
        asked += rows(read(file), file)
    tally = compare(asked, ask(command(), asked, ORACLES))
    known = DIFFERENCES[oracle]
    unexplained = [text for text in tally.different if text.split(":")[0] not in known]
    with capsys.disabled():
        refused = sum(tally.refused.values())
        explained = len(tally.different) - len(unexplained)
        print(
            f"\n{oracle}: {tally.same} values alike in both directions, {explained} explained differences, "
            f"{refused} refused by the oracle, over {len(files())} files",
            file=sys.stderr,
        )
    assert not unexplained, "\n".join(unexplained[:10])
    if FULL:
        assert {text.split(":")[0] for text in tally.different} == set(known), (
            "an explained difference is gone"
        )
    assert tally.same >= least * (6 if FULL else 1)
