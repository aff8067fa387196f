"""Transactions and accounts read: lookup tables, common programs, several programs with one discriminator, where the
fields of an account stand, and all tokens of an owner."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from mcpsol_py import load
from mcpsol_py.calls import reading, transaction_reading
from mcpsol_py.calls.account_filters import filterable
from mcpsol_py.calls.foreign.known_instructions import read_known
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.simulation import unsigned
from mcpsol_py.codec.account import AccountCodec
from mcpsol_py.errors import DecodeError
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM

PROGRAM = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"
OTHER = "J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK"
TABLES = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")


def key(number: int) -> Pubkey:
    return Pubkey.from_bytes(bytes([number]) * 32)


def idl(name: str, address: str) -> Program:
    return put_idl(name, address, "u64")


def put_idl(name: str, address: str, *args: str) -> Program:
    """A program whose instruction takes an amount, and arguments of more types."""
    return load(
        {
            "address": address,
            "metadata": {"name": name, "version": "0.1.0", "spec": "0.1.0"},
            "instructions": [
                {
                    "name": "put",
                    "discriminator": [7] * 8,
                    "accounts": [
                        {"name": "box", "writable": True},
                        {"name": "who", "signer": True},
                    ],
                    "args": [
                        {"name": name, "type": kind}
                        for name, kind in zip(("amount", "more"), args, strict=False)
                    ],
                }
            ],
        }
    )


SERVED = ServedProgram(idl("boxes", PROGRAM), Pubkey.from_string(PROGRAM))
DATA = bytes([7] * 8) + (5).to_bytes(8, "little")


def put(box: Pubkey, who: Pubkey, *more: AccountMeta) -> Instruction:
    metas = [AccountMeta(box, False, True), AccountMeta(who, True, False), *more]
    return Instruction(Pubkey.from_string(PROGRAM), DATA, metas)


def table(address: Pubkey, *held: Pubkey) -> tuple[AddressLookupTableAccount, Account]:
    # solana-address-lookup-table-interface: 56 bytes (kind 1, slots, who may extend it), then the addresses
    data = (
        (1).to_bytes(4, "little")
        + b"\xff" * 8
        + bytes(9)
        + bytes([1, *bytes(key(7))])
        + bytes(2)
    )
    assert len(data) == 56
    data += b"".join(map(bytes, held))
    return AddressLookupTableAccount(address, list(held)), Account(1, data, TABLES)


def text_of(message: MessageV0) -> str:
    return base64.b64encode(bytes(unsigned(message))).decode()


async def test_addresses_of_lookup_tables_are_read_from_the_chain() -> None:
    payer, box, read, written = key(1), key(2), key(3), key(4)
    first, state = table(key(9), key(50), box, written)
    second, other = table(key(8), read)
    more = [AccountMeta(read, False, False), AccountMeta(written, False, True)]
    message = MessageV0.try_compile(
        payer, [put(box, payer, *more)], [first, second], Hash.default()
    )
    assert len(message.account_keys) == 2
    chain = ScriptedTransport(accounts={key(9): state, key(8): other})
    found = await transaction_reading.decode_transaction(
        [SERVED], text_of(message), chain
    )
    (row,) = found["instructions"]
    assert row["args"] == {"amount": "5"}
    assert row["accounts"] == [
        {"name": "box", "address": str(box), "signer": False, "writable": True},
        {"name": "who", "address": str(payer), "signer": True, "writable": True},
        {
            "name": "remaining[0]",
            "address": str(read),
            "signer": False,
            "writable": False,
        },
        {
            "name": "remaining[1]",
            "address": str(written),
            "signer": False,
            "writable": True,
        },
    ]
    assert "note" not in found


@pytest.mark.parametrize("chain", [None, ScriptedTransport()])
async def test_lookup_tables_that_cannot_be_read_are_told(
    chain: ScriptedTransport | None,
) -> None:
    first, _ = table(key(9), key(50), key(2))
    message = MessageV0.try_compile(
        key(1), [put(key(2), key(1))], [first], Hash.default()
    )
    found = await transaction_reading.decode_transaction(
        [SERVED], text_of(message), chain
    )
    assert (
        found["instructions"][0]["accounts"][0]["address"]
        == f"entry 1 of table {key(9)}"
    )
    assert str(key(9)) in found["note"]


async def test_a_message_without_signatures_is_read_too() -> None:
    message = MessageV0.try_compile(key(1), [put(key(2), key(1))], [], Hash.default())
    bare = base64.b64encode(to_bytes_versioned(message)).decode()
    assert await transaction_reading.decode_transaction(
        [SERVED], bare
    ) == await transaction_reading.decode_transaction([SERVED], text_of(message))


async def test_instructions_of_common_programs_are_read_without_an_idl() -> None:
    payer, to = key(1), key(2)
    pay = transfer(
        TransferParams(from_pubkey=payer, to_pubkey=to, lamports=3_000_000_000)
    )
    instructions = [set_compute_unit_limit(90_000), set_compute_unit_price(7), pay]
    message = MessageV0.try_compile(payer, instructions, [], Hash.default())
    limit, price, paid = (
        await transaction_reading.decode_transaction([SERVED], text_of(message))
    )["instructions"]
    assert (limit["instruction"], limit["args"]) == (
        "set_compute_unit_limit",
        {"units": 90_000},
    )
    assert (price["instruction"], price["args"]) == (
        "set_compute_unit_price",
        {"micro_lamports": "7"},
    )
    assert (paid["program"], paid["instruction"], paid["args"]) == (
        "System",
        "transfer",
        {"lamports": "3000000000"},
    )
    assert [a["name"] for a in paid["accounts"]] == ["source", "destination"]


@pytest.mark.parametrize(
    ("program", "data", "wanted"),
    [
        (
            TOKEN_PROGRAM,
            "0c0500000000000000 06",
            ("transfer_checked", {"amount": "5", "decimals": 6}),
        ),
        (TOKEN_2022_PROGRAM, "09", ("close_account", {})),
        (
            TOKEN_PROGRAM,
            "06 00 00",
            ("set_authority", {"authority_type": "MintTokens", "new_authority": None}),
        ),
        (TOKEN_PROGRAM, "06 00", None),
        (TOKEN_PROGRAM, "03 05", None),
        (TOKEN_PROGRAM, "fe", None),
        (TOKEN_PROGRAM, "", None),
    ],
)
def test_what_the_tables_know(
    program: Pubkey, data: str, wanted: tuple[str, Any] | None
) -> None:
    found = read_known(str(program), bytes.fromhex(data))
    assert (None if found is None else found[:2]) == wanted


def test_data_of_one_instruction_is_read_in_each_form_with_its_accounts() -> None:
    from mcpsol_py.solana.base58 import b58encode

    forms = (
        DATA.hex(),
        "0x" + DATA.hex(),
        "base64:" + base64.b64encode(DATA).decode(),
        b58encode(DATA),
    )
    for text in forms:
        assert transaction_reading.data_of(text, "data") == DATA
    with pytest.raises(DecodeError, match="expected data"):
        transaction_reading.data_of("0OIl", "data")
    (row,) = transaction_reading.decode_raw(
        [SERVED], DATA, [str(key(1)), str(key(2)), str(key(3))]
    )["instructions"]
    assert [a["name"] for a in row["accounts"]] == ["box", "who", "remaining[0]"]


def test_data_that_fit_several_programs_are_read_as_each() -> None:
    other = ServedProgram(idl("other", OTHER), Pubkey.from_string(OTHER))
    found = transaction_reading.decode_raw([SERVED, other], DATA)
    assert [row["program"] for row in found["instructions"]] == ["boxes", "other"]
    assert "several programs" in found["note"]
    with pytest.raises(DecodeError, match=r"of any program here \(boxes, other\)"):
        transaction_reading.decode_raw([SERVED, other], b"\0" * 8)


def test_data_of_another_version_have_notes_unless_another_program_explains_them() -> (
    None
):
    (row,) = transaction_reading.decode_raw([SERVED], DATA + b"\1")["instructions"]
    assert row["args"] == {"amount": "5"}
    assert row["notes"] == [
        "put: 1 byte is left over after the last field, from offset 16"
    ]
    longer = put_idl("longer", OTHER, "u64", "u8")
    other = ServedProgram(longer, Pubkey.from_string(OTHER))
    found = transaction_reading.decode_raw([SERVED, other], DATA + b"\1")
    assert [(row["program"], row.get("notes")) for row in found["instructions"]] == [
        ("longer", None)
    ]


def token_account(mint: Pubkey, owner: Pubkey, amount: int, program: Pubkey) -> Account:
    data = (
        bytes(mint)
        + bytes(owner)
        + amount.to_bytes(8, "little")
        + bytes(36)
        + b"\1"
        + bytes(56)
    )
    assert len(data) == 165
    return Account(2_039_280, data, program)


async def test_all_tokens_of_an_owner_where_no_mint_is_named() -> None:
    from mcpsol_py.client.svm import SvmTransport

    chain, owner = SvmTransport(), key(1)
    chain.set_account(key(20), token_account(key(5), owner, 7, TOKEN_PROGRAM))
    chain.set_account(key(21), token_account(key(6), owner, 8, TOKEN_2022_PROGRAM))
    chain.set_account(key(22), token_account(key(7), owner, 0, TOKEN_PROGRAM))
    chain.set_account(key(23), token_account(key(5), key(2), 9, TOKEN_PROGRAM))
    found = (await reading.balances(chain, owner, None))["balances"]
    assert [(row["mint"], row["amount"]) for row in found] == [
        ("SOL", "0"),
        (str(key(5)), "7"),
        (str(key(6)), "8"),
    ]


@pytest.mark.parametrize("mints", [None, [key(5)], [key(6)]])
async def test_the_balance_of_a_token_account_is_its_own(
    mints: list[Pubkey] | None,
) -> None:
    from mcpsol_py.client.svm import SvmTransport

    class Chain(SvmTransport):
        async def program_accounts(self, *_: Any, **__: Any) -> list[Any]:
            return []  # nobody has an account that a token account owns; an older solders cannot list

    chain, owner = Chain(), key(1)
    chain.set_account(key(20), token_account(key(5), owner, 7, TOKEN_PROGRAM))
    found = (await reading.balances(chain, key(20), mints))["balances"]
    (row,) = [
        row for row in found if row["address"] == str(key(20)) and row["mint"] != "SOL"
    ]
    assert (row["mint"], row["amount"], row["owner"]) == (str(key(5)), "7", str(owner))
    assert "this token account" in row["note"]


# --- where fields stand


def sample(schema: Any) -> Any:
    text = str(schema.get("description", ""))
    if "enum" in schema:
        return schema["enum"][0]
    if schema["type"] == "boolean":
        return True
    if "address" in text:
        return str(key(77))
    if "bytes:" in text:
        size = text.split()[0]
        return "0x" + "01" * (int(size) if size.isdecimal() else 2)
    return 5 if schema["type"] == "integer" else "5"


def member(value: Any, name: str) -> Any:
    """The field of that flattened name."""
    if name in value:
        return value[name]
    outer = next(
        k for k in value if name.startswith(f"{k}_") and isinstance(value[k], dict)
    )
    return value[outer][name.removeprefix(f"{outer}_")]


def test_filters_stand_where_the_fields_of_real_programs_stand(
    shared_idl: Path,
) -> None:
    """A value written at a filter's offset is the one that the account then decodes to, whatever its layout."""
    program = load(shared_idl)
    for account in program.model.accounts:
        if program.codecs.layouts.resolver.why_unusable(account.type) is not None:
            continue
        codec = AccountCodec(program.codecs, account)
        for name, row in filterable(program, account).items():
            typed = sample(row.schema)
            raw = program.codecs.codec(row.type).encode_json(typed)
            data = bytearray(codec.discriminator + bytes(codec.size or 52 + 32 * 600))
            data[row.offset : row.offset + len(raw)] = raw
            fields = codec.decode_json(bytes(data))
            assert member(fields, name) == program.codecs.codec(row.type).to_json(
                program.codecs.codec(row.type).decode(raw)
            ), (account.name, name)


