"""Signers: the keystore, functions, services over HTTP."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from mcpsol_py.client import keys
from mcpsol_py.client.keys import (
    CallableSigner,
    HttpSigner,
    create_keystore,
    open_keystore,
)
from mcpsol_py.errors import PolicyError, SourceError, TransportError
from tests.support.signing_service import Answer, service

PASSPHRASE = "correct horse battery"
FIXTURES = Path(__file__).parents[2] / "fixtures"


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


def test_the_file_holds_no_key_and_is_the_owners_alone(
    keystore: tuple[Path, Keypair],
) -> None:
    path, key = keystore
    text = path.read_text()
    assert key.secret().hex() not in text
    assert str(key) not in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert key.secret().hex() not in repr(open_keystore(path, PASSPHRASE))


def test_a_wrong_passphrase_opens_nothing(keystore: tuple[Path, Keypair]) -> None:
    with pytest.raises(SourceError, match="does not open"):
        open_keystore(keystore[0], PASSPHRASE + "!")


def test_the_address_cannot_be_swapped(
    keystore: tuple[Path, Keypair], tmp_path: Path
) -> None:
    with pytest.raises(SourceError):
        open_keystore(
            copy(keystore, tmp_path, address=str(Keypair().pubkey())), PASSPHRASE
        )


def test_a_file_that_others_may_read_is_refused(
    keystore: tuple[Path, Keypair], tmp_path: Path
) -> None:
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


# --- functions and services -------------------------------------------------------------------------------------------

KEY = Keypair.from_seed(bytes([3] * 32))


def test_a_function_signs_at_once_or_awaited() -> None:
    async def awaited(message: bytes) -> bytes:
        return bytes(KEY.sign_message(message))

    for function in (lambda message: bytes(KEY.sign_message(message)), awaited):
        signer = CallableSigner(KEY.pubkey(), function)
        assert asyncio.run(signer.sign(b"m")).verify(KEY.pubkey(), b"m")
        assert str(KEY) not in repr(signer)


STRANGER = Keypair.from_seed(bytes([4] * 32))


@pytest.mark.parametrize(
    "made",
    [b"", bytes(64), bytes(STRANGER.sign_message(b"m")), bytes(KEY.sign_message(b"n"))],
    ids=["empty", "zeros", "a stranger's", "of another message"],
)
def test_what_is_no_signature_of_the_message_is_refused(made: bytes) -> None:
    with pytest.raises(PolicyError, match="not a signature of"):
        asyncio.run(CallableSigner(KEY.pubkey(), lambda _: made).sign(b"m"))


def signs(asked: dict[str, Any]) -> tuple[int, Any]:
    return 200, {"signature": str(KEY.sign_message(base64.b64decode(asked["message"])))}


def test_a_service_is_asked_for_the_signature_of_exactly_the_message() -> None:
    seen: list[dict[str, str]] = []
    with service(signs, seen) as url:
        signer = HttpSigner(KEY.pubkey(), url, token="T0KEN")
        assert asyncio.run(signer.sign(b"the message")).verify(
            KEY.pubkey(), b"the message"
        )
        assert "SECRET-PATH" not in repr(signer)
        assert "T0KEN" not in repr(signer)
    assert [(s["address"], s["authorization"]) for s in seen] == [
        (str(KEY.pubkey()), "Bearer T0KEN")
    ]
    assert base64.b64decode(seen[0]["message"]) == b"the message"


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (
            lambda _: (403, {"error": "the person\u202e said no"}),
            PolicyError,
            "the person said no",
        ),
        (lambda _: (200, {"error": "no"}), PolicyError, "no"),
        (lambda _: (200, {"signature": "zz0"}), PolicyError, "not a signature"),
        (
            lambda _: (200, {"signature": str(STRANGER.sign_message(b"m"))}),
            PolicyError,
            "not a signature",
        ),
        (lambda _: (200, b"<html>"), TransportError, "no JSON"),
        (lambda _: (500, {"error": "down"}), TransportError, "500"),
        (lambda _: (307, {"error": "moved"}), PolicyError, "307"),
    ],
)
def test_a_service_that_does_not_sign_is_an_error_and_is_asked_once(
    answer: Answer, error: type[Exception], says: str
) -> None:
    seen: list[dict[str, str]] = []
    with service(answer, seen) as url, pytest.raises(error, match=says) as failed:
        asyncio.run(HttpSigner(KEY.pubkey(), url, token="T0KEN").sign(b"m"))
    assert len(seen) == 1
    assert "SECRET-PATH" not in str(failed.value)
    assert "T0KEN" not in str(failed.value)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
def test_a_token_follows_no_redirect(status: int) -> None:
    """Neither to another path of the same service, nor to another service."""
    asked: list[dict[str, str]] = []
    elsewhere: list[dict[str, str]] = []
    with service(signs, elsewhere) as other:
        for location in ("/elsewhere", other):
            with (
                service(lambda _: (status, {}), asked, location=location) as url,
                pytest.raises(PolicyError, match=str(status)),
            ):
                asyncio.run(HttpSigner(KEY.pubkey(), url, token="T0KEN").sign(b"m"))
    assert [one["path"] for one in asked] == ["/sign/SECRET-PATH"] * 2
    assert elsewhere == []


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY"])
def test_a_service_on_this_machine_is_not_asked_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    proxied: list[dict[str, str]] = []
    seen: list[dict[str, str]] = []
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    with service(signs, proxied) as proxy, service(signs, seen) as url:
        monkeypatch.setenv(name, proxy)
        asyncio.run(HttpSigner(KEY.pubkey(), url, token="T0KEN").sign(b"m"))
    assert proxied == []
    assert len(seen) == 1


def test_a_service_that_is_not_there_is_a_transport_error() -> None:
    with pytest.raises(TransportError, match="did not answer"):
        asyncio.run(HttpSigner(KEY.pubkey(), "http://127.0.0.1:1/x").sign(b"m"))


@pytest.mark.parametrize(
    "url", ["ftp://x", "nonsense", "http://signer.example.com/x", ""]
)
def test_a_service_elsewhere_is_asked_over_https_only(url: str) -> None:
    with pytest.raises(SourceError):
        HttpSigner(KEY.pubkey(), url)


@pytest.mark.parametrize("n", [1 << 10, 1 << 13])
def test_a_keystore_that_is_cheap_to_guess_is_refused(
    keystore: tuple[Path, Keypair],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    n: int,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(keys, "_N", n)
        patched.setattr(keys, "_N_MIN", n)
        create_keystore(tmp_path / "weak.json", keystore[1], PASSPHRASE)
    with pytest.raises(SourceError, match="damaged"):
        open_keystore(tmp_path / "weak.json", PASSPHRASE)


@pytest.mark.slow
def test_the_dearest_keystore_that_is_accepted_opens(tmp_path: Path) -> None:
    path = tmp_path / "dear.json"
    path.touch(0o600)
    path.write_text((FIXTURES / "keys" / "cost_2_20.json").read_text())
    assert (
        open_keystore(path, PASSPHRASE).address
        == Keypair.from_seed(bytes([9] * 32)).pubkey()
    )


@pytest.mark.parametrize("error", [MemoryError(), ValueError("memory limit exceeded")])
def test_too_little_memory_is_not_called_damage(
    keystore: tuple[Path, Keypair], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def scrypt(*_: object, **__: object) -> bytes:
        raise error

    monkeypatch.setattr("hashlib.scrypt", scrypt)
    with pytest.raises(SourceError, match="takes 128 MiB of memory"):
        open_keystore(keystore[0], PASSPHRASE)


@pytest.mark.parametrize(
    "n", [(1 << 17) + 1, float(1 << 17), True, "131072", 1 << 21, None]
)
def test_a_cost_that_scrypt_does_not_take_is_refused(
    keystore: tuple[Path, Keypair], tmp_path: Path, n: object
) -> None:
    kdf = json.loads(keystore[0].read_text())["kdf"]
    with pytest.raises(SourceError, match="damaged"):
        open_keystore(copy(keystore, tmp_path, kdf={**kdf, "n": n}), PASSPHRASE)


def test_half_of_a_surrogate_pair_is_refused_in_plain_words(
    keystore: tuple[Path, Keypair], tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="surrogate pair"):
        open_keystore(keystore[0], "\ud83d is half")
    with pytest.raises(SourceError, match="surrogate pair"):
        create_keystore(tmp_path / "new.json", Keypair(), "\ud83d is half")
    assert not (tmp_path / "new.json").exists()


def test_the_address_is_read_without_a_passphrase(
    keystore: tuple[Path, Keypair],
) -> None:
    assert keys.keystore_address(keystore[0]) == str(keystore[1].pubkey())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", "[" * 100_000, '{"format": "mcpsol keystore 1"}', "\x00" * 50],
)
def test_a_file_that_is_cut_or_something_else_is_refused(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "agent.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SourceError):
        open_keystore(path, PASSPHRASE)


def test_every_cut_of_a_keystore_is_refused(
    keystore: tuple[Path, Keypair], tmp_path: Path
) -> None:
    whole = keystore[0].read_text().rstrip()
    path = tmp_path / "agent.json"
    path.touch(0o600)
    for length in range(0, len(whole), 37):
        path.write_text(whole[:length])
        with pytest.raises(SourceError):
            open_keystore(path, PASSPHRASE)


def test_a_link_is_as_readable_as_what_it_leads_to(
    keystore: tuple[Path, Keypair], tmp_path: Path
) -> None:
    target = copy(keystore, tmp_path)
    link = tmp_path / "link.json"
    link.symlink_to(target)
    assert open_keystore(link, PASSPHRASE).address == keystore[1].pubkey()
    target.chmod(0o640)
    with pytest.raises(SourceError, match="others may read"):
        open_keystore(link, PASSPHRASE)
