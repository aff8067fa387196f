"""The chain of a scenario: keys by name, accounts put in place, calls for good, and putting back."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.attack.sandbox import Scene
from mcpsol_py.errors import DecodeError, MissingSigner, SourceError
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM
from mcpsol_py.solana.pda import associated_token

COUNTER = Path(__file__).resolve().parents[3] / "programs/counter"


@pytest.fixture
def scene() -> Scene:
    program = load(COUNTER / "spec.py")
    assert program.address is not None
    return Scene(program, program.address, (COUNTER / "counter.so").read_bytes())


def test_keys_are_of_their_names_alone(scene: Scene) -> None:
    assert scene.key("a") == scene.key("a")
    assert scene.key("a") != scene.key("b")
    assert scene.account(scene.key("a")) is None
    assert scene.wallet("a").pubkey() == scene.key("a").pubkey()
    there = scene.account(scene.key("a"))
    assert there is not None
    assert (there.lamports, there.owner) == (10**10, SYSTEM_PROGRAM)


def test_tokens_stand_at_the_associated_address_and_follow_their_mint(
    scene: Scene,
) -> None:
    mint, owner = scene.mint(token_program=TOKEN_2022_PROGRAM), scene.wallet("owner")
    made = scene.tokens(mint, owner, 5)
    assert made == associated_token(owner.pubkey(), mint, TOKEN_2022_PROGRAM)
    account = scene.account(made)
    assert account is not None
    assert account.owner == TOKEN_2022_PROGRAM
    elsewhere = scene.key("elsewhere")
    assert scene.tokens(mint, owner, 5, at=elsewhere) == elsewhere.pubkey()


def test_state_is_written_and_read(scene: Scene) -> None:
    key = scene.key("somewhere")
    values = {"authority": scene.key("a").pubkey(), "count": 2**64 - 1, "bump": 3}
    scene.state("State", values, key)
    assert scene.read(key) == values
    with pytest.raises(DecodeError):
        scene.read(scene.key("nothing"))


def test_a_call_is_built_and_sent_as_clients_do(scene: Scene) -> None:
    me = scene.wallet("me")
    scene.send("initialize", {"start": 4}, {"authority": me})
    scene.send("increment", {"amount": 3}, {"authority": me})
    assert scene.read(scene.pda(b"counter", bytes(me.pubkey())))["count"] == 7
    with pytest.raises(SourceError, match="decrement failed.*Underflow"):
        scene.send("decrement", {"amount": 8}, {"authority": me})


def test_rehearsing_keeps_nothing_and_restoring_puts_back(scene: Scene) -> None:
    me = scene.wallet("me")
    counter = scene.pda(b"counter", bytes(me.pubkey()))
    call = [scene.build("initialize", {"start": 4}, {"authority": me})]
    assert scene.rehearse(call).ok
    assert scene.account(counter) is None
    before = scene.snapshot([counter, me.pubkey(), scene.payer.pubkey()])
    assert scene.payer.pubkey() not in before, "the fee is paid in any case"
    assert scene.run(call).ok
    assert scene.account(counter) is not None
    scene.restore(before)
    assert scene.snapshot(before) == before
    assert scene.run(call).ok, "the same transaction again, on the chain as it was"


def test_who_is_not_of_the_scene_cannot_sign(scene: Scene) -> None:
    stranger = Keypair().pubkey()
    with pytest.raises(MissingSigner) as raised:
        scene.run(
            [Instruction(SYSTEM_PROGRAM, b"", [AccountMeta(stranger, True, False)])]
        )
    assert raised.value.addresses == (str(stranger),)


def test_the_clock(scene: Scene) -> None:
    now, slot = scene.now, scene.slot
    scene.set_clock(now + 5)
    assert (scene.now, scene.slot) == (now + 5, slot)
    scene.set_clock(slot=slot + 9)
    assert (scene.now, scene.slot) == (now + 5, slot + 9)


def test_other_values_are_not_addresses(scene: Scene) -> None:
    with pytest.raises(SourceError, match="expected a Keypair"):
        scene.put("nonsense", b"", Pubkey.default())
