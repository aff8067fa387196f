"""Forms in which callers give an address."""

from __future__ import annotations

import pytest
from solders.instruction import AccountMeta
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of, require_address
from mcpsol_py.errors import EncodeError

KEY = Pubkey.new_unique()


class AnchorpyWallet:
    public_key = KEY


@pytest.mark.parametrize(
    "value", [KEY, str(KEY), AccountMeta(KEY, True, False), AnchorpyWallet()]
)
def test_an_address_is_read_in_every_form(value: object) -> None:
    assert address_of(value) == KEY


def test_a_key_pair_is_its_address() -> None:
    pair = Keypair()
    assert address_of(pair) == pair.pubkey()


@pytest.mark.parametrize("value", [None, 5, "", "nonsense", bytes(32), [KEY]])
def test_other_values_are_not_addresses(value: object) -> None:
    assert address_of(value) is None


def test_a_required_address_is_refused_with_its_path() -> None:
    with pytest.raises(
        EncodeError, match="^act.vault: expected an address .*, got 'nonsense'"
    ):
        require_address("nonsense", "act", "vault")
