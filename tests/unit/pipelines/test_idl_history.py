"""The IDLs that a program published, from the transactions that wrote them: of an SVM, and Anchor's by hand."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import History, HistoryEntry
from mcpsol_py.errors import SourceError, TransportError
from mcpsol_py.pipelines.idl_history import IdlHistory, read_idl_history
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.idl_accounts import anchor_account
from tests.support.publishing import Publishing


def idl(version: str, kind: str = "u8", note: str = "") -> dict[str, Any]:
    """An IDL whose one instruction has an argument of *kind*."""
    go = {"name": "go", "discriminator": [1] * 8, "accounts": []}
    return {
        "address": str(PROGRAM),
        "metadata": {
            "name": "shop",
            "version": version,
            "spec": "0.1.0",
            "description": note,
        },
        "instructions": [{**go, "args": [{"name": "n", "type": kind}]}],
    }


def versions_of(found: IdlHistory) -> list[str]:
    return [one.document["metadata"]["version"] for one in found.idls]


# --- Program Metadata: what its own program executed ---------------------------------------------


PROGRAM = Pubkey(bytes([31] * 32))


def published(chain: Publishing, *documents: dict[str, Any]) -> list[int]:
    """Publish one after the other, and return the slot after each."""
    slots = []
    for document in documents:
        chain.expire_blockhash()
        chain.publish(json.dumps(document).encode())
        slots.append(chain.current_slot)
        chain.new_block(50)
    return slots


@pytest.fixture
def chain(program_metadata_so: Path) -> Publishing:
    return Publishing(program_metadata_so)


def test_each_publication_of_program_metadata_is_read_again(chain: Publishing) -> None:
    """In one transaction, through the account as a buffer, and through a buffer that is closed since."""
    import random

    noise = random.Random(1).randbytes(3_000).hex()
    told = [idl("1", note=noise), idl("2"), idl("3", note=noise[::-1]), idl("4", "u16")]
    slots = published(chain, *told)
    found = asyncio.run(read_idl_history(chain, chain.program.pubkey()))
    assert [one.document for one in found.idls] == told
    assert found.notes == ()
    for one, slot in zip(found.idls, slots, strict=True):
        assert one.first_slot <= slot <= (one.last_slot or slot)
    assert found.idls[-1].last_slot is None
    assert {one.source for one in found.idls} == {"Program Metadata"}


def test_a_transaction_is_decoded_with_the_idl_of_its_slot(chain: Publishing) -> None:
    published(chain, idl("1", "u8"), idl("2", "u16"))
    found = asyncio.run(read_idl_history(chain, chain.program.pubkey()))
    versions, old = found.versions(), found.idls[0].first_slot
    data = bytes([1] * 8) + b"\5"
    assert versions.read_instruction(data, slot=old).version.name == "1"
    assert versions.read_instruction(data + b"\0", slot=old + 60).version.name == "2"


def test_an_idl_that_came_late_gives_way_to_the_one_that_explains_the_data(
    chain: Publishing,
) -> None:
    """Between a deployment and the publication of its IDL, the newer one reads what the older one cannot."""
    published(chain, idl("1", "u8"), idl("2", "u16"))
    found = asyncio.run(read_idl_history(chain, chain.program.pubkey()))
    read = found.versions().read_instruction(
        bytes([1] * 8) + b"\5\0", slot=found.idls[0].first_slot
    )
    assert (read.version.name, read.reading.value) == ("2", {"n": 5})


def test_a_transaction_that_the_node_lacks_leaves_a_gap(chain: Publishing) -> None:
    published(chain, idl("1"), idl("2"), idl("3"))
    whole = asyncio.run(read_idl_history(chain, chain.program.pubkey()))
    lost = Signature.from_string(whole.idls[1].signature)
    kept = chain.landed

    async def landed(signature: Signature) -> dict[str, Any] | None:
        return None if signature == lost else await kept(signature)

    chain.landed = landed  # type: ignore[method-assign]
    found = asyncio.run(read_idl_history(chain, chain.program.pubkey()))
    assert versions_of(found) == ["1", "3"]
    assert found.idls[0].last_slot == whole.idls[0].last_slot
    assert str(lost) in found.notes[0]


def test_a_program_that_published_nothing_has_no_versions(chain: Publishing) -> None:
    found = asyncio.run(read_idl_history(chain, chain.program.pubkey()))
    assert found == IdlHistory(())
    with pytest.raises(SourceError, match="at least one version"):
        found.versions()


def test_a_chain_that_keeps_no_transactions_says_so() -> None:
    with pytest.raises(TransportError, match="keeps no transactions"):
        asyncio.run(read_idl_history(ScriptedTransport(), PROGRAM))


# --- Anchor's IDL account: transactions as `anchor idl` sends them -------------------------------


OWNER = Keypair.from_seed(bytes([1] * 32))
IDL = anchor_idl_address(PROGRAM)
#: The least significant byte first of 0x0a69e9a778bcf440, as Anchor's source has it.
TAG = (0x0A69E9A778BCF440).to_bytes(8, "little")


class AnchorChain(ScriptedTransport):
    """Takes instructions as landed transactions, each in a slot of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[HistoryEntry, VersionedTransaction, dict[str, Any]]] = []

    def land(
        self, *instructions: Instruction, err: Any = None, inner: bool = False
    ) -> Signature:
        """*inner*: as a multisig sends them."""
        slot = 100 + 10 * len(self.rows)
        blockhash = Hash(slot.to_bytes(32, "little"))
        sent = (
            [Instruction(MULTISIG, b"", _all(instructions))]
            if inner
            else list(instructions)
        )
        message = MessageV0.try_compile(OWNER.pubkey(), sent, [], blockhash)
        transaction = VersionedTransaction(message, [OWNER])
        keys = list(message.account_keys)
        calls = [
            {
                "programIdIndex": keys.index(one.program_id),
                "accounts": [keys.index(meta.pubkey) for meta in one.accounts],
                "data": _base58(one.data),
                "stackHeight": 2,
            }
            for one in instructions
        ]
        meta = {
            "err": err,
            "innerInstructions": [{"index": 0, "instructions": calls}] * inner,
        }
        signature = transaction.signatures[0]
        entry = HistoryEntry(signature, None, slot, err is not None)
        self.rows.append((entry, transaction, meta))
        return signature

    async def history(self, key: Pubkey, *, limit: int, before: Any = None) -> History:
        """In pages of three."""
        found = [
            e for e, tx, _ in reversed(self.rows) if key in tx.message.account_keys
        ]
        begin = (
            1 + [e.signature for e in found].index(before) if before is not None else 0
        )
        return History(
            tuple(found[begin : begin + 3]), complete=len(found) <= begin + 3
        )

    async def landed(self, signature: Signature) -> dict[str, Any] | None:
        for entry, transaction, meta in self.rows:
            if entry.signature == signature:
                text = base64.b64encode(bytes(transaction)).decode()
                return {
                    "slot": entry.slot,
                    "transaction": [text, "base64"],
                    "meta": meta,
                }
        return None


