from __future__ import annotations

from pathlib import Path

import pytest
from solders.keypair import Keypair

from mcpsol_py.bodies.numbers import u64
from mcpsol_py.errors import MissingAccount, UnknownName
from mcpsol_py.testing import Difference, TwinProgram

REPO = Path(__file__).resolve().parents[3]
COUNTER, VAULT = REPO / "programs/counter", REPO / "programs/vault"


@pytest.fixture
def counter() -> TwinProgram:
    return TwinProgram(COUNTER / "spec.py", COUNTER / "counter.so")


@pytest.fixture
def alice(counter: TwinProgram) -> Keypair:
    key = counter.wallet("alice")
    opened = counter.call("initialize", accounts={"authority": key}, args={"start": 5})
    assert opened.error == ""
    return key


def test_a_call_is_made_on_both_sides(counter: TwinProgram, alice: Keypair) -> None:
    added = counter.call("increment", accounts={"authority": alice}, args={"amount": 3})
    assert [event.fields["count"] for event in added.events] == [8]
    at = added.accounts["counter"]
    assert counter.svm is not None
    assert counter.state(at) == counter.svm.state(at)
    assert counter.state(at)["authority"] == alice.pubkey()
    assert (
        counter.call(
            "decrement", accounts={"authority": alice}, args={"amount": 8}
        ).returned
        == 0
    )


def test_a_refusal_has_the_name_of_its_error(
    counter: TwinProgram, alice: Keypair
) -> None:
    refused = counter.call(
        "decrement", accounts={"authority": alice}, args={"amount": 6}
    )
    assert (refused.error, refused.events, refused.returned) == ("Underflow", (), None)
    unsigned = counter.call(
        "decrement", accounts={"authority": alice}, args={"amount": 1}, signers=()
    )
    assert unsigned.error == "AccountNotSigner"


@pytest.mark.parametrize(
    ("lamports", "error"),
    [
        (500_000, "ResultWithNegativeLamports"),
        (1_300_000, "InsufficientFundsForRent"),
        (1_231_920, ""),  # the rent, and nothing is left
        (1_231_920 + 890_880, ""),
    ],
)
def test_a_payer_has_too_few_lamports(
    counter: TwinProgram, lamports: int, error: str
) -> None:
    poor = counter.wallet("poor", lamports)
    opened = counter.call("initialize", accounts={"authority": poor}, args={"start": 5})
    assert opened.error == error


def spoil_state(counter: TwinProgram, at: object) -> None:
    counter.simulator.state(bytes(at)).count = u64(77)  # type: ignore[call-overload]  # a Pubkey


def spoil_lamports(counter: TwinProgram, at: object) -> None:
    counter.simulator.put_wallet(bytes(at), 1)  # type: ignore[call-overload]  # as above


@pytest.mark.parametrize("spoil", [spoil_state, spoil_lamports])
def test_sides_that_do_not_agree_are_found(
    counter: TwinProgram, alice: Keypair, spoil: object
) -> None:
    assert callable(spoil)
    at = counter.complete("increment", {"authority": alice}, {"amount": 1})[0][
        "counter"
    ]
    spoil(counter, at)
    with pytest.raises(Difference):
        counter.call("increment", accounts={"authority": alice}, args={"amount": 1})


def test_another_error_on_one_side_is_found(
    counter: TwinProgram, alice: Keypair
) -> None:
    assert counter.svm is not None
    at = counter.complete("increment", {"authority": alice}, {"amount": 1})[0][
        "counter"
    ]
    counter.svm.put_wallet(at, 10**9)
    with pytest.raises(Difference, match="AccountNotInitialized"):
        counter.call("increment", accounts={"authority": alice}, args={"amount": 1})


def test_state_is_put_on_both_sides(counter: TwinProgram, alice: Keypair) -> None:
    at = counter.complete("increment", {"authority": alice}, {"amount": 1})[0][
        "counter"
    ]
    counter.put_state(at, count=2**64 - 1)
    full = counter.call("increment", accounts={"authority": alice}, args={"amount": 1})
    assert full.error == "Overflow"


def test_tokens_and_supplies_are_compared() -> None:
    vault = TwinProgram(VAULT / "spec.py", VAULT / "vault.so")
    owner, mint = vault.wallet(), vault.mint()
    opened = vault.call(
        "initialize", accounts={"authority": owner, "mint": mint}
    ).accounts
    purse = vault.token_account(mint, owner, 50)
    accounts = {
        "vault": opened["vault"],
        "source": purse,
        "mint": mint,
        "depositor": owner,
    }
    assert vault.call("deposit", accounts=accounts, args={"amount": 20}).error == ""
    assert (vault.tokens(purse), vault.tokens(opened["tokens"])) == (30, 20)
    vault.simulator.put_tokens(
        bytes(purse), mint=bytes(mint), owner=bytes(owner.pubkey()), amount=29
    )
    with pytest.raises(Difference):
        vault.call("deposit", accounts=accounts, args={"amount": 1})


def test_without_a_compiled_program_nothing_is_compared() -> None:
    counter = TwinProgram(COUNTER / "spec.py")
    assert counter.svm is None
    made = counter.call(
        "initialize", accounts={"authority": counter.wallet()}, args={"start": 1}
    )
    assert made.error == ""


def test_accounts_that_do_not_exist_are_refused(counter: TwinProgram) -> None:
    with pytest.raises(UnknownName):
        counter.call(
            "increment", accounts={"thief": counter.wallet()}, args={"amount": 1}
        )
    with pytest.raises(MissingAccount):
        counter.call("increment", args={"amount": 1})
