"""Where the passphrase of a keystore comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail
from keyring.errors import KeyringLocked, PasswordDeleteError
from solders.keypair import Keypair

from idl2mcp import passphrases, terminal
from mcpsol_py.client.keys import create_keystore
from mcpsol_py.errors import SourceError
from tests.functional.cli import Cli

KEY = Keypair.from_seed(bytes([5] * 32))
ADDRESS = str(KEY.pubkey())


class Memory(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library's
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError(username)


class Locked(Memory):
    """A keyring that its person does not open."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked


class InTheClear(Memory):
    """As keyrings.alt's, which writes passwords into a file."""

    __module__ = "keyrings.alt.file"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(passphrases.VARIABLE, raising=False)
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


@pytest.fixture
def keystore(tmp_path: Path) -> Path:
    path = tmp_path / "agent.json"
    create_keystore(path, KEY, "correct horse")
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Who was asked at the terminal."""
    seen: list[Path] = []

    def ask(path: Path, new: bool) -> str:
        seen.append(path)
        return "typed by a person"

    monkeypatch.setattr(passphrases, "_from_terminal", ask)
    return seen


def test_the_keyring_is_used_before_a_person_is_asked(
    keystore: Path, asked: list[Path]
) -> None:
    keyring.set_keyring(Memory())
    assert passphrases.passphrase(keystore) == "typed by a person"
    passphrases.remember(keystore, ADDRESS, "from the keyring")
    assert passphrases.passphrase(keystore) == "from the keyring"
    moved = keystore.rename(keystore.with_name("moved.json"))
    assert passphrases.passphrase(moved) == "from the keyring"
    passphrases.forget(moved, ADDRESS)
    assert passphrases.passphrase(moved) == "typed by a person"
    assert len(asked) == 2
    with pytest.raises(SourceError, match="PasswordDeleteError"):
        passphrases.forget(moved, ADDRESS)


def test_the_environment_wins_and_a_new_key_asks(
    keystore: Path, asked: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring.set_keyring(Memory())
    passphrases.remember(keystore, ADDRESS, "from the keyring")
    made = keystore.with_name("new.json")
    assert passphrases.passphrase(made, new=True) == "typed by a person"
    monkeypatch.setenv(passphrases.VARIABLE, "from the environment")
    assert passphrases.passphrase(keystore) == "from the environment"
    assert len(asked) == 1


@pytest.mark.parametrize("backend", [fail.Keyring, Locked, InTheClear])
def test_a_keyring_that_cannot_be_used_is_passed_over_and_said_when_wanted(
    keystore: Path, asked: list[Path], backend: type[KeyringBackend]
) -> None:
    keyring.set_keyring(backend())
    assert passphrases.passphrase(keystore) == "typed by a person"
    with pytest.raises(SourceError, match="keyring") as failed:
        passphrases.remember(keystore, ADDRESS, "secret words")
    assert passphrases.VARIABLE in str(failed.value)
    assert "secret words" not in str(failed.value)


def test_without_terminal_environment_and_keyring_it_says_what_would_do(
    keystore: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring.set_keyring(fail.Keyring())  # type: ignore[no-untyped-call]  # the library's
    monkeypatch.setattr(
        terminal, "TERMINAL", (str(keystore.with_name("no-such-terminal")),)
    )
    with pytest.raises(SourceError) as failed:
        passphrases.passphrase(keystore)
    assert passphrases.VARIABLE in str(failed.value)
    assert "wallet remember" in str(failed.value)


def test_nobody_is_asked_about_a_file_that_cannot_be_used(
    keystore: Path, asked: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(passphrases.VARIABLE, "from the environment")
    with pytest.raises(SourceError, match="No such file"):
        passphrases.passphrase(keystore.with_name("absent.json"))
    with pytest.raises(SourceError, match="never overwritten"):
        passphrases.passphrase(keystore, new=True)
    keystore.chmod(0o644)
    with pytest.raises(SourceError, match="chmod 600"):
        passphrases.passphrase(keystore)
    assert asked == []


@pytest.mark.skipif(
    os.name != "posix", reason="environment variables are bytes on POSIX only"
)
def test_a_passphrase_that_is_no_text_opens_what_it_sealed(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environb, b"IDL2MCP_PASSPHRASE", b"caf\xe9 is closed")
    assert cli("wallet", "new", "agent.json").code == 0
    assert cli("wallet", "show", "agent.json").code == 0
    monkeypatch.setitem(os.environb, b"IDL2MCP_PASSPHRASE", b"caf\xe8 is closed")
    assert cli("wallet", "show", "agent.json").code == 1


def test_a_wallet_kept_by_the_keyring_opens_without_a_question(cli: Cli) -> None:
    ring = Memory()
    keyring.set_keyring(ring)
    made = cli("wallet", "new", "agent.json", "--keyring", "--json")
    assert made.code == 0, made.err
    (kept,) = ring.kept.values()
    assert len(kept) >= 32
    assert kept not in made.out + made.err
    assert (
        cli("wallet", "show", "agent.json", "--json").json["address"]
        == made.json["address"]
    )
    # There already; its passphrase stays.
    assert cli("wallet", "new", "agent.json", "--keyring").code == 1
    assert list(ring.kept.values()) == [kept]
    assert cli("wallet", "forget", "agent.json").code == 0
    assert ring.kept == {}


def test_a_passphrase_is_remembered_once_it_has_opened_the_key(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Memory()
    keyring.set_keyring(ring)
    monkeypatch.setenv(passphrases.VARIABLE, "correct horse")
    assert cli("wallet", "new", "agent.json").code == 0
    monkeypatch.setenv(passphrases.VARIABLE, "wrong horse")
    assert cli("wallet", "remember", "agent.json").code == 1
    assert ring.kept == {}
    monkeypatch.setenv(passphrases.VARIABLE, "correct horse")
    assert cli("wallet", "remember", "agent.json").code == 0
    monkeypatch.delenv(passphrases.VARIABLE)
    assert cli("wallet", "show", "agent.json").code == 0
