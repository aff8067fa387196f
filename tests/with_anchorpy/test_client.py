"""What anchorpy's users have (Idl, Provider, Wallet) is taken as it is, and the bytes are those that anchorpy makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from anchorpy import Context, Provider, Wallet
from anchorpy import Program as AnchorpyProgram
from anchorpy_core.idl import Idl
from solana.rpc.api import Client
from solana.rpc.async_api import AsyncClient
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import connect, connect_sync, load
from mcpsol_py.model.usable import for_callers
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.sources.spec import read_spec

PROGRAM = Pubkey.new_unique()
#: Files that anchorpy's reader refuses: an instruction without the key `args`.
UNREAD = {"legacy__candy_machine_core"}
UNREADABLE = "did not match any variant|invalid type|missing field|unknown variant"
IDL: dict[str, Any] = {
    "version": "0.1.0",
    "name": "bank",
    "instructions": [
        {
            "name": "depositAll",
            "accounts": [
                {"name": "fromOwner", "isMut": True, "isSigner": True},
                {"name": "vault", "isMut": True, "isSigner": False},
                {"name": "systemProgram", "isMut": False, "isSigner": False},
            ],
            "args": [
                {"name": "amount", "type": "u64"},
                {"name": "memo", "type": {"option": "string"}},
                {"name": "kind", "type": {"defined": "Kind"}},
            ],
        }
    ],
    "types": [
        {
            "name": "Kind",
            "type": {"kind": "enum", "variants": [{"name": "Now"}, {"name": "Later"}]},
        }
    ],
}


@pytest.fixture
def idl() -> Idl:
    return Idl.from_json(json.dumps(IDL))


# Anchorpy's, from attrs.
@pytest.mark.filterwarnings("ignore:The `repr_ns` argument:DeprecationWarning")
@pytest.mark.parametrize("memo", [None, "for the rent"])
def test_the_instruction_is_the_one_that_anchorpy_makes(
    idl: Idl, memo: str | None
) -> None:
    wallet, vault = Keypair(), Pubkey.new_unique()
    theirs = AnchorpyProgram(
        idl, PROGRAM, Provider(AsyncClient("http://127.0.0.1:9"), Wallet(wallet))
    )
    system = Pubkey.from_string("1" * 32)
    accounts = {"from_owner": wallet.pubkey(), "vault": vault, "system_program": system}
    kind = theirs.type["Kind"].Later()
    wanted = theirs.instruction["deposit_all"](
        5, memo, kind, ctx=Context(accounts=accounts)
    )
    built = (
        load(idl)
        .instruction("deposit_all")
        .build(
            {"amount": 5, "memo": memo, "kind": "Later"},
            {"vault": vault},
            program_id=PROGRAM,
            wallet=Wallet(wallet),
        )
    )
    assert built == wanted


async def test_a_provider_is_the_chain_and_the_wallet(idl: Idl) -> None:
    pair = Keypair()
    async with AsyncClient("http://127.0.0.1:9/secret") as connection:
        client = await connect(PROGRAM, Provider(connection, Wallet(pair)), idl=idl)
        built = await client.build(
            "depositAll", {"amount": 5, "memo": None, "kind": "Now"}, {"vault": PROGRAM}
        )
    assert built.accounts[0].pubkey == pair.pubkey()
    assert client.transport.endpoint == "http://127.0.0.1:9"


def test_the_synchronous_client_of_solana_py_is_taken(idl: Idl) -> None:
    client = connect_sync(
        PROGRAM, Client("http://127.0.0.1:9"), idl=idl, wallet=Keypair()
    )
    assert (
        client.build(
            "depositAll", {"amount": 5, "memo": None, "kind": "Now"}, {"vault": PROGRAM}
        )
        is not None
    )


def test_every_shared_idl_that_anchorpy_reads_gives_the_same_model(
    shared_idls: Path,
) -> None:
    read = 0
    for path in sorted(shared_idls.glob("legacy__*.json")):
        if path.stem in UNREAD:
            continue
        theirs = Idl.from_json(path.read_text())
        ours, through = load(path).model, load(theirs).model
        assert (through.types, through.accounts, through.errors) == (
            ours.types,
            ours.accounts,
            ours.errors,
        )
        assert [(i.args, i.accounts) for i in through.instructions] == [
            (i.args, i.accounts) for i in ours.instructions
        ]
        read += 1
    assert read >= 15


def test_anchorpy_reads_no_idl_of_anchor_0_30_and_later(
    shared_idls: Path, repo: Path
) -> None:
    """Neither Anchor's own documents nor ours: it knows the form before 0.30 only, which has no discriminators.

    That form cannot say that x402's are one byte long, so anchorpy cannot call x402 by any IDL.
    """
    ours, losses = to_anchor(read_spec(repo / "programs/x402/spec.py"))
    lost = " ".join(loss.message for loss in losses)
    assert "discriminator" not in lost
    assert {len(ix["discriminator"]) for ix in ours["instructions"]} == {1}
    theirs = [path.read_text() for path in sorted(shared_idls.glob("anchor__*.json"))]
    assert len(theirs) >= 20
    for document in [json.dumps(ours), *theirs]:
        with pytest.raises(Exception, match=UNREADABLE):  # of a class without a place
            Idl.from_json(document)


def test_beside_anchorpy_the_idl_of_x402_is_ours_to_read(repo: Path) -> None:
    spec = repo / "programs/x402/spec.py"
    document, _ = to_anchor(read_spec(spec))
    model, again = for_callers(read_spec(spec)), load(document).model
    assert [(ix.name, ix.args, ix.discriminator) for ix in again.instructions] == [
        (ix.name, ix.args, ix.discriminator) for ix in model.instructions
    ]
    assert [account.name for account in again.accounts] == [
        account.name for account in model.accounts
    ]