MULTISIG = Pubkey(bytes([77] * 32))


def _all(instructions: Sequence[Instruction]) -> list[AccountMeta]:
    programs = [AccountMeta(one.program_id, False, False) for one in instructions]
    return [meta for one in instructions for meta in one.accounts] + programs


def _base58(data: bytes) -> str:
    from mcpsol_py.solana.base58 import b58encode

    return b58encode(bytes(data))


def of_anchor(kind: int, *keys: Pubkey, data: bytes = b"") -> Instruction:
    metas = [AccountMeta(key, False, True) for key in keys]
    return Instruction(PROGRAM, TAG + bytes([kind]) + data, metas)


def packed(document: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(document).encode())


def writes(account: Pubkey, content: bytes, size: int = 60) -> list[Instruction]:
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    return [
        of_anchor(2, account, OWNER.pubkey(), data=struct.pack("<I", len(part)) + part)
        for part in parts
    ]


def created() -> Instruction:
    return of_anchor(0, OWNER.pubkey(), IDL, PROGRAM, data=struct.pack("<Q", 10_000))


def through_a_buffer(
    chain: AnchorChain, buffer: Pubkey, document: dict[str, Any], *, inner: bool = False
) -> Signature:
    """As `anchor idl upgrade` does; *inner*: a multisig takes the buffer over."""
    chain.land(of_anchor(1, buffer, OWNER.pubkey()))
    for one in writes(buffer, packed(document)):
        chain.land(one)
    taken = chain.land(of_anchor(3, buffer, IDL, OWNER.pubkey()), inner=inner)
    chain.land(of_anchor(5, buffer, OWNER.pubkey(), OWNER.pubkey()))
    return taken


def now_holds(chain: AnchorChain, document: dict[str, Any]) -> None:
    chain.accounts[IDL] = anchor_account(PROGRAM, packed(document))