# --- what a node tells and a chain in this process does not


EVENT_TAG = bytes.fromhex("e445a52e51cb9a1d")


class Node(ScriptedTransport):
    """A node that knows one transaction and one owner's token accounts."""

    def __init__(
        self,
        result: dict[str, Any] | None,
        held: dict[Pubkey, list[tuple[Pubkey, Account]]],
    ) -> None:
        super().__init__(accounts={})
        self.result, self.held = result, held

    async def landed(self, signature: Any) -> dict[str, Any] | None:
        return self.result

    async def program_keys(self, program_id: Pubkey, **_: Any) -> list[Pubkey]:
        return []

    async def token_accounts(
        self, owner: Pubkey, program_id: Pubkey
    ) -> list[tuple[Pubkey, Account]]:
        return self.held.get(program_id, [])


def boxes_with_events() -> ServedProgram:
    document: dict[str, Any] = {
        "address": PROGRAM,
        "metadata": {"name": "boxes", "version": "0.1.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": "put",
                "discriminator": [7] * 8,
                "accounts": [
                    {"name": "box", "writable": True},
                    {"name": "who", "signer": True},
                ],
                "args": [{"name": "amount", "type": "u64"}],
            }
        ],
        "events": [{"name": "Put", "discriminator": [9] * 8}],
        "types": [
            {
                "name": "Put",
                "type": {
                    "kind": "struct",
                    "fields": [{"name": "amount", "type": "u64"}],
                },
            }
        ],
    }
    return ServedProgram(load(document), Pubkey.from_string(PROGRAM))


