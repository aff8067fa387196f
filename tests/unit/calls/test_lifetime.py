"""How long a transaction is followed, and what is said about one that was not seen to land."""

from __future__ import annotations

from typing import Any

import pytest
from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import AdvanceNonceAccountParams, advance_nonce_account
from solders.transaction import VersionedTransaction

from mcpsol_py.calls import follow
from mcpsol_py.calls.lifetime import (
    DurableNonce,
    Lifetime,
    UnknownLifetime,
    UntilBlockHeight,
    lifetime_of,
)
from mcpsol_py.calls.send import submit
from mcpsol_py.calls.transactions import choose_blockhash, nonce_account_of, with_budget
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Status, run
from mcpsol_py.errors import SendUnknown, TransportError
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.nonce import NonceAccount, advanced_by, advanced_first, read_nonce

WALLET = Keypair.from_seed(bytes([3] * 32))
NONCE = Pubkey(bytes([5] * 32))
VALUE, LATER = Hash(bytes([9] * 32)), Hash(bytes([10] * 32))
GO = Instruction(Pubkey(bytes([7] * 32)), b"\1", [])
ADVANCE = advance_nonce_account(
    AdvanceNonceAccountParams(nonce_pubkey=NONCE, authorized_pubkey=WALLET.pubkey())
)


def nonce_account(value: Hash = VALUE) -> Account:
    head = (1).to_bytes(4, "little") * 2
    data = head + bytes(WALLET.pubkey()) + bytes(value) + (5000).to_bytes(8, "little")
    return Account(lamports=1_500_000, data=data, owner=SYSTEM_PROGRAM)


def signed(*instructions: Instruction, blockhash: Hash = VALUE) -> VersionedTransaction:
    message = MessageV0.try_compile(WALLET.pubkey(), list(instructions), [], blockhash)
    return VersionedTransaction(message, [WALLET])


# --- which lifetime ---------------------------------------------------------------------------------------------------


def test_a_blockhash_chosen_here_lives_until_its_block_height() -> None:
    chain = ScriptedTransport(valid_for=77)
    blockhash, lifetime = run(choose_blockhash(chain))
    run(choose_blockhash(chain))
    assert lifetime == UntilBlockHeight(77)
    assert run(lifetime_of(chain, signed(GO, blockhash=blockhash))) == UntilBlockHeight(
        77
    )


def test_the_newest_blockhash_is_known_wherever_it_was_chosen() -> None:
    newest = Hash((1).to_bytes(32, "little"))  # the script's first
    chain = ScriptedTransport(valid_for=77)
    assert run(lifetime_of(chain, signed(GO, blockhash=newest))) == UntilBlockHeight(77)


def test_a_blockhash_chosen_elsewhere_has_an_unknown_lifetime() -> None:
    assert run(
        lifetime_of(ScriptedTransport(valid_for=77), signed(GO))
    ) == UnknownLifetime(77)


def test_a_nonce_in_place_of_the_blockhash_is_durable() -> None:
    chain = ScriptedTransport(accounts={NONCE: nonce_account()})
    assert run(lifetime_of(chain, signed(ADVANCE, GO))) == DurableNonce(NONCE, VALUE)


def test_a_nonce_advanced_first_is_not_durable_if_the_blockhash_is_another() -> None:
    chain = ScriptedTransport(accounts={NONCE: nonce_account(LATER)}, valid_for=77)
    assert run(lifetime_of(chain, signed(ADVANCE, GO))) == UnknownLifetime(77)


def test_a_nonce_advanced_later_in_the_transaction_is_not_durable() -> None:
    chain = ScriptedTransport(accounts={NONCE: nonce_account()}, valid_for=77)
    assert run(lifetime_of(chain, signed(GO, ADVANCE))) == UnknownLifetime(77)


# --- the nonce in a new transaction -----------------------------------------------------------------------------------


def test_the_compute_budget_goes_behind_the_advance() -> None:
    assert [
        ix.program_id == SYSTEM_PROGRAM for ix in with_budget([ADVANCE, GO], 10_000, 1)
    ] == [
        True,
        False,
        False,
        False,
    ]
    assert with_budget([GO], 10_000, None)[1] == GO
    assert nonce_account_of([GO, ADVANCE]) is None


def test_the_nonce_takes_the_blockhashs_place() -> None:
    chain = ScriptedTransport(accounts={NONCE: nonce_account()})
    assert run(choose_blockhash(chain, NONCE)) == (VALUE, DurableNonce(NONCE, VALUE))
    assert chain.count("latest_blockhash") == 0


