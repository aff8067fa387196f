"""What Anchor's and Codama's own clients send, a skeleton rendered from the IDL takes: in the SVM, every byte of the
arguments comes back from its generated decoder, and its checks let the accounts pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain, find_toolchain
from mcpsol_py.errors import ToolchainMissing
from mcpsol_py.model.program import LIST_TOOLS
from mcpsol_py.sources.detect import read
from tests.conftest import idl_params, shared_idl_files
from tests.functional.echoing import Answer, build_echo
from tests.support.account_resolvers import (
    ANCHOR_DIFFERS,
    WALLET,
    Asked,
    address,
    ask,
    instructions,
)

pytestmark = [pytest.mark.oracle, pytest.mark.rust]

#: run each time; the others only in full runs
SOME = {
    "anchor__anchor_test_idl",
    "anchor__anchor_test_external",
    "codama__token",
    "codama__mpl_token_metadata",
}
#: none of whose instructions are built: Anchor's client says "Invalid generic field: gen2", and knows no "publicKey" in
#: a new IDL; random arguments do not hold the discriminator that they must
NOT_BUILT = {
    "anchor__anchor_test_generics",
    "anchor__phoenix_ember",
    "codama__inline_struct",
}
SCRIPTS = {"anchor": "anchor_accounts.mjs", "codama": "codama_accounts.mjs"}


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain("no-std")
    except ToolchainMissing as missing:
        pytest.skip(f"no compiler for the SVM: {missing}")


def asked_of(file: Path, dialect: str) -> list[Asked]:
    """Each usable instruction with random arguments and the accounts that this client must be given."""
    out = []
    for instruction, args, data in instructions(file):
        given: dict[str, str | None]
        must = instruction.must_give(wallet=dialect == "anchor", online=False)
        given = {name: address(file.name, instruction.name, name) for name in must}
        if dialect == "codama":
            given |= {
                leaf.name: None
                for leaf in instruction.plan.leaves
                if leaf.account.optional and leaf.account.default is None
            }
        resolution = instruction.plan.resolve(
            args, given, program_id=instruction.program.address or WALLET, wallet=WALLET
        )
        assert resolution.wanted() == []
        # Its client knows few accounts by their names, and none by a relation without the chain.
        if dialect == "anchor":
            known = {
                name: None if key is None else str(key)
                for name, key in resolution.addresses().items()
            }
            given |= {
                leaf.name: known[leaf.name]
                for leaf in instruction.plan.leaves
                if leaf.account.pda is None and leaf.account.address is None
            }
        out.append(Asked(file, instruction.name, data.hex(), given, resolution))
    return out


@pytest.mark.parametrize(
    "file",
    idl_params(
        (
            path
            for path in shared_idl_files("anchor", "codama")
            if read(path).instructions
        ),
        SOME,
    ),
)
def test_what_the_originals_client_sends_is_taken(
    file: Path, tmp_path: Path, toolchain: Toolchain
) -> None:
    dialect = file.name.split("__")[0]
    asked = asked_of(file, dialect)
    echo, decoded = build_echo(read(file), tmp_path / "rendered" / file.stem, toolchain)
    sent, refused, bad = 0, [], []
    # Seeds that only Anchor's client writes so.
    differ = {(stem, name) for stem, name, _ in ANCHOR_DIFFERS}
    for one, answer in zip(
        asked, ask(SCRIPTS[dialect], asked, wallet=str(WALLET)), strict=True
    ):
        if "instruction" not in answer:
            refused.append(
                f"{one.name}: {answer.get('refused', 'an account is missing')}"
            )
            continue
        if not decoded.get(one.name, False) or (file.stem, one.name) in differ:
            continue
        ix = echo.program.instruction(one.name).model
        data = bytes.fromhex(answer["instruction"]["hex"])
        if echo.program.decode_instruction(data)[0] != one.name:
            continue  # three instructions without a discriminator: no program could tell them apart
        skip = len(ix.discriminator.value) if ix.discriminator.consumed else 0
        metas = [
            AccountMeta(Pubkey.from_string(key), role >= 2, role % 2 == 1)
            for key, role in answer["instruction"]["metas"]
        ]
        assert not data.startswith(LIST_TOOLS)
        sent += 1
        found = echo.call(data, metas)
        if found != Answer(data[skip:], "InstructionNotWritten"):
            bad.append(f"{one.name} {data.hex()[:200]}: {found}")
    assert not bad, f"{len(bad)} of {sent}: {bad[:3]}"
    assert bool(sent) == (file.stem not in NOT_BUILT), refused
    print(
        f"\n{file.stem}: {sent} sent and taken, {len(refused)} that the client itself does not build: {refused[:2]}"
    )