async def test_a_transaction_that_landed_is_told_with_its_calls_events_and_error() -> (
    None
):
    from mcpsol_py.solana.base58 import b58encode

    payer, box, looked_up = key(1), key(2), key(3)
    held, _ = table(key(9), looked_up)
    message = MessageV0.try_compile(
        payer,
        [put(box, payer, AccountMeta(looked_up, False, True))],
        [held],
        Hash.default(),
    )
    keys = [*map(str, message.account_keys), str(looked_up)]
    program, system = keys.index(PROGRAM), len(keys)
    event = bytes([9] * 8) + (5).to_bytes(8, "little")
    pay = (2).to_bytes(4, "little") + (77).to_bytes(8, "little")
    result = {
        "slot": 12,
        "transaction": [text_of(message), "base64"],
        "meta": {
            "err": {"InstructionError": [0, {"Custom": 6000}]},
            "fee": 5000,
            "loadedAddresses": {"writable": [str(looked_up)], "readonly": ["1" * 32]},
            "innerInstructions": [
                {
                    "index": 0,
                    "instructions": [
                        {
                            "programIdIndex": system,
                            "accounts": [0, 2],
                            "data": b58encode(pay),
                            "stackHeight": 2,
                        },
                        {
                            "programIdIndex": program,
                            "accounts": [],
                            "data": b58encode(EVENT_TAG + event),
                        },
                    ],
                }
            ],
            "logMessages": [
                f"Program {PROGRAM} invoke [1]",
                f"Program data: {base64.b64encode(event).decode()}",
                f"Program {PROGRAM} failed: custom program error: 0x1770",
            ],
        },
    }
    found = await transaction_reading.decode_signature(
        [boxes_with_events()], Node(result, {}), "1" * 64
    )
    (row,) = found["instructions"]
    assert row["accounts"][2]["address"] == str(looked_up)
    paid, told = row["calls"]
    assert (paid["program"], paid["instruction"], paid["args"]) == (
        "System",
        "transfer",
        {"lamports": "77"},
    )
    assert told["program"] == "boxes"
    assert (
        found["events"]
        == [{"program": "boxes", "name": "Put", "fields": {"amount": "5"}}] * 2
    )
    assert found["failure"]["program_id"] == PROGRAM
    assert (found["failure"]["code"], "failed with" in found["failure"]["text"]) == (
        6000,
        True,
    )
    error = result["meta"]["err"]  # type: ignore[index]
    assert (found["slot"], found["fee"], found["error"]) == (12, "5000", error)


