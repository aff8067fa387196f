"""Build, simulate, view, send, fetch: what the client does around the chain, against a scripted one."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect
from mcpsol_py.calls import follow
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Outcome, Status
from mcpsol_py.errors import (
    AccountNotFound,
    DecodeError,
    EncodeError,
    MissingAccount,
    NotUsable,
    ProgramFailed,
    SendUnknown,
    TransportError,
)
from mcpsol_py.model import program as model
from mcpsol_py.model.types import BORSH_STRING, U8, U32, U64, Field, Struct, Tuple, Type
from mcpsol_py.program import Program
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.pda import find_pda
from mcpsol_py.sync_client import SyncProgramClient

PROGRAM, NODE = Pubkey.new_unique(), Pubkey.new_unique()
WALLET = Keypair()
VAULT = model.AccountType(
    "Vault", model.Discriminator(b"vault_ds"), Struct((Field("index", U64),))
)
EVENT = model.Event(
    "Paid", model.Discriminator(b"event_ds"), Struct((Field("amount", U64),))
)


def program_of(returns: Type | None = None) -> Program:
    derived = model.Pda(
        (model.ConstSeed(b"p"), model.AccountSeed(("vault",), ("index",), "Vault"))
    )
    accounts = (
        model.Account("payer", writable=True, signer=True),
        model.Account("vault", writable=True),
        model.Account("purse", pda=derived),
    )
    pay = model.Instruction(
        "pay",
        model.Discriminator(b"\1"),
        (Field("amount", U64),),
        accounts,
        returns=returns,
    )
    look = model.Instruction(
        "look", model.Discriminator(b"\2"), (), (), returns=returns
    )
    return Program(
        model.ProgramModel(
            "bank",
            (pay, look),
            accounts=(VAULT,),
            events=(EVENT,),
            errors=(model.ErrorCode(6000, "Broke", "nothing left"),),
            address=str(PROGRAM),
        )
    )


def vault(index: int, owner: Pubkey = PROGRAM) -> Account:
    return Account(lamports=1, data=b"vault_ds" + struct.pack("<Q", index), owner=owner)


def client_of(returns: Type | None = None, **script: Any) -> SyncProgramClient:
    script.setdefault("identity", NODE)
    return SyncProgramClient(
        ProgramClient(program_of(returns), ScriptedTransport(**script), wallet=WALLET)
    )


def chain(client: SyncProgramClient) -> ScriptedTransport:
    assert isinstance(client.transport, ScriptedTransport)
    return client.transport


# --- build -----------------------------------------------------------------------------------------------------------


def test_build_fetches_what_seeds_need_and_fills_in_the_wallet() -> None:
    key = Pubkey.new_unique()
    client = client_of(accounts={key: vault(7)})
    built = client.build("pay", {"amount": 5}, {"vault": key})
    assert [m.pubkey for m in built.accounts] == [
        WALLET.pubkey(),
        key,
        find_pda([b"p", struct.pack("<Q", 7)], PROGRAM)[0],
    ]
    assert bytes(built.data) == b"\1" + struct.pack("<Q", 5)
    assert chain(client).count("get_accounts") == 1


def test_build_without_need_asks_nothing() -> None:
    client = client_of()
    client.build("pay", {"amount": 5}, {"vault": PROGRAM, "purse": PROGRAM})
    assert chain(client).asked == []


def test_build_errors_are_the_callers() -> None:
    client = client_of()
    with pytest.raises(MissingAccount, match="does not exist"):
        client.build("pay", {"amount": 5}, {"vault": PROGRAM})
    with pytest.raises(EncodeError):
        client.build("pay", {"amount": -1}, {"vault": PROGRAM, "purse": PROGRAM})


# --- simulate and view -----------------------------------------------------------------------------------------------


def look(client: SyncProgramClient) -> Instruction:
    return client.build("look")


def test_a_failing_simulation_has_the_name_and_raises_when_told_to() -> None:
    logs = (
        f"Program {PROGRAM} invoke [1]",
        f"Program {PROGRAM} failed: custom program error: 0x1770",
    )
    client = client_of(
        simulations=[
            Outcome(err={"InstructionError": [0, {"Custom": 6000}]}, logs=logs)
        ]
    )
    simulation = client.simulate(look(client))
    assert not simulation.ok
    assert simulation.error is not None
    assert (simulation.error.name, simulation.error.error_message) == (
        "Broke",
        "nothing left",
    )
    with pytest.raises(ProgramFailed):
        simulation.raise_for_error()


def event_logs(*lines: str) -> tuple[str, ...]:
    return (f"Program {PROGRAM} invoke [1]", *lines, f"Program {PROGRAM} success")


def data_line(data: bytes) -> str:
    return f"Program data: {base64.b64encode(data).decode()}"


def test_events_are_read_from_the_programs_own_lines() -> None:
    paid, other = b"event_ds" + struct.pack("<Q", 9), Pubkey.new_unique()
    inner = (
        f"Program {other} invoke [2]",
        data_line(b"event_ds" + bytes(8)),
        f"Program {other} success",
    )
    client = client_of(
        simulations=[
            Outcome(logs=event_logs(*inner, data_line(paid), data_line(b"what else")))
        ]
    )
    assert client.simulate(look(client)).events == (("Paid", {"amount": 9}),)


def test_events_by_cpi_are_read_from_the_inner_calls() -> None:
    tag = bytes.fromhex("e445a52e51cb9a1d")
    paid = b"event_ds" + struct.pack("<Q", 9)
    inner = ((PROGRAM, tag + paid), (NODE, tag + paid), (PROGRAM, b"\1"))
    client = client_of(
        simulations=[Outcome(inner=inner)], transactions=[Outcome(inner=inner), None]
    )
    assert client.simulate(look(client)).events == (("Paid", {"amount": 9}),)
    signature = str(Keypair().sign_message(b"x"))
    assert client.transaction_events(signature) == [("Paid", {"amount": 9})]
    with pytest.raises(TransportError, match="knows no transaction"):
        client.transaction_events(signature)


async def test_a_chain_without_websockets_cannot_be_watched() -> None:
    client = ProgramClient(program_of(), ScriptedTransport())
    with pytest.raises(TransportError, match="subscriptions"):
        _ = [value async for value in client.watch("Vault", PROGRAM)]


@pytest.mark.parametrize(
    ("returns", "raw", "value"),
    [
        (U64, struct.pack("<Q", 5), 5),
        (U64, b"\x05", 5),  # zeros at the end are trimmed by nodes
        (U64, None, 0),
        (Tuple((U8, U32)), b"\1\2", [1, 2]),
        (BORSH_STRING, b"\2\0\0\0hi", "hi"),
    ],
)
def test_a_view_decodes_what_the_program_returns(
    returns: Type, raw: bytes | None, value: Any
) -> None:
    returned = (PROGRAM, raw) if raw is not None else None
    client = client_of(returns, simulations=[Outcome(return_data=returned)])
    assert client.view("look").value == value


def test_a_view_does_not_take_what_another_program_returned() -> None:
    client = client_of(U64, simulations=[Outcome(return_data=(NODE, b"\1"))])
    with pytest.raises(NotUsable, match="another program"):
        client.view("look")


def test_a_view_without_a_type_gives_the_bytes_and_the_reason() -> None:
    client = client_of(simulations=[Outcome(return_data=(PROGRAM, b"\1\2")), Outcome()])
    view = client.view("look")
    assert (view.value, view.raw) == (None, b"\1\2")
    assert "type" in view.why
    with pytest.raises(NotUsable, match="returned nothing"):
        client.view("look")


def test_a_failing_view_is_the_programs_failure() -> None:
    client = client_of(
        U64, simulations=[Outcome(err={"InstructionError": [0, {"Custom": 6000}]})]
    )
    with pytest.raises(ProgramFailed, match="Broke"):
        client.view("look")


# --- send ------------------------------------------------------------------------------------------------------------


def test_a_send_signs_once_hands_in_once_and_waits() -> None:
    client = client_of(
        sends=[None], statuses=[None, Status(confirmed=False), Status(confirmed=True)]
    )
    signature = client.send(look(client))
    sent = [a.given["transaction"] for a in chain(client).asked if a.name == "send"]
    assert len(sent) == 1
    assert sent[0].signatures == [signature]
    assert sent[0].verify_with_results() == [True]
    assert chain(client).slept > 0


def test_a_refused_preflight_is_named_and_nothing_more_is_sent() -> None:
    refused = Outcome(err={"InstructionError": [0, {"Custom": 6000}]})
    client = client_of(sends=[refused])
    with pytest.raises(ProgramFailed, match="Broke"):
        client.send(look(client))
    assert chain(client).count("send") == 1
    assert chain(client).count("status") == 0


def test_a_landed_failure_is_named_with_its_logs() -> None:
    landed = Outcome(
        err={"InstructionError": [0, {"Custom": 6000}]}, logs=("Program log: so",)
    )
    client = client_of(
        sends=[None], statuses=[Status(True, landed.err)], transactions=[landed]
    )
    with pytest.raises(ProgramFailed) as caught:
        client.send(look(client), skip_preflight=True)
    assert (caught.value.name, caught.value.logs) == ("Broke", ("Program log: so",))


def test_an_expired_transaction_is_unknown_with_its_signature_and_never_sent_again() -> (
    None
):
    client = client_of(
        sends=[None], statuses=[None] * 9, heights=[100, 151, 152], valid_for=150
    )
    with pytest.raises(SendUnknown) as caught:
        client.send(look(client))
    sent = next(a.given["transaction"] for a in chain(client).asked if a.name == "send")
    assert caught.value.signature == str(sent.signatures[0])
    assert chain(client).count("send") == 1
    assert chain(client).count("status") == 3  # before, at expiry, and once more


def test_one_that_landed_in_the_last_block_is_found() -> None:
    client = client_of(
        sends=[None], statuses=[None, Status(confirmed=True)], heights=[151]
    )
    client.send(look(client))


def test_a_lost_answer_is_asked_after_and_not_sent_again() -> None:
    lost = TransportError("script", "no answer within 30 s", retryable=True)
    client = client_of(sends=[lost], statuses=[None, Status(confirmed=True)])
    client.send(look(client))
    assert chain(client).count("send") == 1
    client = client_of(sends=[lost], statuses=[None] * 5, heights=[151])
    with pytest.raises(SendUnknown, match="no answer within 30 s"):
        client.send(look(client))


def test_a_node_that_falls_silent_leaves_the_outcome_unknown() -> None:
    lost: list[Any] = [TransportError("script", "no connection", retryable=True)] * 5
    client = client_of(sends=[None], statuses=lost)
    with pytest.raises(SendUnknown, match="no longer answers"):
        client.send(look(client))


def test_a_node_that_will_not_take_it_is_a_plain_error() -> None:
    client = client_of(
        sends=[TransportError("script", "transaction too large", code=-32602)]
    )
    with pytest.raises(TransportError):
        client.send(look(client))


def test_an_automatic_budget_simulates_first_and_a_failure_blocks_signing() -> None:
    client = client_of(
        simulations=[Outcome(err={"InstructionError": [1, {"Custom": 6000}]})]
    )
    with pytest.raises(ProgramFailed, match="Broke"):
        client.send(look(client), compute_units="auto")
    assert chain(client).count("send") == 0


def test_budget_and_fee_stand_before_the_instructions() -> None:
    client = client_of(
        simulations=[Outcome(units=100_000)], sends=[None], fees=[1, 2, 3, 100]
    )
    client.send(look(client), compute_units="auto", priority_fee="auto", confirm=False)
    sent = next(a.given["transaction"] for a in chain(client).asked if a.name == "send")
    datas = [bytes(ix.data) for ix in sent.message.instructions]
    assert datas == [
        b"\2" + (110_300).to_bytes(4, "little"),
        b"\3" + (100).to_bytes(8, "little"),
        b"\2",
    ]


def test_without_a_wallet_or_signer_nobody_pays() -> None:
    client = SyncProgramClient(ProgramClient(program_of(), ScriptedTransport()))
    with pytest.raises(MissingAccount, match="no wallet"):
        client.send(look(client))


def test_an_unsigned_transaction_for_others_to_sign() -> None:
    client = client_of()
    transaction = client.transaction([look(client)])
    assert transaction.message.account_keys[0] == WALLET.pubkey()
    assert not any(bytes(s).strip(b"\0") for s in transaction.signatures)


# --- fetch -----------------------------------------------------------------------------------------------------------


def test_fetch_decodes_and_says_what_is_not_there() -> None:
    key, foreign, short = (Pubkey.new_unique() for _ in range(3))
    broken = Account(lamports=1, data=b"vault_ds\1", owner=PROGRAM)
    client = client_of(accounts={key: vault(3), foreign: vault(3, NODE), short: broken})
    assert client.fetch("Vault", str(key)) == {"index": 3}
    with pytest.raises(AccountNotFound, match="does not exist"):
        client.fetch("Vault", Pubkey.new_unique())
    with pytest.raises(AccountNotFound, match="belongs to program"):
        client.fetch("Vault", foreign)
    with pytest.raises(AccountNotFound, match="an address"):
        client.fetch("Vault", "nonsense")
    with pytest.raises(DecodeError):
        client.fetch("Vault", short)


def test_fetch_many_gives_none_for_an_account_that_does_not_exist() -> None:
    one, absent, two = (Pubkey.new_unique() for _ in range(3))
    client = client_of(accounts={one: vault(1), two: vault(2)})
    assert client.fetch_many("Vault", [one, absent, two]) == [
        {"index": 1},
        None,
        {"index": 2},
    ]


def test_fetch_many_refuses_an_account_of_another_program() -> None:
    foreign = Pubkey.new_unique()
    client = client_of(accounts={foreign: vault(3, NODE)})
    with pytest.raises(AccountNotFound, match="belongs to program"):
        client.fetch_many("Vault", [foreign])


def test_values_have_a_json_form() -> None:
    key = Pubkey.new_unique()
    client = client_of(accounts={key: vault(7)})
    assert client.fetch("Vault", key, as_json=True) == {"index": "7"}
    assert client.fetch_many("Vault", [key], as_json=True) == [{"index": "7"}]
    assert client.fetch_all("Vault", as_json=True) == [(key, {"index": "7"})]


def test_fetch_all_filters_by_fields() -> None:
    one, two = Pubkey.new_unique(), Pubkey.new_unique()
    client = client_of(accounts={one: vault(1), two: vault(2)})
    assert client.fetch_all("Vault", {"index": 2}) == [(two, {"index": 2})]
    assert chain(client).asked[0].given["filters"] == [
        (0, b"vault_ds"),
        (8, struct.pack("<Q", 2)),
    ]


def test_fetch_all_filters_by_discriminator() -> None:
    one, two, other = (Pubkey.new_unique() for _ in range(3))
    accounts = {
        one: vault(1),
        two: vault(2),
        other: Account(lamports=1, data=b"other_ds" + bytes(8), owner=PROGRAM),
    }
    client = client_of(accounts=accounts)
    assert client.fetch_all("Vault") == [(one, {"index": 1}), (two, {"index": 2})]
    assert chain(client).asked[0].given["filters"] == [(0, b"vault_ds")]


# --- the asynchronous client -----------------------------------------------------------------------------------------


async def test_the_asynchronous_client_is_the_same() -> None:
    key = Pubkey.new_unique()
    script = ScriptedTransport(
        accounts={key: vault(7)}, sends=[None], statuses=[Status(confirmed=True)]
    )
    async with await connect(program_of(), script, wallet=WALLET) as client:
        built = await client.build("pay", {"amount": 5}, {"vault": key})
        assert await client.send([built]) is not None
        assert await client.fetch("Vault", key) == {"index": 7}
    assert script.count("close") == 1


def test_a_node_that_stands_still_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(follow, "LONGEST", 0.0)
    client = client_of(sends=[None], statuses=[None] * 50, heights=[100], valid_for=150)
    with pytest.raises(SendUnknown, match="can still land until block height 150"):
        client.send(look(client))
    assert chain(client).count("send") == 1


def test_that_it_failed_is_known_although_its_logs_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = client_of(
        sends=[None],
        statuses=[Status(True, {"InstructionError": [0, {"Custom": 6000}]})],
    )

    async def refused(_signature: Any) -> Any:
        raise TransportError("script", "getTransaction was refused", code=-32601)

    monkeypatch.setattr(client.transport, "transaction", refused)
    with pytest.raises(ProgramFailed) as caught:
        client.send(look(client), skip_preflight=True)
    assert (caught.value.name, caught.value.logs) == ("Broke", ())
