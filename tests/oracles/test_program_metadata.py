"""What `publish-idl` sends, against the Program Metadata program's own JavaScript client: each instruction's bytes and
accounts, the account's address, and what that client reads where ours has written."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.deploy.metadata_program import MetadataInstructions
from mcpsol_py.solana.loader import programdata_address
from tests.oracles.environment import ORACLES, node
from tests.support.publishing import Publishing, document

pytestmark = pytest.mark.oracle

ABSENT = Pubkey.from_string("ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S")


def asked(
    program: Pubkey,
    authority: Pubkey,
    rows: list[dict[str, Any]],
    account: bytes | None = None,
) -> Any:
    question = {
        "program": str(program),
        "authority": str(authority),
        "instructions": rows,
        "account": None if account is None else account.hex(),
    }
    ran = subprocess.run(
        [node(), str(ORACLES / "program_metadata.mjs")],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def ours(instruction: Instruction) -> dict[str, Any]:
    """As the oracle words it: role 0 read only, 1 writable, 2 signer, 3 both."""
    metas = [
        [str(m.pubkey), m.is_writable + 2 * m.is_signer] for m in instruction.accounts
    ]
    return {"data": bytes(instruction.data).hex(), "accounts": metas}


@settings(max_examples=4)
@given(
    st.binary(min_size=32, max_size=32),
    st.binary(min_size=1, max_size=900),
    st.integers(0, 2**32 - 1),
)
def test_each_instruction_is_what_its_own_client_sends(
    key: bytes, data: bytes, offset: int
) -> None:
    program, authority, buffer, payer = (
        Pubkey(key),
        *(Pubkey(bytes([n] * 32)) for n in (3, 4, 5)),
    )
    target = metadata_address(program)
    rows = MetadataInstructions(program, authority)
    form = {"encoding": 1, "compression": 2, "format": 1, "dataSource": 0}
    both = {"program": str(program), "programData": str(programdata_address(program))}
    to = {"account": str(target), "destination": str(payer), **both}
    content = {"data": {"hex": data.hex()}}
    pairs: list[tuple[Instruction, str, dict[str, Any]]] = [
        (
            rows.allocate(target, "idl"),
            "Allocate",
            {"buffer": str(target), "seed": "idl", **both},
        ),
        (
            rows.extend(target, 10_240)[0],
            "Extend",
            {"account": str(target), "length": 10_240, **both},
        ),
        (
            rows.write(target, offset, data),
            "Write",
            {"buffer": str(target), "offset": offset, **content},
        ),
        (
            rows.initialize(target, data),
            "Initialize",
            {"metadata": str(target), "seed": "idl", **form, **both, **content},
        ),
        (
            rows.initialize(target),
            "Initialize",
            {
                "metadata": str(target),
                "seed": "idl",
                "system": str(ABSENT),
                **form,
                **both,
            },
        ),
        (
            rows.set_data(target, data),
            "SetData",
            {"metadata": str(target), **form, **both, **content},
        ),
        (
            rows.set_data(target, buffer=buffer),
            "SetData",
            {"metadata": str(target), "buffer": str(buffer), **form, **both},
        ),
        (rows.trim(target, payer), "Trim", to),
        (rows.close(target, payer), "Close", to),
    ]
    answer = asked(
        program, authority, [{"name": name, "input": given} for _, name, given in pairs]
    )
    assert answer["address"] == str(target)
    for (instruction, name, _), theirs in zip(
        pairs, answer["instructions"], strict=True
    ):
        assert ours(instruction) == theirs, name


def test_its_own_client_reads_what_we_published(program_metadata_so: Path) -> None:
    chain = Publishing(program_metadata_so)
    for text in (document(400), document(6_000)):
        chain.publish(text)
        account = chain.account(chain.address)
        assert account is not None
        read = asked(
            chain.program.pubkey(), chain.wallet.pubkey(), [], bytes(account.data)
        )["read"]
        assert read["text"].encode() == text
        header = read["header"]
        assert (header["canonical"], header["mutable"], header["seed"]) == (
            True,
            True,
            "idl",
        )
        assert header["program"] == str(chain.program.pubkey())