@pytest.mark.parametrize(
    ("chain", "signature", "says"),
    [
        (Node(None, {}), "1" * 64, "does not know transaction"),
        (Node(None, {}), "not one", "expected a signature"),
        (ScriptedTransport(), "1" * 64, "keeps no transactions"),
    ],
)
async def test_a_signature_that_tells_nothing_is_answered(
    chain: Any, signature: str, says: str
) -> None:
    with pytest.raises(DecodeError, match=says):
        await transaction_reading.decode_signature([SERVED], chain, signature)


async def test_a_node_is_asked_for_the_tokens_of_an_owner() -> None:
    owner = key(1)
    accounts = [
        (key(20), token_account(key(5), owner, 7, TOKEN_PROGRAM)),
        (key(21), token_account(key(5), key(2), 7, TOKEN_PROGRAM)),
    ]
    many = [
        (
            key(30),
            token_account(
                Pubkey.from_bytes(bytes([0, n]) * 16), owner, 1, TOKEN_2022_PROGRAM
            ),
        )
        for n in range(60)
    ]
    node = Node(None, {TOKEN_PROGRAM: accounts, TOKEN_2022_PROGRAM: many})
    found = await reading.balances(node, owner, None)
    assert len(found["balances"]) == 51
    assert found["more"] == 11
    assert all(row["amount"] in ("0", "1", "7") for row in found["balances"])


