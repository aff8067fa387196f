"""Our account resolution against Anchor's and Codama's own: each instruction of their real IDLs, with random
arguments and only those accounts given that a client cannot fill in."""

from __future__ import annotations

import pytest

from tests.conftest import SHARED_IDLS_ABSENT, shared_idl_files
from tests.support.account_resolvers import (
    ANCHOR_DIFFERS,
    WALLET,
    Asked,
    address,
    ask,
    instructions,
)

pytestmark = pytest.mark.oracle


CODAMA_DIFFERS = {
    # The dynamic client lets the program id sign for an absent optional signer; nobody could give that signature.
    # Programs expect the program id read-only and unsigned there.
    ("codama__mpl_token_metadata", "resize"),
}


def test_addresses_are_those_that_anchors_client_resolves() -> None:
    files = shared_idl_files("anchor")
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    asked = []
    for file in files:
        for instruction, args, data in instructions(file):
            given = {
                name: address(file.name, instruction.name, name)
                for name in instruction.must_give(online=False)
            }
            program_id = instruction.program.address or WALLET
            resolution = instruction.plan.resolve(
                args, given, program_id=program_id, wallet=WALLET
            )
            assert resolution.wanted() == []
            asked.append(Asked(file, instruction.name, data.hex(), given, resolution))
    same, refused, different = 0, [], set()
    for one, answer in zip(
        asked, ask("anchor_accounts.mjs", asked, wallet=str(WALLET)), strict=True
    ):
        if "refused" in answer:
            refused.append(f"{one.file.stem} {one.name}: {answer['refused']}")
            continue
        theirs = {plain(name): key for name, key in answer["accounts"].items()}
        for name, key in one.resolution.addresses().items():
            # What neither gives, and what we know by name alone, is not compared.
            if name in one.accounts or plain(name) not in theirs:
                continue
            if key is not None and theirs[plain(name)] == str(key):
                same += 1
            else:
                different.add((one.file.stem, one.name, name))
    assert different == ANCHOR_DIFFERS
    assert same >= 1000
    assert len(refused) <= 12, refused


def plain(name: str) -> str:
    return name.replace("_", "").lower()


def test_accounts_are_those_of_codamas_dynamic_client() -> None:
    files = shared_idl_files("codama")
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    asked = []
    for file in files:
        for instruction, args, data in instructions(file):
            must = instruction.must_give(wallet=False, online=False)
            given: dict[str, str | None] = {
                name: address(file.name, instruction.name, name) for name in must
            }
            for leaf in instruction.plan.leaves:
                if leaf.account.optional and leaf.account.default is None:
                    given[leaf.name] = None
            assert instruction.program.address is not None
            resolution = instruction.plan.resolve(
                args, given, program_id=instruction.program.address
            )
            assert resolution.wanted() == []
            asked.append(Asked(file, instruction.name, data.hex(), given, resolution))
    same, different = 0, set()
    for one, answer in zip(asked, ask("codama_accounts.mjs", asked), strict=True):
        if "refused" in answer:
            continue
        ours = [
            [str(m.pubkey), 2 * m.is_signer + m.is_writable]
            for m in one.resolution.metas()
        ]
        if answer["accounts"] == ours:
            same += 1
        else:
            different.add((one.file.stem, one.name))
    assert different == CODAMA_DIFFERS
    assert same >= 100
