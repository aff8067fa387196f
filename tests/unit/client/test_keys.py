"""The keystore."""

import asyncio
import json
from pathlib import Path

import pytest
from solders.keypair import Keypair

from mcpsol_py.client.keys import create_keystore, open_keystore
from mcpsol_py.errors import SourceError

PASSPHRASE = "correct horse battery"


@pytest.fixture(scope="module")
def keystore(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Keypair]:
    path, key = tmp_path_factory.mktemp("keys") / "agent.json", Keypair()
    create_keystore(path, key, PASSPHRASE)
    return path, key


def copy(keystore: tuple[Path, Keypair], folder: Path, **changed: object) -> Path:
    path = folder / "copy.json"
    path.write_text(json.dumps({**json.loads(keystore[0].read_text()), **changed}))
    path.chmod(0o600)
    return path


def test_what_was_sealed_is_opened_and_signs(keystore: tuple[Path, Keypair]) -> None:
    signer = open_keystore(keystore[0], PASSPHRASE)
    assert signer.address == keystore[1].pubkey()
    assert asyncio.run(signer.sign(b"m")).verify(signer.address, b"m")


def test_the_file_holds_no_key_and_is_the_owners_alone(keystore: tuple[Path, Keypair]) -> None:
    path, key = keystore
    text = path.read_text()
    assert key.secret().hex() not in text
    assert str(key) not in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert key.secret().hex() not in repr(open_keystore(path, PASSPHRASE))


def test_a_wrong_passphrase_opens_nothing(keystore: tuple[Path, Keypair]) -> None:
    with pytest.raises(SourceError, match="does not open"):
        open_keystore(keystore[0], PASSPHRASE + "!")


def test_the_address_cannot_be_swapped(keystore: tuple[Path, Keypair], tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        open_keystore(copy(keystore, tmp_path, address=str(Keypair().pubkey())), PASSPHRASE)


def test_a_file_that_others_may_read_is_refused(keystore: tuple[Path, Keypair], tmp_path: Path) -> None:
    path = copy(keystore, tmp_path)
    path.chmod(0o640)
    with pytest.raises(SourceError, match="chmod 600"):
        open_keystore(path, PASSPHRASE)


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "other"},
        {"sealed": "zz"},
        {"sealed": "00"},
        {"kdf": {}},
        {"kdf": {"name": "scrypt", "n": 1 << 40, "r": 8, "p": 1, "salt": ""}},
        {"cipher": None},
    ],
)
def test_a_damaged_keystore_is_refused(
    keystore: tuple[Path, Keypair], tmp_path: Path, changed: dict[str, object]
) -> None:
    with pytest.raises(SourceError):
        open_keystore(copy(keystore, tmp_path, **changed), PASSPHRASE)


def test_a_key_is_never_overwritten_and_a_short_passphrase_not_taken(
    keystore: tuple[Path, Keypair], tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="never overwritten"):
        create_keystore(keystore[0], Keypair(), PASSPHRASE)
    with pytest.raises(SourceError, match="8 characters"):
        create_keystore(tmp_path / "new.json", Keypair(), "short")
    assert not (tmp_path / "new.json").exists()