async def test_of_many_accounts_only_those_that_are_told_are_read() -> None:
    """Over JSON-RPC: the addresses of all, then the data of a few; the same answer as from a chain in this process."""
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.svm import SvmTransport
    from mcpsol_py.client.svm_rpc import SvmNode
    from tests.functional.svm_node import listening

    document = {
        "address": PROGRAM,
        "metadata": {"name": "boxes", "version": "0.1.0", "spec": "0.1.0"},
        "instructions": [],
        "accounts": [{"name": "Box", "discriminator": [5] * 8}],
        "types": [
            {
                "name": "Box",
                "type": {"kind": "struct", "fields": [{"name": "n", "type": "u64"}]},
            }
        ],
    }
    program = load(document)
    assert program.address is not None
    svm = SvmTransport()
    for number in range(1, 31):
        data = bytes([5] * 8) + (number % 2).to_bytes(8, "little")
        svm.set_account(key(number), Account(10**9, data, program.address))
    local = await reading.accounts_of(
        ServedProgram(program, program.address, svm), "Box", {"n": "1"}, 4
    )
    assert (len(local["accounts"]), local["total"]) == (4, 15)
    with listening(SvmNode(svm)) as url:
        transport = RpcTransport(url)
        asked: list[tuple[str, int]] = []
        request = transport.request

        async def counted(method: str, params: Any = ()) -> Any:
            asked.append(
                (method, len(params[0]) if method == "getMultipleAccounts" else 0)
            )
            return await request(method, params)

        transport.request = counted  # type: ignore[method-assign]  # to see what is asked
        remote = await reading.accounts_of(
            ServedProgram(program, program.address, transport), "Box", {"n": "1"}, 4
        )
        tokens = await reading.balances(transport, key(1), None)
        await transport.close()
    assert remote == local
    assert asked[:2] == [("getProgramAccounts", 0), ("getMultipleAccounts", 4)]
    assert tokens["balances"][0]["amount"] == "1000000000"


async def test_a_transaction_that_a_node_has_is_found_by_its_signature() -> None:
    from solders.keypair import Keypair
    from solders.transaction import VersionedTransaction

    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.svm import SvmTransport
    from mcpsol_py.client.svm_rpc import SvmNode
    from tests.functional.svm_node import listening

    svm, payer = SvmTransport(), Keypair()
    svm.airdrop(payer.pubkey())
    pay = transfer(
        TransferParams(
            from_pubkey=payer.pubkey(), to_pubkey=key(2), lamports=10_000_000
        )
    )
    message = MessageV0.try_compile(
        payer.pubkey(), [pay], [], (await svm.latest_blockhash()).value
    )
    with listening(SvmNode(svm)) as url:
        transport = RpcTransport(url)
        signature, refused = await transport.send(
            VersionedTransaction(message, [payer])
        )
        assert refused is None
        found = await transaction_reading.decode_signature(
            [SERVED], transport, str(signature)
        )
        await transport.close()
    assert found["instructions"][0]["instruction"] == "transfer"
    assert found["instructions"][0]["args"] == {"lamports": "10000000"}
    assert "error" not in found
