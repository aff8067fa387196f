"""The generated function builds what the general way builds, and leaves all other calls to it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.errors import EncodeError, MissingAccount, UnknownName
from mcpsol_py.model import program as model
from mcpsol_py.model.types import U64, Field
from mcpsol_py.program import Program

PROGRAM = Pubkey.new_unique()
IX = model.Instruction(
    "pay",
    model.Discriminator(b"\7"),
    (Field("amount", U64),),
    (
        model.Account("from_account", writable=True, signer=True),
        model.Account("to", writable=True),
        model.Account("system_program"),
    ),
)
PAY = Program(model.ProgramModel("p", (IX,), address=str(PROGRAM))).instruction("pay")


def all_given() -> dict[str, Any]:
    return {
        name: Pubkey.new_unique() for name in ("from_account", "to", "system_program")
    }


def test_all_given_makes_the_instruction_as_by_hand() -> None:
    given_accounts = all_given()
    wanted = Instruction(
        PROGRAM,
        b"\7" + (5).to_bytes(8, "little"),
        [
            AccountMeta(given_accounts["from_account"], True, True),
            AccountMeta(given_accounts["to"], False, True),
            AccountMeta(given_accounts["system_program"], False, False),
        ],
    )
    assert PAY.build({"amount": 5}, given_accounts) == wanted
    other = Pubkey.new_unique()
    assert (
        PAY.build({"amount": 5}, given_accounts, program_id=other).program_id == other
    )
    assert (
        PAY.build({"amount": 5}, given_accounts, program_id=str(other)).program_id
        == other
    )


@given(st.permutations(["from_account", "to", "system_program"]), st.data())
def test_any_form_of_the_same_accounts_gives_the_same(
    order: list[str], data: st.DataObject
) -> None:
    pairs = {name: Keypair() for name in order}
    plain = PAY.build(
        {"amount": 5}, {name: pair.pubkey() for name, pair in pairs.items()}
    )
    spelled: dict[str, Any] = {}
    for name in order:
        key = data.draw(
            st.sampled_from([name, "".join(w.title() for w in name.split("_"))])
        )
        value = pairs[name]
        spelled[key] = data.draw(
            st.sampled_from([value, value.pubkey(), str(value.pubkey())])
        )
    assert PAY.build({"amount": "5"}, spelled) == plain


def test_what_is_missing_is_filled_in() -> None:
    wallet, to = Keypair(), Pubkey.new_unique()
    built = PAY.build({"amount": 1}, {"to": to}, wallet=wallet)
    assert [str(m.pubkey) for m in built.accounts] == [
        str(wallet.pubkey()),
        str(to),
        "1" * 32,
    ]


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UnknownName, match="'extra'"):
        PAY.build({"amount": 1}, {**all_given(), "extra": PROGRAM})


def test_a_misspelt_name_is_an_error() -> None:
    wrong = all_given()
    wrong["too"] = wrong.pop("to")
    with pytest.raises(UnknownName, match="Did you mean 'to'"):
        PAY.build({"amount": 1}, wrong)


def test_none_for_a_required_account_is_an_error() -> None:
    with pytest.raises(MissingAccount):
        PAY.build({"amount": 1}, {**all_given(), "to": None})


def test_a_value_other_than_an_address_is_an_error() -> None:
    with pytest.raises(EncodeError, match="expected an address .*, got 5"):
        PAY.build({"amount": 1}, {**all_given(), "to": 5})


@pytest.mark.parametrize("args", [{"amount": 1 << 64}, {"amout": 1}, {}])
def test_arguments_are_checked_in_the_generated_function_too(
    args: dict[str, int],
) -> None:
    with pytest.raises(EncodeError, match="amount"):
        PAY.build(args, all_given())


def test_remaining_accounts_come_last() -> None:
    extra = Pubkey.new_unique()
    built = PAY.build({"amount": 1}, all_given(), remaining=[extra])
    assert built.accounts[-1] == AccountMeta(extra, False, False)


def test_without_an_address_the_program_id_must_be_given() -> None:
    nowhere = Program(model.ProgramModel("p", (IX,))).instruction("pay")
    with pytest.raises(MissingAccount) as caught:
        nowhere.build({"amount": 1}, all_given())
    assert caught.value.account == "program_id"
