"""Well-known addresses, as text and as keys."""

from solders.pubkey import Pubkey

from mcpsol_py.solana import addresses, ids
from mcpsol_py.solana.base58 import is_address

TEXTS = {
    name: value
    for name, value in vars(ids).items()
    if name.isupper() and isinstance(value, str)
}


def test_every_id_is_base58_of_32_bytes() -> None:
    assert len(TEXTS) > 30
    assert [name for name, text in TEXTS.items() if not is_address(text)] == []


def test_no_id_is_listed_twice() -> None:
    assert len(set(TEXTS.values())) == len(TEXTS)


def test_keys_are_the_ids_of_the_same_name() -> None:
    keys = {
        name: key for name, key in vars(addresses).items() if isinstance(key, Pubkey)
    }
    assert len(keys) > 25
    assert {name: str(key) for name, key in keys.items()} == {
        name: TEXTS[name] for name in keys
    }


def test_named_programs_are_among_the_ids() -> None:
    assert set(ids.PROGRAM_NAMES) <= set(TEXTS.values())
