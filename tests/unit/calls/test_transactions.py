"""Transactions: budget, size and its explanation, lookup tables, signatures."""

from __future__ import annotations

from typing import Any

import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey

from mcpsol_py.calls.draft import draft_transaction
from mcpsol_py.calls.transactions import (
    PACKET,
    compile_message,
    compute_budget,
    key_pairs,
    read_lookup_tables,
    sign,
    size_of,
    with_budget,
    with_headroom,
)
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import (
    AccountNotFound,
    InvalidTransaction,
    MissingSigner,
    TransactionTooLarge,
)

PROGRAM = Pubkey.new_unique()


def instruction(accounts: int, data: int = 8) -> Instruction:
    return Instruction(
        PROGRAM,
        bytes(data),
        [AccountMeta(Pubkey.new_unique(), False, True) for _ in range(accounts)],
    )


@pytest.mark.parametrize("legacy", [True, False])
def test_the_size_told_is_the_size_of_the_signed_transaction(legacy: bool) -> None:
    pair = Keypair()
    message = compile_message(
        pair.pubkey(), [instruction(5)], Hash.default(), legacy=legacy
    )
    assert isinstance(message, Message if legacy else MessageV0)
    assert size_of(message) == len(bytes(sign(message, [pair])))


def test_a_transaction_too_large_is_explained_and_a_table_is_advised() -> None:
    with pytest.raises(TransactionTooLarge) as caught:
        compile_message(Pubkey.new_unique(), [instruction(40)], Hash.default())
    assert caught.value.size > caught.value.limit == PACKET
    text = str(caught.value)
    assert "42 account keys 1,344" in text
    assert "lookup table" in text


def test_data_that_no_table_can_shrink_is_told_so() -> None:
    with pytest.raises(TransactionTooLarge, match="Use fewer instructions"):
        compile_message(Pubkey.new_unique(), [instruction(1, 1300)], Hash.default())


def test_with_a_lookup_table_it_fits() -> None:
    big = instruction(40)
    table = AddressLookupTableAccount(
        Pubkey.new_unique(), [m.pubkey for m in big.accounts]
    )
    message = compile_message(Pubkey.new_unique(), [big], Hash.default(), [table])
    assert size_of(message) < 400


def test_lookup_tables_are_read_from_the_chain() -> None:
    key, first, second = (Pubkey.new_unique() for _ in range(3))
    owner = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
    # discriminator 1, deactivation slot, last extended slot and its start index, authority (some), padding: 56 bytes
    head = (
        (1).to_bytes(4, "little")
        + b"\xff" * 8
        + bytes(8)
        + b"\0"
        + b"\1"
        + bytes(32)
        + bytes(2)
    )
    assert len(head) == 56
    good = Account(lamports=1, data=head + bytes(first) + bytes(second), owner=owner)
    (table,) = run(
        read_lookup_tables(ScriptedTransport(accounts={key: good}), [str(key)])
    )
    assert (table.key, table.addresses) == (key, [first, second])
    with pytest.raises(AccountNotFound, match="does not exist"):
        run(read_lookup_tables(ScriptedTransport(), [key]))
    ended = head[:4] + (77).to_bytes(8, "little") + head[12:]
    for data, told in (
        (ended + bytes(first), "deactivated in slot 77"),
        (head[:40], "not that of a table"),
    ):
        account = Account(lamports=1, data=data, owner=owner)
        with pytest.raises(AccountNotFound, match=told):
            run(read_lookup_tables(ScriptedTransport(accounts={key: account}), [key]))
    foreign = Account(lamports=1, data=head, owner=PROGRAM)
    with pytest.raises(AccountNotFound, match="belongs to program"):
        run(read_lookup_tables(ScriptedTransport(accounts={key: foreign}), [key]))


def test_all_missing_signers_are_named() -> None:
    one, two = Keypair(), Keypair()
    needs = Instruction(PROGRAM, b"", [AccountMeta(two.pubkey(), True, False)])
    message = compile_message(one.pubkey(), [needs], Hash.default())
    with pytest.raises(MissingSigner) as caught:
        sign(message, [])
    assert set(caught.value.addresses) == {str(one.pubkey()), str(two.pubkey())}
    transaction = sign(message, [two, Keypair(), one])
    assert transaction.verify_with_results() == [True, True]


def test_a_wallet_of_anchorpy_signs_with_its_payer() -> None:
    class Wallet:
        def __init__(self, payer: Keypair) -> None:
            self.payer = payer
            self.public_key = payer.pubkey()

    pair = Keypair()
    assert key_pairs([Wallet(pair)]) == {pair.pubkey(): pair}
    with pytest.raises(TypeError, match="not a signer"):
        key_pairs([Pubkey.new_unique()])


def test_the_compute_budget() -> None:
    assert compute_budget(None, None) == []
    limit, price = compute_budget(300_000, 5)
    assert bytes(limit.data) == b"\2" + (300_000).to_bytes(4, "little")
    assert bytes(price.data) == b"\3" + (5).to_bytes(8, "little")
    assert with_headroom(100_000) == 110_300
    assert with_headroom(0) == 1_000
    assert with_headroom(1_400_000) == 1_400_000


def test_what_instructions_set_themselves_stays() -> None:
    own = compute_budget(300_000, None)
    call = instruction(1)
    assert with_budget([*own, call], 5, None) == [*own, call]
    assert with_budget([*own, call], 5, 7) == [*compute_budget(None, 7), *own, call]
    with pytest.raises(
        InvalidTransaction, match="several instructions set the compute unit limit"
    ):
        with_budget([*own, *own, call], None, None)


@pytest.mark.parametrize(
    ("own", "given"),
    [((9, None), {"compute_units": 5}), ((None, 9), {"priority_fee": 5})],
)
def test_a_budget_given_twice_is_refused(
    own: tuple[Any, Any], given: dict[str, Any]
) -> None:
    budget = compute_budget(*own)
    with pytest.raises(InvalidTransaction, match="leave out one"):
        run(
            draft_transaction(
                ScriptedTransport(), [*budget, instruction(1)], PROGRAM, **given
            )
        )
