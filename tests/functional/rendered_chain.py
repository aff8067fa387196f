"""A program that is rendered from a spec for one target, built, and called on a chain of its own.

Its handlers are not written, so a call that passes every check ends with InstructionNotWritten.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import load
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import Program
from mcpsol_py.render import render_crate
from tests.functional.targets import REPO, built_crate, failure

__all__ = ["PASSED", "RenderedProgram", "read", "rendered_crate", "signer", "written"]

PASSED = "InstructionNotWritten"


def rendered_crate(program: Program, target: str, folder: Path) -> Path:
    """The rendered crate in a workspace like those of tests/targets."""
    out = folder / target / program.name
    render_crate(program, target=target, out=out, source="a spec")
    like = REPO / "tests/targets" / target
    workspace = '[workspace]\nresolver = "2"\nmembers = ["{}"]\n[profile.release]\nlto = "fat"\n'
    (out.parent / "Cargo.toml").write_text(
        workspace.format(program.name), encoding="utf-8"
    )
    if like.is_dir():
        shutil.copy(like / "Cargo.lock", out.parent)
    return out


@dataclass
class RenderedProgram:
    """The program on a chain, and a wallet that pays."""

    program: Program
    address: Pubkey
    transport: SvmTransport
    payer: Keypair = field(default_factory=Keypair)

    @classmethod
    def build(
        cls, spec: Path, target: str, folder: Path, toolchain: Toolchain
    ) -> RenderedProgram:
        program = load(spec)
        assert program.address is not None
        transport = SvmTransport(features="all")
        so = built_crate(rendered_crate(program, target, folder), toolchain)
        transport.add_program(program.address, so.read_bytes())
        chain = cls(program, program.address, transport)
        transport.svm.airdrop(chain.payer.pubkey(), 10**12)
        return chain

    def put(self, key: Pubkey, data: bytes, owner: Pubkey | None = None) -> None:
        """Put an account on the chain; the program owns it if no owner is given."""
        self.transport.set_account(key, Account(10**9, data, owner or self.address))

    @property
    def absent(self) -> AccountMeta:
        """What stands for an optional account that is left out."""
        return AccountMeta(self.address, False, False)

    def call(
        self,
        name: str,
        *metas: AccountMeta,
        data: bytes = b"",
        signers: Sequence[Keypair] = (),
    ) -> str:
        """The name of the error that a call ends with. *data*: the arguments."""
        tag = self.program.instruction(name).model.discriminator.value
        call = Instruction(self.address, tag + data, list(metas))
        svm = self.transport.svm
        svm.expire_blockhash()
        message = Message.new_with_blockhash(
            [call], self.payer.pubkey(), svm.latest_blockhash()
        )
        return failure(
            svm.send_transaction(VersionedTransaction(message, [self.payer, *signers]))
        )


def written(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, False, True)


def read(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, False, False)


def signer(key: Keypair) -> AccountMeta:
    return AccountMeta(key.pubkey(), True, False)
