"""What `make bench ARGS=x402_program` prints is within its bars, and leaves no instruction out."""

from __future__ import annotations

import pytest

from benchmarks import bench_x402_program
from mcpsol_py.build.toolchain import Toolchain

from .x402_chain import spec

#: They only read, and answer by return data.
VIEWS = {"quote", "channel_status", "subscription_status"}


@pytest.mark.rust
def test_each_figure_is_within_its_bar(no_std_toolchain: Toolchain) -> None:
    rows = bench_x402_program.measure()
    assert not [row for row in rows if not row.holds]
    named = {row.what for row in rows}
    assert {
        "pay",
        "settle",
        "list_tools, first page, above the syscall",
        "program",
    } <= named


def test_each_instruction_is_measured_and_each_change_of_state_emits_an_event() -> None:
    calls = bench_x402_program.life()
    assert {call.instruction for call in calls} == {
        ix.name for ix in spec().model.instructions
    } - {"emit_event"}
    for call in calls:
        assert bool(call.events) == (call.instruction not in VIEWS), call
    # PayoutRedirected needs an account that cannot be paid: test_x402_channels.py, TestUnusableAccounts.
    emitted = {event for call in calls for event in call.events}
    assert emitted == {event.name for event in spec().model.events} - {
        "PayoutRedirected"
    }


def test_views_answer_and_need_no_key() -> None:
    for ix in spec().model.instructions:
        assert (ix.returns is not None) == (ix.name in VIEWS), ix.name
        if ix.name in VIEWS:
            flags = [a.signer or a.writable for a in ix.accounts]  # type: ignore[union-attr]  # it has no groups
            assert not any(flags), ix.name
