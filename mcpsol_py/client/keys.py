"""Signers for the bridge and for payments: an encrypted key file, a service over HTTP, a function, or your own.

The key file is JSON. scrypt (n 2^17, r 8, p 1) derives a key from the passphrase, and AES-256-GCM encrypts the 32-byte
seed with it. The address and all parameters are authenticated, so none can be swapped. No tool takes or returns a key,
and no function here prints one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import json
import os
import secrets
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, urlsplit

from mcpsol_py.errors import PolicyError, SourceError, TransportError, abbr
from mcpsol_py.items import without
from mcpsol_py.names import clean_text
from mcpsol_py.solana.base58 import b58decode
from mcpsol_py.solana.clusters import is_on_this_machine

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey
    from solders.signature import Signature

__all__ = [
    "CallableSigner",
    "HttpSigner",
    "KeypairSigner",
    "Signer",
    "create_keystore",
    "keystore_address",
    "open_keypair",
    "open_keystore",
    "read_private_file",
    "refuse_existing",
]

#: How many bytes of a signing service's answer are read.
_ANSWER = 64 * 1024
#: The most bytes of a key file. A keystore has about 500.
_LONGEST_FILE = 64 * 1024

_FORMAT = "mcpsol keystore 1"
_N, _R, _P = 1 << 17, 8, 1
#: The costs that reading accepts: enough to make guessing expensive (RFC 7914 recommends 2^14 for interactive use), and
#: not more than a file may make the reader compute.
_N_MIN, _N_MAX = 1 << 14, 1 << 20


class Signer(Protocol):
    """Signs for one address. Any class with these two members is a signer, such as one for a hardware wallet."""

    @property
    def address(self) -> Pubkey:
        """The address that it signs for."""

    async def sign(self, message: bytes) -> Signature:
        """Sign a serialized message. May ask a person, and may refuse by raising PolicyError."""


class KeypairSigner:
    """A key pair in this process's memory. Its repr has only the address."""

    def __init__(self, keypair: Keypair) -> None:
        self._keypair = keypair

    def __repr__(self) -> str:
        return f"<KeypairSigner {self.address}>"

    @property
    def address(self) -> Pubkey:
        """The address that it signs for."""
        return self._keypair.pubkey()

    async def sign(self, message: bytes) -> Signature:
        """Return the ed25519 signature of *message*."""
        return self.sign_now(message)

    def sign_now(self, message: bytes) -> Signature:
        """Return the ed25519 signature of *message*, without a loop."""
        return self._keypair.sign_message(message)


class CallableSigner:
    """A function that signs, such as one of a hardware wallet's library or a key management service's client.

    It takes the message's bytes and returns the 64 bytes of the signature, or an awaitable of them. It may refuse by
    raising PolicyError.
    """

    def __init__(
        self, address: Pubkey, function: Callable[[bytes], bytes | Awaitable[bytes]]
    ) -> None:
        self._address, self._function = address, function

    def __repr__(self) -> str:
        return f"<CallableSigner {self._address}>"

    @property
    def address(self) -> Pubkey:
        """The address that it signs for."""
        return self._address

    async def sign(self, message: bytes) -> Signature:
        """Return the function's signature. Raises PolicyError if it does not fit the message and the address."""
        made = self._function(message)
        return _fitting(
            made if isinstance(made, bytes) else await made, message, self._address
        )


