"""Our pages, read by others: a second implementation of docs/wire.md, and mcpsol's own two clients, faults included."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from solders.instruction import Instruction as Call
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey as Address
from solders.transaction import VersionedTransaction

from mcpsol_py.model import types as t
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    ConstSeed,
    Discriminator,
    Instruction,
    Pda,
    ProgramModel,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import model_to_json, to_json
from mcpsol_py.schema.pages import PageSet, page_set
from mcpsol_py.schema.stream import DICTIONARY, model_text
from mcpsol_py.schema.tool import leaves, tool_of
from mcpsol_py.schema.wire import old_client_fault
from mcpsol_py.sources import detect
from tests.functional.mcpsol_reader import OldRust, OldTypeScript, Reader, Stopped
from tests.models import programs, real

FORMS = ["compact", "verbose"]


def _check_second_reader(model: ProgramModel, pages: PageSet) -> None:
    reader = Reader(pages.get)
    said = reader.program()
    assert len(said["tools"]) == len(model.instructions)
    for tool, ix in zip(said["tools"], model.instructions, strict=True):
        assert tool["name"] == ix.name
        assert tool["discriminator"] == ix.discriminator.value.hex()
        expected = [
            {
                "path": list(path),
                "signer": a.signer,
                "writable": a.writable,
                "optional": a.optional,
                "address": a.address,
                "seeds": None
                if a.pda is None
                else to_json(Pda(a.pda.seeds, a.pda.program)),
            }
            for path, a in leaves(ix.accounts)
        ]
        assert tool["accounts"] == expected
        assert tool["args"] == [
            {"name": f.name, "type": to_json(f.type)} for f in ix.args
        ]
        assert tool["returns"] == (None if ix.returns is None else to_json(ix.returns))
        for node in [f.type for f in ix.args]:
            _names_are_defined(node, model, said["types"])
    assert reader.model() == json.loads(model_text(model))


def _names_are_defined(
    node: t.Type, model: ProgramModel, types: dict[str, Any]
) -> None:
    if isinstance(node, t.Link) and node.name in {d.name for d in model.types}:
        definition = next(d for d in model.types if d.name == node.name)
        assert types[node.name]["type"] == to_json(definition.type)


@pytest.mark.parametrize("form", FORMS)
def test_the_second_reader_reads_every_real_program(
    shared_idl: Path, form: Any
) -> None:
    model = real(shared_idl)
    _check_second_reader(model, page_set(model, form=form))


@pytest.mark.parametrize("form", FORMS)
def test_the_second_reader_reads_any_program(form: Any) -> None:
    @given(programs())
    def check(model: ProgramModel) -> None:
        _check_second_reader(model, page_set(model, form=form))

    check()


def test_the_dictionary_on_the_page_is_the_one_in_use() -> None:
    assert Reader.dictionary() == DICTIONARY


# --- old clients
# --------------------------------------------------------------------------------------------------------

#: word -> (what a Rust caller writes, what a TypeScript caller gives, the bytes)
_VALUES: dict[str, tuple[str, Any, bytes]] = {
    **{
        f"u{b}": (str(2**b - 2), 2**b - 2, (2**b - 2).to_bytes(b // 8, "little"))
        for b in (8, 16, 32, 64, 128)
    },
    **{
        f"i{b}": ("-3", -3, (-3).to_bytes(b // 8, "little", signed=True))
        for b in (8, 16, 32, 64)
    },
    "bool": ("true", True, b"\1"),
    "string": ("héllo", "héllo", struct.pack("<I", 6) + "héllo".encode()),
    "bytes": (
        base64.b64encode(b"\0\xff").decode(),
        base64.b64encode(b"\0\xff").decode(),
        struct.pack("<I", 2) + b"\0\xff",
    ),
}


def _expected(node: t.Type, resolver: Resolver) -> tuple[str, Any, bytes] | None:
    """A value of *node* and its bytes, found without the wire's own notion of words; None where old clients have no
    word.
    """
    node = resolver.target(node)
    if isinstance(node, (t.Amount, t.DateTime)):
        node = node.number
    word = "bytes" if node == t.vec(t.U8) else to_json(node)
    return _VALUES.get(word) if isinstance(word, str) else None


def _check_old_clients(
    model: ProgramModel, pages: PageSet, form: str
) -> tuple[int, int]:
    """Every tool that they see is built right, or they stop. Gives how many each way, for the Rust client."""
    resolver = Resolver(model)
    rust = OldRust(pages.get)
    typescript = OldTypeScript(pages.get) if form == "compact" else None
    assert rust.name == model.name
    right = stopped = 0
    seen: set[str] = set()
    for tool in rust.tools:
        ix = next(i for i in model.instructions if i.name == tool["name"])
        assert ix.name not in seen
        seen.add(ix.name)
        order = [k for k in rust.order(tool) if k != "read x"]
        account_keys = [k for k in order if rust.word(tool, k) == "pubkey"]
        arg_keys = [k for k in order if rust.word(tool, k) != "pubkey"]
        accounts = list(leaves(ix.accounts))
        values = [_expected(f.type, resolver) for f in ix.args]
        fault = old_client_fault(tool_of(ix), resolver)
        names = [rust.base_name(k) for k in account_keys]
        given_accounts = [(n, f"address of {n}") for n in names]
        given_args = [
            (k, v[0] if v else "1") for k, v in zip(arg_keys, values, strict=False)
        ]
        given_args += [(k, "1") for k in arg_keys[len(values) :]]
        try:
            metas, data = rust.build(ix.name, given_accounts, given_args)
        except Stopped:
            # For one page: its parameters follow where old clients do not look.
            too_large = not order and bool(accounts)
            assert fault is not None or too_large, (
                f"{ix.name}: the Rust client stops at a tool that it could build"
            )
            stopped += 1
        else:
            assert fault is None, (
                f"{ix.name}: the Rust client does not stop although {fault}"
            )
            assert metas == [
                (f"address of {n}", a.signer is True, a.writable)
                for n, (_, a) in zip(names, accounts, strict=True)
            ]
            assert data == ix.discriminator.value + b"".join(v[2] for v in values if v)
            right += 1
        if typescript is None or ix.name not in {x["name"] for x in typescript.tools}:
            continue
        names = [typescript.base_name(k) for k in account_keys]
        plain = {k: v[1] if v else "1" for k, v in zip(arg_keys, values, strict=False)}
        try:
            metas, data = typescript.build(
                ix.name, {n: f"address of {n}" for n in names}, plain
            )
        except Stopped as error:
            u128 = str(error) == "Unknown type: u128"
            # Many tools in one test.
            assert fault is not None or u128 or (not order and bool(accounts))
        else:
            assert metas == [
                (f"address of {n}", a.signer is True, a.writable)
                for n, (_, a) in zip(names, accounts, strict=True)
            ]
            assert data == ix.discriminator.value + b"".join(v[2] for v in values if v)
    return right, stopped


@pytest.mark.parametrize("form", FORMS)
def test_old_clients_build_right_or_stop_for_any_program(form: Any) -> None:
    @given(programs(max_instructions=4))
    def check(model: ProgramModel) -> None:
        _check_old_clients(model, page_set(model, form=form), form)

    check()


@pytest.mark.parametrize("form", FORMS)
def test_old_clients_build_right_or_stop_for_every_real_program(
    shared_idl: Path, form: Any
) -> None:
    model = real(shared_idl)
    _check_old_clients(model, page_set(model, form=form), form)


TRAPS = ProgramModel(
    "traps",
    (
        Instruction(
            "flags_in_names",
            Discriminator(bytes(range(8))),
            (t.Field("amount", t.U64),),
            (
                Account("pool_w"),
                Account("pool", writable=True),
                Account("fee_s", writable=True),
                Account("fee", signer=True),
                Account("x_sw_w", signer=True, writable=True),
            ),
        ),
        Instruction(
            "one_name_twice",
            Discriminator(bytes(range(1, 9))),
            (t.Field("authority", t.U8), t.Field("vault_w", t.U16)),
            (Account("authority"), Account("vault", writable=True)),
        ),
        Instruction(
            "pubkey_argument",
            Discriminator(bytes(range(2, 10))),
            (t.Field("owner", t.PUBKEY), t.Field("amount", t.U64)),
            (Account("state", writable=True),),
        ),
        Instruction("long_discriminator", Discriminator(bytes(range(3, 15)))),
        Instruction("short_discriminator", Discriminator(b"\7"), (t.Field("x", t.U8),)),
        Instruction(
            "groups",
            Discriminator(bytes(range(4, 12))),
            (),
            (
                AccountGroup(
                    "a",
                    (
                        Account("mint"),
                        AccountGroup("deep", (Account("mint", writable=True),)),
                    ),
                ),
                AccountGroup(
                    "b",
                    (Account("mint", optional=True, pda=Pda((ConstSeed(b"mint"),))),),
                ),
            ),
        ),
    ),
)


@pytest.mark.parametrize("form", FORMS)
def test_the_traps_of_the_old_format(form: Any) -> None:
    pages = page_set(TRAPS, form=form)
    assert _check_old_clients(TRAPS, pages, form) == (3, 3)
    _check_second_reader(TRAPS, pages)


def test_old_clients_keep_apart_accounts_whose_names_look_like_flags() -> None:
    rust = OldRust(page_set(TRAPS).get)
    tool = rust.tool("flags_in_names")
    assert tool["required"] == [
        "pool_w_",
        "pool_w",
        "fee_s__w",
        "fee_s",
        "x_sw_w__sw",
        "amount",
    ]
    assert len({rust.base_name(k) for k in tool["required"]}) == 6


def test_an_old_client_says_what_it_misses() -> None:
    pages = page_set(TRAPS)
    with pytest.raises(Stopped, match="Missing required parameter: read x"):
        OldRust(pages.get).build(
            "pubkey_argument", [("state", "S")], [("owner", "O"), ("amount", "1")]
        )
    with pytest.raises(Stopped, match="Unknown type: Pubkey"):
        OldTypeScript(pages.get).build(
            "pubkey_argument", {"state": "S"}, {"owner": "O", "amount": 1}
        )


def test_models_compare_through_json_alone() -> None:
    assert model_to_json(TRAPS) == json.loads(model_text(TRAPS))


# --- the committed programs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["counter", "guard", "vault", "x402"])
def test_the_second_reader_reads_the_committed_programs_in_the_svm(
    repo: Path, name: str
) -> None:
    """No code of ours between the program and what is read: solders runs it, the reader of docs/wire.md asks it."""
    model = detect.read(repo / "programs" / name / "spec.py")
    reader = Reader(_svm(repo / "programs" / name / f"{name}.so"))
    said = reader.program()
    assert [(t["name"], t["discriminator"]) for t in said["tools"]] == [
        (ix.name, ix.discriminator.value.hex()) for ix in model.instructions
    ]
    assert [[a["path"] for a in t["accounts"]] for t in said["tools"]] == [
        [list(path) for path, _ in leaves(ix.accounts)] for ix in model.instructions
    ]
    assert reader.model() == json.loads(model_text(model))


def _svm(program: Path) -> Any:
    """Asks a program for its pages as docs/wire.md says: in a simulated transaction, without accounts."""
    svm, payer, program_id = LiteSVM(), Keypair(), Address.new_unique()
    svm.airdrop(payer.pubkey(), 10**9)
    svm.add_program(program_id, program.read_bytes())

    def get(cursor: int) -> bytes:
        size = 0 if cursor == 0 else 1 if cursor < 256 else 2
        data = bytes.fromhex("42195e6a55fd41c0") + cursor.to_bytes(size, "little")
        message = Message.new_with_blockhash(
            [Call(program_id, data, [])], payer.pubkey(), svm.latest_blockhash()
        )
        done = svm.simulate_transaction(VersionedTransaction(message, [payer]))
        return bytes(done.meta().return_data().data)

    return get
