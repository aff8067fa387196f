"""Events by calls, on chain: the program calls itself with each, and the simulator has the same events."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from tests.support import random_programs

SPEC = '''\
from mcpsol_py.spec import *
from mcpsol_py.spec import u64

ADDRESS = "J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK"


class Part(Struct):
    to: Pubkey
    amount: u64


@program(name="parts", address=ADDRESS)
class Parts:
    class Total(Account):
        sum: u64
        hash: Array[u8, 32]

    class Counted(Event):
        sum: u64
        hash: Array[u8, 32]

    Nothing = error("Nothing is given")

    @instruction(discriminator=b"\\xe4")
    def take_event(
        self, event_authority: Ref[Signer, seeds(b"event_authority")], event: RemainingBytes
    ) -> None:
        """Carries an event."""
        return

    @instruction
    def count(
        self,
        total: Mut[Total, ...],
        event_authority: Ref[Unchecked, seeds(b"event_authority")],
        this: Ref[ProgramAccount, address(ADDRESS)],
        *others: Unchecked,
        parts: list[Part],
    ) -> u64:
        """Add the parts, and those that are for one of the accounts once more."""
        for i, part in enumerate(parts):
            total.sum += part.amount
            for other in others:
                if other.address == part.to:
                    total.sum += part.amount
            total.hash = sha256(parts, u64(i))
            emit_cpi(
                self.Counted(sum=total.sum, hash=total.hash),
                authority=event_authority,
                program=this,
            )
        require(len(parts) > 0, self.Nothing)
        return u64(len(others))
'''


@pytest.mark.slow
@pytest.mark.rust
def test_events_by_calls_are_those_of_the_simulator(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    (tmp_path / "spec.py").write_text(SPEC, encoding="utf-8")
    oracle = random_programs.built(
        tmp_path, os.environ.get("BODIES_TARGET", "pinocchio")
    )
    total, others = Pubkey.new_unique(), [Pubkey.new_unique() for _ in range(3)]
    authority = Pubkey.find_program_address([b"event_authority"], oracle.address)[0]
    accounts = {"total": total, "event_authority": authority, "this": oracle.address}
    for count in range(4):
        oracle.put_state(total, "Total", sum=2**40)
        parts = [{"to": each, "amount": 2**count} for each in others[:count]]
        args = {"parts": parts}
        error = oracle.call("count", accounts | {"others": others[1:]}, args)
        assert error == ("" if count else "Nothing")
        assert oracle.events_by_calls == count
        sums = [2**count * (1 + (each in others[1:])) for each in others[:count]]
        if count:
            assert int(oracle.simulator.state(total).sum) == 2**40 + sum(sums)
