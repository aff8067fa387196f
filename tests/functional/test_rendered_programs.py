"""From an IDL alone: its rendered skeleton, in the SVM, takes what the original's clients send, and nothing else.

Every instruction of the real IDLs is called with random arguments and plausible accounts. The program's generated
decoder must give back every byte that the Python encoder wrote; data that is cut short, has bytes behind it, or was
changed must be taken or refused as the Python decoder takes or refuses it, by a named error; and accounts are checked
for what the IDL says, no more. (tests/oracles/test_rendered.py sends what Anchor's and Codama's own clients build.)
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.codec.discriminator import best_match
from mcpsol_py.errors import (
    CodecError,
    EncodeError,
    MissingAccount,
    NotUsable,
    PdaError,
)
from mcpsol_py.model.check import unusable
from mcpsol_py.model.program import Instruction
from mcpsol_py.model.types import Struct
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.render.account_lookup import remaining_flags
from mcpsol_py.sources.detect import read
from tests.conftest import idl_params, shared_idl_files
from tests.functional.echoing import Answer, Echo, build_echo, cuts, plausible_accounts
from tests.strategies import NoValue, Values

SEEDS = 6
#: run each time, for their shapes; the others only in full runs
SOME = {
    "anchor__anchor_test_generics",  # generics, and lengths that are one
    "anchor__anchor_test_idl",  # nested groups, 128 and 256 bits, options of options
    "anchor__anchor2_return_callee",  # returned values, in code that is not inlined by itself
    "anchor__anchor2_serialization",  # discriminators that the IDL gives
    "codama__inline_struct",  # discriminators that no argument is made to carry: nothing can be called
    "codama__mpl_token_metadata",  # accounts that are left out, sets, maps
    "codama__token",  # one byte tells instructions apart; signers that may be
    "legacy__spl_governance",  # enums in enums
    "shank__mpl_token_auth_rules",  # enums with payloads
}
#: how the generated code refuses, and what the echoing handler ends with
UNKNOWN = "InstructionFallbackNotFound"
WRONG = "InstructionDidNotDeserialize"
ECHOED = "InstructionNotWritten"


class Differential:
    """One program's calls, and where it and Python disagree."""

    def __init__(self, echo: Echo, decoded: dict[str, bool]) -> None:
        self.echo, self.program, self.decoded = echo, echo.program, decoded
        self.values = Values(self.program.codecs)
        self.bad: list[str] = []
        self.count: Counter[str] = Counter()

    def meant(self, data: bytes) -> Instruction | None:
        """The instruction that Python says *data* is of."""

        def fits(ix: Instruction) -> bool:
            try:
                self.program.instruction(ix.name).decode(data)
            except (CodecError, NotUsable):
                return False
            return True

        return best_match(self.program.model.instructions, data, fits)

    def expected(self, name: str, data: bytes) -> Answer | None:
        """What the program must answer to *data*; None where Python takes it for another instruction's."""
        ix = self.program.instruction(name)
        skip = (
            len(ix.model.discriminator.value) if ix.model.discriminator.consumed else 0
        )
        found = self.meant(data)
        if found is None:
            return Answer(None, UNKNOWN)
        if found.name != name:
            return None
        try:
            args = ix.decode(data)
            return Answer(ix.encode(args)[skip:], ECHOED)
        except EncodeError:
            return None
        except CodecError:
            return Answer(None, WRONG)

    def compare(
        self,
        what: str,
        name: str,
        data: bytes,
        metas: list[AccountMeta],
        wanted: Answer | None,
    ) -> None:
        if wanted is None:
            self.count["not compared"] += 1
            return
        self.count[what] += 1
        found = self.echo.call(data, metas)
        if found != wanted:
            self.bad.append(
                f"{what}: {name} {data.hex()[:400]}: program {found}, Python {wanted}"
            )

    def instruction(self, name: str) -> None:
        ix = self.program.instruction(name)
        node = Struct(ix.model.args)
        for seed in range(SEEDS):
            rng = random.Random(f"{name} {seed}")
            try:
                args = self.own(ix, self.values.from_seed(node, seed))
                data = ix.encode(args)
                metas = plausible_accounts(
                    ix, args, self.echo.id, rng, optional=seed % 2 == 0
                )
            except (NoValue, CodecError):
                self.count["no value"] += 1
                continue
            except (PdaError, MissingAccount) as error:
                self.count["no address"] += 1
                self.count[f"no address: {name}: {error}"] += 1
                continue
            self.compare("valid", name, data, metas, self.expected(name, data))
            for wrong in cuts(data, rng):
                self.compare(
                    "cut or longer", name, wrong, metas, self.expected(name, wrong)
                )
            for _ in range(6 if data else 0):
                changed = bytearray(data)
                changed[rng.randrange(len(data))] ^= rng.randint(1, 255)
                self.changed(name, bytes(changed), metas, optional=seed % 2 == 0)
            if seed < 2:
                self.accounts(name, data, metas, rng)

    def own(self, ix: ProgramInstruction, args: dict[str, Any]) -> dict[str, Any]:
        """*args* so that the instruction is known by them, where its discriminator is one of them."""
        d = ix.model.discriminator
        if d.consumed or not d.value:
            return args
        data = bytearray(self.program.codecs.codec(Struct(ix.model.args)).encode(args))
        data[d.offset : d.offset + len(d.value)] = d.value
        own: dict[str, Any] = ix.decode(bytes(data))
        return own

    def changed(
        self, name: str, data: bytes, metas: list[AccountMeta], *, optional: bool
    ) -> None:
        """Data that may mean something else now, with the accounts of what it means."""
        wanted = self.expected(name, data)
        if wanted is not None and wanted.error == ECHOED:
            ix = self.program.instruction(name)
            try:
                metas = plausible_accounts(
                    ix,
                    ix.decode(data),
                    self.echo.id,
                    random.Random(name),
                    optional=optional,
                )
            except (PdaError, MissingAccount):
                wanted = None
        self.compare("changed", name, data, metas, wanted)

    def accounts(
        self, name: str, data: bytes, metas: list[AccountMeta], rng: random.Random
    ) -> None:
        """More accounts do no harm; each flag and fixed address that the IDL names is asked for."""
        good = self.expected(name, data)
        if good is None or good.error != ECHOED:
            return
        ix = self.program.instruction(name)
        # Else they would stand for the absent ones that are left out.
        if len(metas) >= len(ix.plan.leaves):
            signs = "signer" in remaining_flags(ix.model).each
            more = [
                AccountMeta(Pubkey(rng.randbytes(32)), signs, True) for _ in range(3)
            ]
            self.compare("more accounts", name, data, [*metas, *more], good)
            if signs:
                silent = AccountMeta(more[1].pubkey, False, True)
                unsigned = [*metas, more[0], silent, more[2]]
                refused = Answer(None, "AccountNotSigner")
                self.compare(
                    "a further account that does not sign",
                    name,
                    data,
                    unsigned,
                    refused,
                )
        once = Counter(str(m.pubkey) for m in metas)
        for place, leaf in enumerate(ix.plan.leaves):
            if (
                place >= len(metas)
                or once[str(metas[place].pubkey)] > 1
                or leaf.account.optional
            ):
                continue
            meta = metas[place]

            def asked(
                what: str, error: str, changed: AccountMeta, place: int = place
            ) -> None:
                given = [*metas[:place], changed, *metas[place + 1 :]]
                self.compare(what, name, data, given, Answer(None, error))

            if leaf.account.signer is True:
                asked(
                    "no signer",
                    "AccountNotSigner",
                    AccountMeta(meta.pubkey, False, meta.is_writable),
                )
            if leaf.account.writable:
                asked(
                    "not writable",
                    "ConstraintMut",
                    AccountMeta(meta.pubkey, meta.is_signer, False),
                )
            if leaf.account.address is not None:
                other = AccountMeta(
                    Pubkey(rng.randbytes(32)), meta.is_signer, meta.is_writable
                )
                asked("another address", "ConstraintAddress", other)
        needed = max(
            (
                i + 1
                for i, leaf in enumerate(ix.plan.leaves)
                if not leaf.account.optional
            ),
            default=0,
        )
        if needed:
            self.compare(
                "too few",
                name,
                data,
                metas[: needed - 1],
                Answer(None, "AccountNotEnoughKeys"),
            )


def run(idl: Path, folder: Path, toolchain: Toolchain) -> Differential:
    model = read(idl)
    echo, decoded = build_echo(model, folder / "rendered" / idl.stem, toolchain)
    differential = Differential(echo, decoded)
    refused = unusable(model)
    for ix in model.instructions:
        if ix.name in refused or not decoded.get(ix.name, False):
            differential.count["left out"] += 1
        else:
            differential.count["instructions"] += 1
            differential.instruction(ix.name)
    return differential


@pytest.mark.rust
@pytest.mark.parametrize(
    "idl",
    idl_params((path for path in shared_idl_files() if read(path).instructions), SOME),
)
def test_a_skeleton_takes_what_clients_of_the_original_send(
    idl: Path, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    ran = run(idl, tmp_path, no_std_toolchain)
    assert (
        ran.count["valid"] or ran.count["no value"] == ran.count["instructions"] * SEEDS
    ), ran.count
    assert not ran.bad, f"{len(ran.bad)} of {ran.echo.calls}: {ran.bad[:3]}"
