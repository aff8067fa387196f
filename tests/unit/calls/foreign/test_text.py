"""Transactions as text."""

from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.foreign.text import read_transaction
from mcpsol_py.errors import DecodeError
from mcpsol_py.solana.base58 import b58encode

keys = st.binary(min_size=32, max_size=32).map(Pubkey)


@st.composite
def transactions(draw: st.DrawFn) -> VersionedTransaction:
    """A legacy or v0 transaction, signed by some."""
    payer = draw(keys)
    metas = draw(
        st.lists(st.builds(AccountMeta, keys, st.booleans(), st.booleans()), max_size=4)
    )
    program = draw(keys)
    assume(program not in {payer, *(meta.pubkey for meta in metas)})
    instruction = Instruction(program, draw(st.binary(max_size=60)), metas)
    blockhash = Hash(draw(st.binary(min_size=32, max_size=32)))
    message: Message | MessageV0
    if draw(st.booleans()):
        message = Message.new_with_blockhash([instruction], payer, blockhash)
    else:
        message = MessageV0.try_compile(payer, [instruction], [], blockhash)
    count = message.header.num_required_signatures
    signatures = draw(
        st.lists(
            st.sampled_from([Signature.default(), Signature(bytes([7] * 64))]),
            min_size=count,
            max_size=count,
        )
    )
    return VersionedTransaction.populate(message, signatures)


@given(transactions())
def test_base64_and_base58_give_the_same_transaction(
    transaction: VersionedTransaction,
) -> None:
    raw = bytes(transaction)
    for text in (
        base64.b64encode(raw).decode(),
        b58encode(raw),
        f" {b58encode(raw)}\n",
    ):
        assert bytes(read_transaction(text)) == raw


@given(transactions())
def test_a_bare_message_is_a_transaction_that_nobody_signed(
    transaction: VersionedTransaction,
) -> None:
    raw = to_bytes_versioned(transaction.message)
    found = read_transaction(base64.b64encode(raw).decode())
    assert to_bytes_versioned(found.message) == raw
    assert set(found.signatures) == {Signature.default()}


@given(transactions(), st.binary(min_size=1, max_size=8), st.integers(1, 40))
def test_bytes_too_many_or_too_few_are_refused(
    transaction: VersionedTransaction, more: bytes, fewer: int
) -> None:
    raw = bytes(transaction)
    for changed in (raw + more, raw[:-fewer]):
        with pytest.raises(DecodeError, match="base64 or base58"):
            read_transaction(base64.b64encode(changed).decode())


@given(st.one_of(st.text(max_size=200), st.binary(max_size=300).map(base64.b64encode)))
def test_other_text_is_never_an_odd_error(text: str | bytes) -> None:
    with suppress(DecodeError):
        read_transaction(text if isinstance(text, str) else text.decode())


def test_a_text_without_end_is_refused_at_once() -> None:
    with pytest.raises(DecodeError):
        read_transaction("z" * 5_000_000)
