"""Good calls that are made up, and those that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from solders.keypair import Keypair

from mcpsol_py import load
from mcpsol_py.attack.baseline import NoBaseline, find_baseline
from mcpsol_py.attack.sandbox import Call, Scene
from mcpsol_py.errors import SourceError
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM

REPO = Path(__file__).resolve().parents[3]


def scenes(program: str) -> Callable[[], Scene]:
    loaded = load(REPO / f"programs/{program}/spec.py")
    elf = (REPO / f"programs/{program}/{program}.so").read_bytes()
    key = loaded.address
    assert key is not None
    return lambda: Scene(loaded, key, elf)


@pytest.mark.parametrize("name", ["initialize", "increment", "decrement", "close"])
def test_numbers_are_tried_until_the_handler_is_content(name: str) -> None:
    """A counter is counted down only above zero, and closed at zero."""
    found = find_baseline(scenes("counter"), name, None)
    if name != "initialize":
        count = found.scene.read(found.addresses[0])["count"]
        assert (count == 0) == (name == "close")


def test_state_is_what_has_one_and_seeds_ask_for() -> None:
    found = find_baseline(scenes("vault"), "withdraw", None)
    by_name = {leaf.name: found.addresses[leaf.index] for leaf in found.leaves}
    state = found.scene.read(by_name["vault"])
    assert (state["authority"], state["mint"]) == (
        by_name["authority"],
        by_name["mint"],
    )
    assert by_name["vault"] == found.scene.pda(
        b"vault", bytes(state["authority"]), bytes(state["mint"])
    )
    tokens = found.scene.account(by_name["tokens"])
    assert tokens is not None
    assert bytes(tokens.data)[:64] == bytes(by_name["mint"]) + bytes(by_name["vault"])


def test_tokens_are_of_the_scenes_program_where_either_is_taken() -> None:
    program = load(REPO / "programs/x402/spec.py")
    elf = (REPO / "programs/x402/x402.so").read_bytes()
    for wanted in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM):
        scene = Scene(program, program.address, elf, token_program=wanted)  # type: ignore[arg-type]
        found = find_baseline(lambda scene=scene: scene, "create_plan", None)  # type: ignore[misc]
        by_name = {leaf.name: found.addresses[leaf.index] for leaf in found.leaves}
        assert by_name["token_program"] == wanted
        mint = scene.account(by_name["mint"])
        assert mint is not None
        assert mint.owner == wanted


def test_why_there_is_none_is_what_the_handler_said() -> None:
    with pytest.raises(NoBaseline, match="PaymentIdWithoutExpiry"):
        find_baseline(scenes("x402"), "pay", None)


def test_what_a_scenario_gives_is_taken_and_the_rest_made_up() -> None:
    owner = Keypair.from_seed(bytes(range(32)))

    def call(scene: Scene) -> Call:
        scene.put(owner, b"", scene.account(scene.payer).owner, 10**10)  # type: ignore[union-attr]
        return Call({"start": 77}, {"authority": owner})

    found = find_baseline(scenes("counter"), "initialize", call)
    assert found.args == {"start": 77}
    assert found.addresses[1] == owner.pubkey()
    assert found.addresses[0] == found.scene.pda(b"counter", bytes(owner.pubkey()))
    assert found.outcome.ok


def test_an_account_that_a_scenario_gives_stands_as_it_is() -> None:
    with pytest.raises(NoBaseline, match="AccountNotInitialized"):
        find_baseline(
            scenes("counter"),
            "increment",
            lambda s: Call({"amount": 1}, {"counter": s.key("nothing there")}),
        )


def test_a_call_of_a_scenario_that_fails_is_told_with_its_log() -> None:
    def call(scene: Scene) -> Call:
        scene.send("initialize", {"start": 1}, {"authority": scene.wallet("a")})
        scene.send("close", {}, {"authority": scene.wallet("a")})
        return Call()

    with pytest.raises(
        SourceError, match=r"increment: the call of close failed.*NotZero"
    ) as raised:
        find_baseline(scenes("counter"), "increment", call)
    assert raised.value.origin == __file__


def test_a_key_that_the_scene_does_not_have_cannot_sign() -> None:
    def call(scene: Scene) -> Call:
        return Call({"start": 1}, {"authority": str(Keypair().pubkey())})

    with pytest.raises(NoBaseline, match="signature"):
        find_baseline(scenes("counter"), "initialize", call)