@pytest.mark.parametrize(
    "account",
    [
        None,
        Account(lamports=1, data=b"", owner=SYSTEM_PROGRAM),
        Account(lamports=1, data=bytes(80), owner=SYSTEM_PROGRAM),
        Account(lamports=1, data=nonce_account().data, owner=NONCE),
    ],
)
def test_an_account_that_holds_no_nonce_leaves_the_newest_blockhash(
    account: Account | None,
) -> None:
    accounts = {} if account is None else {NONCE: account}
    _, lifetime = run(choose_blockhash(ScriptedTransport(accounts=accounts), NONCE))
    assert lifetime == UntilBlockHeight(150)


def test_a_nonce_account_is_read() -> None:
    assert read_nonce(nonce_account()) == NonceAccount(WALLET.pubkey(), VALUE)


def test_what_advances_no_nonce() -> None:
    assert advanced_by(Instruction(SYSTEM_PROGRAM, b"\4\0\0\0", [])) is None
    assert (
        advanced_by(
            Instruction(SYSTEM_PROGRAM, b"\5\0\0\0", [AccountMeta(NONCE, False, True)])
        )
        is None
    )
    assert advanced_first(MessageV0.try_compile(WALLET.pubkey(), [], [], VALUE)) is None
    assert (
        advanced_first(Message.new_with_blockhash([ADVANCE], WALLET.pubkey(), VALUE))
        == NONCE
    )


# --- following --------------------------------------------------------------------------------------------------------


def followed(lifetime: Lifetime, **script: Any) -> Signature:
    chain = ScriptedTransport(sends=[None], **script)
    return run(submit(chain, signed(ADVANCE, GO), lifetime))


def unknown(lifetime: Lifetime, **script: Any) -> str:
    with pytest.raises(SendUnknown) as caught:
        followed(lifetime, **script)
    assert caught.value.transaction == signed(ADVANCE, GO)
    assert "_transaction" not in caught.value.details()
    return str(caught.value)


DURABLE = DurableNonce(NONCE, VALUE)


def test_a_durable_transaction_does_not_expire_with_a_block_height() -> None:
    late = [*[None] * 4, Status(confirmed=True)]
    followed(DURABLE, statuses=late, heights=[10**9], accounts={NONCE: nonce_account()})


def test_a_durable_transaction_is_given_up_once_its_nonce_was_advanced() -> None:
    text = unknown(DURABLE, statuses=[None] * 9, accounts={NONCE: nonce_account(LATER)})
    assert f"the nonce of account {NONCE} was advanced" in text
    assert "no longer land" not in text


def test_a_durable_transaction_that_advanced_its_nonce_itself_is_found() -> None:
    statuses = [None, Status(confirmed=True)]
    followed(DURABLE, statuses=statuses, accounts={NONCE: nonce_account(LATER)})


def test_a_missing_nonce_account_does_not_end_the_following() -> None:
    followed(DURABLE, statuses=[None, None, None, Status(confirmed=True)])


def test_a_durable_transaction_is_not_followed_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow, "LONGEST", 0.0)
    text = unknown(DURABLE, statuses=[None] * 9, accounts={NONCE: nonce_account()})
    assert f"it can still land until the nonce of account {NONCE} is advanced" in text


def test_a_transaction_that_can_no_longer_land_is_called_so() -> None:
    text = unknown(UntilBlockHeight(150), statuses=[None] * 9, heights=[151])
    assert "block height 150 has passed, so it can no longer land" in text


def test_an_unknown_lifetime_is_not_called_over() -> None:
    text = unknown(UnknownLifetime(150), statuses=[None] * 9, heights=[100, 151])
    assert "whether it can still land is not known" in text
    assert "no longer" not in text


@pytest.mark.parametrize(
    ("lifetime", "words"),
    [
        (UntilBlockHeight(150), "it can still land until block height 150"),
        (DURABLE, f"it can still land until the nonce of account {NONCE} is advanced"),
        (UnknownLifetime(150), "whether it can still land is not known"),
    ],
)
def test_a_node_that_falls_silent_leaves_it_open(
    lifetime: Lifetime, words: str
) -> None:
    silence: list[Any] = [TransportError("script", "no connection", retryable=True)] * 5
    text = unknown(lifetime, statuses=silence)
    assert "no longer answers" in text
    assert words in text
