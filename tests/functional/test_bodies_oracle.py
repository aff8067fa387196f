"""counter and vault, run by their bodies in Python and by their compiled files in LiteSVM: the same, call by call."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.testing.reached import Reached, missed, recording
from tests.functional.targets import REPO
from tests.support.oracle import Oracle

MAX = 2**64 - 1
AMOUNTS = st.one_of(
    st.integers(0, 20),
    st.integers(MAX - 20, MAX),
    st.integers(0, MAX),
    st.sampled_from([2**63, 2**32]),
)
LONG = settings(
    max_examples=220,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


#: What the calls of each program reached.
REACHED: dict[Path, Reached] = {}


def add(oracle: Oracle, reached: Reached) -> None:
    REACHED.setdefault(oracle.spec, Reached()).add_json(reached.to_json())


def oracle_of(name: str) -> Oracle:
    folder = REPO / "programs" / name
    return Oracle(folder / "spec.py", (folder / f"{name}.so").read_bytes())


@pytest.fixture(scope="module")
def counter() -> Oracle:
    return oracle_of("counter")


@pytest.fixture(scope="module")
def vault() -> Oracle:
    return oracle_of("vault")


# --- counter --------------------------------------------------------------------------------------

COUNTER_STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["initialize", "increment", "increment", "decrement", "decrement", "close"]
        ),
        AMOUNTS,
        st.sampled_from(["me", "me", "me", "stranger", "nobody"]),
    ),
    min_size=8,
    max_size=14,
)


@pytest.mark.slow
@LONG
@given(start=AMOUNTS, steps=COUNTER_STEPS)
def test_the_counter_is_its_spec(
    counter: Oracle, start: int, steps: list[tuple[str, int, str]]
) -> None:
    with recording([counter.spec]) as reached:
        live(counter, start, steps)
    add(counter, reached)


def live(counter: Oracle, start: int, steps: list[tuple[str, int, str]]) -> None:
    counter.start()
    me, stranger = counter.wallet(), counter.wallet()
    at = Pubkey.find_program_address([b"counter", bytes(me.pubkey())], counter.address)[
        0
    ]
    counter.call(
        "initialize", counter_accounts("initialize", at, me), {"start": start}, me
    )
    for name, amount, who in steps:
        signer = stranger if who == "stranger" else me
        args = (
            {}
            if name == "close"
            else {"start" if name == "initialize" else "amount": amount}
        )
        accounts = counter_accounts(name, at, signer)
        if who == "nobody" and name in ("increment", "decrement"):
            accounts["counter"] = Keypair().pubkey()
        counter.call(name, accounts, args, signer)


def counter_accounts(name: str, at: Pubkey, who: Keypair) -> dict[str, Pubkey]:
    return {"counter": at, "authority": who.pubkey()}


# --- vault ----------------------------------------------------------------------------------------

VAULT_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["deposit", "deposit", "withdraw", "withdraw", "initialize"]),
        AMOUNTS,
        st.sampled_from(
            ["", "", "", "", "stranger", "other mint", "other vault", "same account"]
        ),
    ),
    min_size=8,
    max_size=14,
)


@pytest.mark.slow
@LONG
@given(
    purse=AMOUNTS, held=AMOUNTS, counted=st.tuples(AMOUNTS, AMOUNTS), steps=VAULT_STEPS
)
def test_the_vault_is_its_spec(
    vault: Oracle,
    purse: int,
    held: int,
    counted: tuple[int, int],
    steps: list[tuple[str, int, str]],
) -> None:
    with recording([vault.spec]) as reached:
        scene = Scene(vault)
        for name, amount, twist in [("initialize", 0, ""), *steps]:
            scene.call(name, amount, twist)
            if name == "initialize":
                scene.fill(purse, held, counted)
    add(vault, reached)


class Scene:
    """A vault on both sides, with a purse of tokens of each of two mints."""

    def __init__(self, vault: Oracle) -> None:
        vault.start()
        self.vault = vault
        self.me, self.stranger = vault.wallet(), vault.wallet()
        self.mint, self.other_mint = vault.mint(), vault.mint()
        seeds = [b"vault", bytes(self.me.pubkey()), bytes(self.mint)]
        self.at, self.bump = Pubkey.find_program_address(seeds, vault.address)
        self.held = Pubkey.find_program_address(
            [b"tokens", bytes(self.at)], vault.address
        )[0]
        self.purse = vault.tokens(self.mint, self.me.pubkey(), 0)
        self.others = vault.tokens(self.other_mint, self.me.pubkey(), 50)

    def fill(self, purse: int, held: int, counted: tuple[int, int]) -> None:
        """Any state that a vault can come to, except that no mint has more tokens than a u64."""
        purse, held = purse // 2, held // 2
        self.vault.tokens(self.mint, self.me.pubkey(), purse, self.purse)
        self.vault.tokens(self.mint, self.at, held, self.held)
        found = self.vault.simulator.state(self.at)
        number = type(found.deposited)
        self.vault.put_state(
            self.at,
            "State",
            authority=found.authority,
            mint=found.mint,
            deposited=number(counted[0]),
            withdrawn=number(counted[1]),
            bump=found.bump,
        )

    def call(self, name: str, amount: int, twist: str) -> None:
        signer = self.stranger if twist == "stranger" else self.me
        accounts = {"vault": self.at, "tokens": self.held, "mint": self.mint}
        accounts["depositor" if name == "deposit" else "authority"] = signer.pubkey()
        if name != "initialize":
            accounts["source" if name == "deposit" else "destination"] = self.purse
        if twist == "other mint":
            key = {"deposit": "source", "withdraw": "destination"}.get(name, "mint")
            accounts[key] = self.other_mint if key == "mint" else self.others
        if twist == "other vault":
            accounts["vault"] = Keypair().pubkey()
        if twist == "same account" and name != "initialize":
            accounts["source" if name == "deposit" else "destination"] = self.held
        args = {} if name == "initialize" else {"amount": amount}
        self.vault.call(name, accounts, args, signer)


@pytest.mark.slow
def test_enough_was_compared(counter: Oracle, vault: Oracle) -> None:
    """Runs last: the calls of both tests reach every error of both specs, and every line of their bodies."""
    for oracle in (counter, vault):
        if oracle.calls:
            assert oracle.calls >= 2000
            assert missed(oracle.spec, REACHED[oracle.spec])[0] == []
            assert {e.name for e in oracle.program.model.errors} <= set(
                oracle.errors
            ) | {"WrongAuthority"}