class HttpSigner:
    """A signing service at *url*.

    It is sent ``{"address", "message"}`` (base58, base64) by POST, and answers ``{"signature"}`` (base58), or
    ``{"error"}`` with a status of 400 or more. *token* is sent as a bearer token, to this URL only: redirects are not
    followed, and a service on this machine is not asked through a proxy. Plain http is allowed for loopback addresses
    only. Raises SourceError for an invalid URL.
    """

    def __init__(
        self,
        address: Pubkey,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        parts = _http_url(url)
        self._local = is_on_this_machine(url)  # then it is not asked through a proxy
        if parts.scheme == "http" and not self._local:
            raise SourceError(
                "a signer on another machine needs an https URL", path="signer.url"
            )
        self._address, self._url, self._token, self._timeout = (
            address,
            url,
            token,
            timeout,
        )
        self._host = f"{parts.scheme}://{parts.hostname}" + (
            f":{parts.port}" if parts.port else ""
        )

    def __repr__(self) -> str:
        return f"<HttpSigner {self._address} at {self._host}>"

    @property
    def address(self) -> Pubkey:
        """The address that it signs for."""
        return self._address

    async def sign(self, message: bytes) -> Signature:
        """Ask the service for a signature, once.

        Raises PolicyError if it refuses or the signature does not fit, TransportError if it does not answer.
        """
        status, body = await asyncio.to_thread(self._post, message)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise TransportError(
                self._host, f"the signer answered {status} and no JSON object"
            )
        said = clean_text(str(answer.get("error", "no reason was given")), 200)
        if status >= 500:
            raise TransportError(self._host, f"the signer answered {status}: {said}")
        if status != 200 or "signature" not in answer:
            raise PolicyError("signer", f"{self._host} refused ({status}): {said}")
        try:
            raw = b58decode(str(answer["signature"]))
        except ValueError:
            raw = b""
        return _fitting(raw, message, self._address)

    def _post(self, message: bytes) -> tuple[int, bytes]:
        import urllib.error
        import urllib.request

        class Stay(urllib.request.HTTPRedirectHandler):
            """Follows no redirect, because the token would be sent along."""

            def redirect_request(self, *_: Any) -> None:
                return None

        body = {
            "address": str(self._address),
            "message": base64.b64encode(message).decode(),
        }
        headers = {"content-type": "application/json"}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)
        # None takes the environment's proxies, {} takes none.
        proxies = urllib.request.ProxyHandler({} if self._local else None)
        opener = urllib.request.build_opener(Stay, proxies)
        try:
            with opener.open(request, timeout=self._timeout) as answer:
                return answer.status, answer.read(_ANSWER)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(_ANSWER)
        except (
            OSError,
            http.client.HTTPException,
        ) as error:  # their text may contain the URL
            raise TransportError(
                self._host, f"the signer did not answer ({type(error).__name__})"
            ) from error


def _http_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        valid = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:  # an odd port or IPv6 address
        valid = False
    if not valid:
        raise SourceError(
            f"expected an http(s) URL, got {abbr(url)}", path="signer.url"
        )
    return parts


def _fitting(raw: bytes, message: bytes, address: Pubkey) -> Signature:
    from solders.signature import Signature

    made = Signature.from_bytes(raw) if len(raw) == 64 else None
    if made is None or not made.verify(address, message):
        raise PolicyError(
            "signers",
            f"the signer's answer is not a signature of {address} over the message",
        )
    return made


# --- the key file -----------------------------------------------------------------------------------------------------


def create_keystore(path: Path, keypair: Keypair, passphrase: str) -> None:
    """Write *keypair* to *path*, encrypted and readable by its owner only.

    Raises SourceError if the file exists, or the passphrase has fewer than 8 characters or cannot be encoded.
    """
    if len(passphrase) < 8:
        raise SourceError(
            "the passphrase has fewer than 8 characters; use a longer one",
            origin=str(path),
        )
    header: dict[str, Any] = {
        "format": _FORMAT,
        "address": str(keypair.pubkey()),
        "kdf": {
            "name": "scrypt",
            "n": _N,
            "r": _R,
            "p": _P,
            "salt": secrets.token_hex(16),
        },
        "cipher": {"name": "aes-256-gcm", "nonce": secrets.token_hex(12)},
    }
    sealed = _gcm(path, passphrase, header).encrypt(
        bytes.fromhex(header["cipher"]["nonce"]),
        keypair.secret(),
        _authenticated(header),
    )
    text = json.dumps({**header, "sealed": sealed.hex()}, indent=1) + "\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    with os.fdopen(handle, "w") as file:
        file.write(text)


def refuse_existing(path: Path) -> None:
    """Raise SourceError if there is a file where a new key is to be written. `create_keystore` never overwrites one."""
    if path.exists():
        raise _exists(path)


def _exists(path: Path) -> SourceError:
    return SourceError(
        "the file exists already; a key is never overwritten", origin=str(path)
    )


def open_keystore(path: Path, passphrase: str) -> KeypairSigner:
    """Return the signer of a keystore file. Raises as `open_keypair`."""
    return KeypairSigner(open_keypair(path, passphrase))


