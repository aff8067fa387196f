"""A skeleton rendered from an IDL, made to answer in the SVM with what its generated decoder understood.

The rendered files stay as a user gets them; only the handlers, which are the author's, are filled in: each logs its
arguments encoded again by the generated encoder, and then fails as an unwritten handler does.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.errors import MissingAccount
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.render.crate import plan
from mcpsol_py.render.view import crate_view
from mcpsol_py.render.write import write_plan
from tests.functional.targets import built_crate

_UNWRITTEN = "    Err(Check::InstructionNotWritten.into())\n"
_ECHO = "    let mut echo = alloc::vec::Vec::new();\n    _args.encode(&mut echo)?;\n    crate::log::log_data(&echo);\n"
_LOGGED = re.compile(r"^Program log: (\w+) \(\d+\)")


def echoing_crate(model: ProgramModel, folder: Path) -> dict[str, bool]:
    """Writes the crate of *model* with echoing handlers. Returns by instruction whether its arguments are decoded;
    those that no client can reach (their discriminator is an earlier one's) are left out."""
    view = crate_view(model, lossless=False, author=_ECHO)
    files = plan(view, author={"src/processor/echo.rs": _ECHO + _UNWRITTEN})
    write_plan(files, folder, "", handlers="src/processor", formatted=False)
    for handler in (folder / "src/processor").glob("*.rs"):
        text = handler.read_text(encoding="utf-8")
        if handler.name != "mod.rs":
            assert text.count(_UNWRITTEN) == 1
            handler.write_text(
                text.replace(_UNWRITTEN, _ECHO + _UNWRITTEN), encoding="utf-8"
            )
    with (folder / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    return {ix.source_name: not ix.is_raw for ix in view.instructions}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the program made of a call: the arguments encoded again, or the name of its error."""

    echo: bytes | None
    error: str


class Echo:
    """The program in an SVM."""

    def __init__(self, program: Program, so: Path) -> None:
        self.program = program
        self.id = program.address or Pubkey.new_unique()
        self.payer = Keypair().pubkey()
        self.svm = (
            LiteSVM()
            .with_sigverify(False)
            .with_blockhash_check(False)
            .with_log_bytes_limit(None)
        )
        self.svm.airdrop(self.payer, 10**12)
        self.svm.add_program(self.id, so.read_bytes())
        self.calls = 0

    def call(self, data: bytes, metas: Sequence[AccountMeta]) -> Answer:
        """Runs one instruction, without effect."""
        self.calls += 1
        message = Message.new_with_blockhash(
            [Instruction(self.id, data, list(metas))], self.payer, Hash.default()
        )
        signatures = [Signature.default()] * message.header.num_required_signatures
        meta = self.svm.simulate_transaction(
            VersionedTransaction.populate(message, signatures)
        )
        logs = meta.meta().logs()
        error = next(
            (m[1] for m in map(_LOGGED.match, logs) if m),
            "" if not hasattr(meta, "err") else str(meta.err()),
        )
        logged = [
            line.removeprefix("Program data: ")
            for line in logs
            if line.startswith("Program data: ")
        ]
        echo = (
            base64.b64decode(logged[0])
            if error == "InstructionNotWritten" and logged
            else None
        )
        return Answer(echo, error)


def plausible_accounts(
    ix: ProgramInstruction,
    args: dict[str, object],
    program_id: Pubkey,
    rng: random.Random,
    *,
    optional: bool,
) -> list[AccountMeta]:
    """Accounts as a client of the original sends them: fixed and derived addresses as they are, any address for the
    others, optional ones there or not. Raises MissingAccount, PdaError for what nobody could derive."""
    asked = set(ix.plan.must_give(wallet=False))
    given: dict[str, object] = {
        leaf.name: Pubkey(rng.randbytes(32))
        for leaf in ix.plan.leaves
        if leaf.account.address is None
        and (
            leaf in asked
            or (leaf.account.pda is None and optional and leaf.account.optional)
        )
    }
    while True:
        try:
            resolution = ix.plan.resolve(
                args, given, program_id=program_id, online=True
            )
            while wanted := resolution.wanted():
                resolution.supply((key, None) for key in wanted)  # none of them exists
            return resolution.metas()
        except MissingAccount as missing:
            if missing.account in given or missing.account not in ix.accounts:
                raise
            given[missing.account] = Pubkey(rng.randbytes(32))


def cuts(data: bytes, rng: random.Random) -> Iterator[bytes]:
    """*data* cut short and with bytes behind it."""
    ends = (
        range(len(data))
        if len(data) <= 24
        else sorted({0, 7, 8, 9, len(data) - 1, *rng.sample(range(len(data)), 8)})
    )
    yield from (data[:end] for end in ends if end < len(data))
    yield data + b"\0"
    yield data + rng.randbytes(rng.randint(1, 40))


def build_echo(
    model: ProgramModel, folder: Path, toolchain: Toolchain
) -> tuple[Echo, dict[str, bool]]:
    """The program of *model*, rendered, built and deployed, and which of its arguments it decodes."""
    decoded = echoing_crate(model, folder)
    return Echo(Program(model), built_crate(folder, toolchain)), decoded