@pytest.fixture
def anchor() -> AnchorChain:
    """Version 1 as `anchor idl init` writes it; 2 and 3 through buffers, 3 by a multisig."""
    chain = AnchorChain()
    chain.land(created())
    for one in writes(IDL, packed(idl("1"))):
        chain.land(one)
    through_a_buffer(chain, Pubkey(bytes([41] * 32)), idl("2"))
    through_a_buffer(chain, Pubkey(bytes([42] * 32)), idl("3", "u16"), inner=True)
    now_holds(chain, idl("3", "u16"))
    return chain


def test_each_idl_of_anchors_account_is_read_again(anchor: AnchorChain) -> None:
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert (versions_of(found), found.notes) == (["1", "2", "3"], ())
    assert [one.source for one in found.idls] == ["Anchor IDL account"] * 3
    spans = [(one.first_slot, one.last_slot) for one in found.idls]
    assert all(first < (last or first + 1) for first, last in spans)
    assert [last for _, last in spans] == [spans[1][0] - 1, spans[2][0] - 1, None]


def test_a_transaction_that_failed_published_nothing(anchor: AnchorChain) -> None:
    buffer = Pubkey(bytes([42] * 32))
    anchor.land(
        of_anchor(5, IDL, OWNER.pubkey()), err={"InstructionError": [0, "Custom"]}
    )
    anchor.land(of_anchor(3, buffer, IDL, OWNER.pubkey()), err="AccountNotFound")
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert versions_of(found) == ["1", "2", "3"]
    assert (found.idls[-1].last_slot, found.notes) == (None, ())


def test_a_buffer_counts_as_it_was_when_it_was_copied(anchor: AnchorChain) -> None:
    buffer = Pubkey(bytes([43] * 32))
    through_a_buffer(anchor, buffer, idl("4"))
    chain_of_one = [
        of_anchor(1, buffer, OWNER.pubkey()),
        *writes(buffer, packed(idl("5")), 400),
    ]
    anchor.land(*chain_of_one, of_anchor(3, buffer, IDL, OWNER.pubkey()))
    now_holds(anchor, idl("5"))
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert versions_of(found) == ["1", "2", "3", "4", "5"]


def test_an_account_that_was_closed_and_made_anew(anchor: AnchorChain) -> None:
    anchor.land(of_anchor(5, IDL, OWNER.pubkey(), OWNER.pubkey()))
    anchor.land(created())
    for one in writes(IDL, packed(idl("6"))):
        anchor.land(one)
    now_holds(anchor, idl("6"))
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert versions_of(found) == ["1", "2", "3", "6"]
    assert found.idls[2].last_slot is not None
    assert found.idls[2].last_slot + 1 < found.idls[3].first_slot


def test_what_the_account_holds_now_is_believed_more_than_its_history(
    anchor: AnchorChain,
) -> None:
    now_holds(anchor, idl("9"))
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert versions_of(found) == ["1", "2"]
    assert "holds another IDL" in found.notes[0]


def test_a_history_that_begins_late_guesses_nothing(anchor: AnchorChain) -> None:
    """The node has forgotten how the account was made: what was appended to it is unknown."""
    del anchor.rows[:2]
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert versions_of(found) == ["2", "3"]


def test_instructions_of_other_programs_with_the_same_data_count_nothing(
    anchor: AnchorChain,
) -> None:
    one = of_anchor(3, Pubkey(bytes([42] * 32)), IDL, OWNER.pubkey())
    anchor.land(Instruction(MULTISIG, one.data, one.accounts))
    anchor.land(of_anchor(3))  # without accounts
    assert versions_of(asyncio.run(read_idl_history(anchor, PROGRAM))) == [
        "1",
        "2",
        "3",
    ]


def test_an_idl_that_is_no_program_is_no_version(anchor: AnchorChain) -> None:
    through_a_buffer(anchor, Pubkey(bytes([44] * 32)), {"no": "IDL"})
    now_holds(anchor, {"no": "IDL"})
    found = asyncio.run(read_idl_history(anchor, PROGRAM))
    assert len(found.idls) == 4
    assert [version.name for version in found.versions().versions] == ["1", "2", "3"]


def test_an_account_of_another_kind_is_no_idl(anchor: AnchorChain) -> None:
    anchor.accounts[IDL] = Account(1, b"", PROGRAM)
    assert versions_of(asyncio.run(read_idl_history(anchor, PROGRAM))) == ["1", "2"]