def open_keypair(path: Path, passphrase: str) -> Keypair:
    """Return the key pair of a keystore file, for code of this process that signs by itself (payments).

    Raises SourceError if the file is not a keystore, others may read it, or the passphrase does not open it.
    """
    document = _read_keystore(path)
    keypair = _decrypt(path, document, passphrase)
    if str(keypair.pubkey()) != document.get("address"):
        raise SourceError(
            "the key does not belong to the address in the file", origin=str(path)
        )
    return keypair


def keystore_address(path: Path) -> str:
    """Return the address in a keystore file, without its passphrase.

    Raises SourceError if there is no file, it is not a keystore, or others may read it.
    """
    return str(_read_keystore(path).get("address"))


def read_private_file(path: Path) -> bytes:
    """Return the content of a file with a key, of any format. Raises SourceError if others may read it."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    if os.name == "posix" and mode & 0o077:
        why = f"others may read this key (mode {mode:o}); run chmod 600 on it"
        raise SourceError(why, origin=str(path))
    if len(content) > _LONGEST_FILE:
        raise SourceError(
            f"expected a key file, got one of over {_LONGEST_FILE:,} bytes",
            origin=str(path),
        )
    return content


def _read_keystore(path: Path) -> dict[str, Any]:
    """Read the file's JSON. Raises SourceError if it is not a keystore, or others may read it."""
    try:
        document = json.loads(read_private_file(path))
    except (ValueError, RecursionError) as error:
        raise SourceError("not a keystore: it is not JSON", origin=str(path)) from error
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise SourceError(
            f'not a keystore: expected "format": {_FORMAT!r}', origin=str(path)
        )
    return document


def _decrypt(path: Path, document: dict[str, Any], passphrase: str) -> Keypair:
    from cryptography.exceptions import InvalidTag
    from solders.keypair import Keypair

    header = without(document, "sealed")
    try:
        sealed = bytes.fromhex(document["sealed"])
        nonce = bytes.fromhex(document["cipher"]["nonce"])
        seed = _gcm(path, passphrase, header).decrypt(
            nonce, sealed, _authenticated(header)
        )
    except InvalidTag:
        why = "the passphrase does not open it, or the file was changed"
        raise SourceError(why, origin=str(path)) from None
    except (KeyError, TypeError, ValueError) as error:
        why = "a part of the keystore is missing or damaged"
        raise SourceError(why, origin=str(path)) from error
    return Keypair.from_seed(seed)


def _authenticated(header: dict[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def _gcm(path: Path, passphrase: str, header: dict[str, Any]) -> Any:
    """Return the cipher of a keystore. Raises KeyError, TypeError or ValueError for a header that is damaged."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    kdf, cipher = header["kdf"], header["cipher"]
    known = kdf["name"] == "scrypt" and cipher["name"] == "aes-256-gcm"
    if not (known and _is_cost(kdf["n"]) and kdf["r"] == _R and kdf["p"] == _P):
        raise ValueError("unknown parameters")
    salt = bytes.fromhex(kdf["salt"])
    return AESGCM(
        _derived_key(path, _passphrase_bytes(path, passphrase), salt, kdf["n"])
    )


def _is_cost(n: object) -> bool:
    """Whether scrypt takes *n*, a power of two, and this module accepts it."""
    return type(n) is int and _N_MIN <= n <= _N_MAX and n.bit_count() == 1


def _derived_key(path: Path, passphrase: bytes, salt: bytes, n: int) -> bytes:
    """Run scrypt. Raises SourceError if this machine has too little memory for it."""
    # RFC 7914: the table of n blocks, and what is mixed with it.
    needed = 128 * _R * (n + _P + 2)
    try:
        return hashlib.scrypt(
            passphrase, salt=salt, n=n, r=_R, p=_P, maxmem=needed + (1 << 20), dklen=32
        )
    except (
        MemoryError,
        ValueError,
    ) as error:  # OpenSSL reports a failed allocation as ValueError
        raise SourceError(
            f"opening it takes {needed >> 20:,} MiB of memory, and they are not free here",
            origin=str(path),
        ) from error


def _passphrase_bytes(path: Path, passphrase: str) -> bytes:
    """Encode a passphrase as UTF-8. Bytes that were none (in an environment variable) are taken as they are."""
    try:
        return passphrase.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise SourceError(
            "the passphrase has half of a surrogate pair, which is not a character; use another passphrase",
            origin=str(path),
        ) from error
