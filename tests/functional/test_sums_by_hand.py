"""A handler written by hand that does not check a sum: the compiled program does."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.keypair import Keypair

from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import load
from mcpsol_py.render import render_crate
from tests.functional.rendered_chain import RenderedProgram, signer

SPEC = '''
from mcpsol_py.spec import *
from mcpsol_py.spec import u64

@program(name="sums", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Sums:
    """Sums."""
    @instruction(returns=u64)
    def add(self, who: Signer, a: u64, b: u64) -> None:
        """Add."""
'''
HANDLER = """\
use {
    crate::instruction::add::{Accounts, Args},
    pinocchio::error::ProgramError,
};

pub fn process(_accounts: &mut Accounts, args: &Args) -> Result<u64, ProgramError> {
    Ok(args.a + args.b)
}
"""


@pytest.mark.slow
@pytest.mark.rust
def test_a_sum_that_does_not_fit_ends_the_call(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    spec = tmp_path / "spec.py"
    spec.write_text(SPEC, encoding="utf-8")
    program = load(spec)
    render_crate(program, out=tmp_path / "sums", source="spec.py")
    (tmp_path / "sums/src/processor/add.rs").write_text(HANDLER, encoding="utf-8")
    elf = compile_crate(read_crate(tmp_path / "sums"), no_std_toolchain).so.read_bytes()
    assert program.address is not None
    chain = RenderedProgram(program, program.address, SvmTransport())
    chain.transport.add_program(program.address, elf)
    chain.transport.svm.airdrop(chain.payer.pubkey(), 10**12)
    who = Keypair()

    def add(a: int, b: int) -> str:
        numbers = a.to_bytes(8, "little") + b.to_bytes(8, "little")
        return chain.call("add", signer(who), data=numbers, signers=[who])

    assert add(2**63, 2**63 - 1) == ""
    assert "ProgramFailedToComplete" in add(2**63, 2**63)


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_each_target_checks_sums(target: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.py"
    spec.write_text(SPEC, encoding="utf-8")
    render_crate(load(spec), target=target, out=tmp_path / "sums", source="spec.py")
    assert "overflow-checks = true" in (tmp_path / "sums/Cargo.toml").read_text(
        encoding="utf-8"
    )
