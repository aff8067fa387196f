"""Keys that sign (for the bridge, for payments): an encrypted file, or any signer with an address and `sign`.

The file is JSON: scrypt (n 2^17, r 8, p 1) makes a key of the passphrase, AES-256-GCM seals the 32-byte seed with it,
and the address and all parameters are authenticated with it, so none can be swapped. No tool takes or returns a key,
and no function here prints one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mcpsol_py.errors import SourceError

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey
    from solders.signature import Signature

__all__ = ["KeypairSigner", "Signer", "create_keystore", "open_keypair", "open_keystore"]

_FORMAT = "mcpsol keystore 1"
_N, _R, _P = 1 << 17, 8, 1
#: what reading accepts, so that a file cannot make the reader burn memory
_N_MAX = 1 << 20


class Signer(Protocol):
    """Signs for one address. A hardware wallet or a remote service is one by having these two."""

    @property
    def address(self) -> Pubkey:
        """Whose signature it makes."""

    async def sign(self, message: bytes) -> Signature:
        """The signature of a serialized message. May ask a person, and may refuse by raising PolicyError."""


class KeypairSigner:
    """A key pair in this process's memory. Its repr holds the address only."""

    def __init__(self, keypair: Keypair) -> None:
        self._keypair = keypair

    def __repr__(self) -> str:
        return f"<KeypairSigner {self.address}>"

    @property
    def address(self) -> Pubkey:
        """Whose signature it makes."""
        return self._keypair.pubkey()

    async def sign(self, message: bytes) -> Signature:
        """The ed25519 signature of *message*."""
        return self._keypair.sign_message(message)


def create_keystore(path: Path, keypair: Keypair, passphrase: str) -> None:
    """Writes *keypair* to *path*, sealed, readable by its owner only. Raises SourceError where a file is there
    already.
    """
    if len(passphrase) < 8:
        raise SourceError("the passphrase has fewer than 8 characters; use a longer one", origin=str(path))
    header: dict[str, Any] = {
        "format": _FORMAT,
        "address": str(keypair.pubkey()),
        "kdf": {"name": "scrypt", "n": _N, "r": _R, "p": _P, "salt": secrets.token_hex(16)},
        "cipher": {"name": "aes-256-gcm", "nonce": secrets.token_hex(12)},
    }
    sealed = _gcm(passphrase, header).encrypt(
        bytes.fromhex(header["cipher"]["nonce"]), keypair.secret(), _authenticated(header)
    )
    text = json.dumps({**header, "sealed": sealed.hex()}, indent=1) + "\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise SourceError("is there already; a key is never overwritten", origin=str(path)) from error
    with os.fdopen(handle, "w") as file:
        file.write(text)


def open_keystore(path: Path, passphrase: str) -> KeypairSigner:
    """The signer of a keystore file. Raises as open_keypair."""
    return KeypairSigner(open_keypair(path, passphrase))


def open_keypair(path: Path, passphrase: str) -> Keypair:
    """The key pair of a keystore file, for code of this process that must sign by itself (payments).

    Raises SourceError where the file is none, others may read it, or the passphrase does not open it.
    """
    from cryptography.exceptions import InvalidTag
    from solders.keypair import Keypair

    try:
        mode = path.stat().st_mode
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    except ValueError as error:
        raise SourceError("no JSON, so no keystore", origin=str(path)) from error
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise SourceError(
            f"others may read this key (mode {stat.S_IMODE(mode):o}); run chmod 600 on it", origin=str(path)
        )
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise SourceError(f'no keystore (its "format" is {_FORMAT!r})', origin=str(path))
    header = {k: v for k, v in document.items() if k != "sealed"}
    try:
        sealed, nonce = bytes.fromhex(document["sealed"]), bytes.fromhex(document["cipher"]["nonce"])
        seed = _gcm(passphrase, header).decrypt(nonce, sealed, _authenticated(header))
    except InvalidTag:
        raise SourceError("the passphrase does not open it, or the file was changed", origin=str(path)) from None
    except (KeyError, TypeError, ValueError) as error:
        raise SourceError("a part of the keystore is missing or damaged", origin=str(path)) from error
    keypair = Keypair.from_seed(seed)
    if str(keypair.pubkey()) != document["address"]:
        raise SourceError("the key is not that of the address beside it", origin=str(path))
    return keypair


def _authenticated(header: dict[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def _gcm(passphrase: str, header: dict[str, Any]) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    kdf, cipher = header["kdf"], header["cipher"]
    n, r, p = kdf["n"], kdf["r"], kdf["p"]
    if kdf["name"] != "scrypt" or cipher["name"] != "aes-256-gcm" or not (0 < n <= _N_MAX and r == _R and p == _P):
        raise ValueError("unknown parameters")
    key = hashlib.scrypt(
        passphrase.encode(), salt=bytes.fromhex(kdf["salt"]), n=n, r=r, p=p, maxmem=256 * n * r, dklen=32
    )
    return AESGCM(key)
