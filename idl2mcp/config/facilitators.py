"""The key `facilitators` of [payments]: who verifies and settles, and how this seller authenticates to them.

docs/configuration.md lists the keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcpsol_py import telemetry
from mcpsol_py.errors import PaymentError, SourceError, suggest
from mcpsol_py.toml_schema import (
    NUMBER,
    TABLE,
    TEXT,
    Keys,
    checked,
    checked_value,
    one_of,
)

if TYPE_CHECKING:
    import httpx

    from mcpsol_py.x402.selling.facilitator_client import FacilitatorClient
    from mcpsol_py.x402.selling.facilitators import Facilitators

__all__ = ["FACILITATOR", "FacilitatorEntry", "open_facilitators", "read_facilitators"]

#: The names of mcpsol_py.x402.selling.facilitator_auth.PRESETS, without importing it.
PRESET_NAMES = ("cdp", "payai")
FACILITATOR: Keys = {
    "url": TEXT,
    "preset": one_of(*PRESET_NAMES),
    "key_id": TEXT,
    "secret": TEXT,
    "token": TEXT,
    "headers": TABLE,
    "timeout": NUMBER,
}
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,8000}")


@dataclass(frozen=True, slots=True)
class FacilitatorEntry:
    """One facilitator of the configuration: a URL, a preset, or a package's own by `name`. Secrets are read already."""

    path: str
    url: str | None = None
    preset: str | None = None
    name: str | None = None
    key_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 5.0


def read_facilitators(
    value: Sequence[Any], base: Path = Path()
) -> tuple[FacilitatorEntry, ...]:
    """Read `payments.facilitators`; files of secrets are relative to *base*. Raises SourceError with the key's path."""
    return tuple(
        _entry(one, f"payments.facilitators[{index}]", base)
        for index, one in enumerate(value)
    )


def open_facilitators(entries: Sequence[FacilitatorEntry]) -> Facilitators:
    """Make the facilitators, in order of preference. Raises SourceError and PaymentError."""
    from mcpsol_py.x402.selling.facilitators import Facilitators

    return Facilitators([_opened(entry) for entry in entries])


def _entry(one: Any, path: str, base: Path) -> FacilitatorEntry:
    if isinstance(one, str):
        return _named(one, path)
    values = checked(one, FACILITATOR, path)
    if ("url" in values) == ("preset" in values):
        raise SourceError(
            f"needs a url, or a preset: {' or '.join(PRESET_NAMES)}", path=path
        )
    if "token" in values and ("secret" in values or "key_id" in values):
        raise SourceError("expected a token, or key_id and secret; got both", path=path)
    for name in ("secret", "token"):
        if name in values:
            values[name] = _secret(values[name], base, f"{path}.{name}")
    values["headers"] = _headers(values.get("headers", {}), base, f"{path}.headers")
    if (values["headers"] or "token" in values) and not _is_private(
        values.get("url", "")
    ):
        raise SourceError("tokens and headers need https", path=f"{path}.url")
    if values.get("timeout", 1) <= 0:
        raise SourceError("expected more than 0 seconds", path=f"{path}.timeout")
    if "key_id" in values and "preset" not in values:
        raise SourceError(
            "key_id belongs to a preset; expected a token", path=f"{path}.key_id"
        )
    return FacilitatorEntry(path, **values)


def _is_private(url: str) -> bool:
    """Whether nobody else reads the requests to *url*. A preset, which has no url here, is encrypted."""
    parts = urlsplit(url)
    return parts.scheme != "http" or parts.hostname in _THIS_MACHINE


def _named(text: str, path: str) -> FacilitatorEntry:
    if text in PRESET_NAMES:
        return FacilitatorEntry(path, preset=text)
    if "://" in text:
        return FacilitatorEntry(path, url=text)
    return FacilitatorEntry(path, name=text)


def _secret(text: str, base: Path, path: str) -> str:
    """The secret itself: of a file ("file:cdp.key"), of the environment ("env:CDP_SECRET"), or the text as it is."""
    kind, _, name = text.partition(":")
    if kind == "env":
        found = os.environ.get(name, "")
        missing = f"the environment has no {name}"
    elif kind == "file":
        found, missing = _content(base / name), f"{name}: no such file, or it is empty"
    else:
        found, missing = text, "expected a secret, got an empty text"
    if not found.strip():
        raise SourceError(missing, path=path)
    telemetry.hide(found.strip())
    return found.strip()


def _content(file: Path) -> str:
    try:
        return file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _headers(table: Mapping[str, Any], base: Path, path: str) -> dict[str, str]:
    headers = {}
    for name, value in table.items():
        at = f"{path}.{name}"
        headers[name] = _secret(checked_value(value, TEXT, at), base, at)
        if not (
            _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(headers[name])
        ):
            raise SourceError(
                "expected a header of printable ASCII characters", path=at
            )
    return headers


def _opened(entry: FacilitatorEntry) -> FacilitatorClient:
    from mcpsol_py.x402.selling.facilitator_auth import PRESETS
    from mcpsol_py.x402.selling.facilitator_client import (
        HttpFacilitator,
        custom_facilitator,
    )

    if entry.name is not None:
        try:
            return custom_facilitator(entry.name)
        except PaymentError as error:
            raise SourceError(
                f"{error}. Presets: {suggest(entry.name, PRESET_NAMES)}",
                path=entry.path,
            ) from error
    preset = None if entry.preset is None else PRESETS[entry.preset]
    url = entry.url if preset is None else preset.url
    assert url is not None  # _entry checks that one of them is given
    return HttpFacilitator(
        url,
        timeout=entry.timeout,
        headers=lambda: dict(entry.headers),
        auth=_auth(entry),
    )


def _auth(entry: FacilitatorEntry) -> httpx.Auth | None:
    from mcpsol_py.x402.selling.facilitator_auth import BearerToken, preset_key

    if entry.token is not None:
        return BearerToken(entry.token)
    if entry.preset is None:
        return None
    try:
        return preset_key(entry.preset, entry.key_id, entry.secret)
    except PaymentError as error:
        raise SourceError(str(error), path=entry.path) from error
