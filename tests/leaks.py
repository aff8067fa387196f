"""A watch over what tests of payments and bridges show: no secret may be in it, whatever the test asserted.

Secrets are noted where they are made (`_SOURCES`): keys, passphrases, signed payments, vouchers, sign-in proofs,
webhook secrets, state keys, database passwords. Shown is what a test printed and logged, and what passes `_CHANNELS`:
errors of this library with their causes, errors of SQL, results, reprs, spans. tests/contracts/test_leaks.py feeds each
secret into each channel.
"""

from __future__ import annotations

import base64
import binascii
import functools
import importlib
import json
import logging
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

__all__ = ["PASSPHRASES", "found_in", "note"]

PASSPHRASES = ("correct horse battery", "correct-horse-battery")
_WATCHED = re.compile(
    r"tests/(unit/(x402|bridge)|functional/.*(x402|bridge|payment|wallet|passphrases|cli_serve))"
)
#: what a key or a payment looks like: long runs of base58, base64 or hex, and a list of bytes
_TOKENS = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_PARTS = re.compile(r"[^+/_=-]{40,}")
_LISTS = re.compile(r"\[\s*\d{1,3}(?:\s*,\s*\d{1,3}){31,}\s*\]")
#: How often base64 is unpacked: a header holds JSON in base64, which holds a payment in base64.
_DEPTH = 3
_secrets: dict[str, str] = {}
#: The part of a signed payment that is its payer's signature: SQLAlchemy cuts long values in the middle.
_PIECE = slice(90, 140)
_pieces: dict[str, str] = {}
#: Secrets that look like nothing in particular: found wherever they are in a text.
_words: dict[str, str] = dict.fromkeys(PASSPHRASES, "a passphrase")


def note(secret: str, kind: str = "a key or a signed payment") -> None:
    """A text that must never be shown. One of fewer than 40 characters is found inside words too."""
    if len(secret) > 200:
        _pieces[secret[_PIECE]] = kind
    if len(secret) >= 40:
        _secrets[secret] = kind
    elif len(secret) >= 8:
        _words[secret] = kind


def note_bytes(raw: bytes, kind: str = "a key or a signed payment") -> None:
    """Bytes in the forms that keys are written in."""
    from mcpsol_py.solana.base58 import b58encode

    note(b58encode(raw), kind)
    _note_other_forms(raw, kind)


def _note_other_forms(raw: bytes, kind: str = "a key or a signed payment") -> None:
    """The forms of bytes that no address has."""
    for text in (raw.hex(), base64.b64encode(raw).decode(), repr(raw)):
        if len(text) >= 40:
            note(text, kind)
    _secrets[json.dumps(list(raw), separators=(",", ":"))] = kind


@cache
def _prepare() -> None:
    from solders.keypair import Keypair

    from idl2mcp.local_cluster import wallet

    for number in range(256):
        seed = bytes([number]) * 32
        note_bytes(bytes(Keypair.from_seed(seed)))
        # In base58 a seed may be an address, the hex of 0x11 an empty signature, and zeros anything that is empty.
        if number not in (0, 0x11):
            _note_other_forms(seed)
    for name in ("alice", "bob", "mallory", "merchant", "sponsor"):
        note_bytes(bytes(wallet(name)))
        note_bytes(bytes(wallet(name))[:32])


def found_in(text: str, depth: int = _DEPTH) -> str | None:
    """The kind of secret in *text*, or None. Base64 of text is unpacked."""
    _prepare()
    for word, kind in _words.items():
        if word in text:
            return kind
    for token in _TOKENS.findall(text):
        found = _kind_of(token) or (
            found_in(_unpacked(token), depth - 1) if depth else None
        )
        if found is not None:
            return found
    lists = (re.sub(r"\s", "", one) for one in _LISTS.findall(text))
    return next((_secrets[one] for one in lists if one in _secrets), None)


def _kind_of(token: str) -> str | None:
    whole = next(
        (_secrets[t] for t in (token, *_PARTS.findall(token)) if t in _secrets), None
    )
    return whole or _pieces.get(token[_PIECE])


def _unpacked(token: str) -> str:
    try:
        text = base64.b64decode(token.translate({45: 43, 95: 47}) + "==").decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return text if text.isprintable() else ""


# --- where secrets are made ----------------------------------------------------------------------------------------


def _of_voucher(signature: str) -> None:
    note(signature, "a voucher")


def _of_proof(proof: dict[str, Any]) -> None:
    note(proof["signature"], "a sign-in proof")


def _of_webhook(hook: Any) -> None:
    note(hook.secret, "a webhook's secret")


def _of_url(url: Any) -> None:
    if url.password:
        note(str(url.password), "a database's password")


#: Functions that make secrets: module, name, and what notes the secret in their result.
_SOURCES: tuple[tuple[str, str, Callable[[Any], None]], ...] = (
    ("mcpsol_py.x402.exact.transaction", "wire_base64", note),
    ("mcpsol_py.x402.channels.voucher", "sign_voucher", _of_voucher),
    ("mcpsol_py.x402.protocol.proof", "sign_proof", _of_proof),
    ("mcpsol_py.x402.store.webhooks", "Webhooks.add", _of_webhook),
    ("mcpsol_py.x402.store.engine", "read_url", _of_url),
)


# --- what is shown -------------------------------------------------------------------------------------------------

_leaks: list[str] = []
_errors: list[BaseException] = []


def _show(channel: str, text: str) -> None:
    kind = found_in(text)
    # A seller shows a buyer its own voucher, in receipts and as the proof of a sum: the scheme says so.
    is_shown_to_its_owner = kind == "a voucher" and re.search(
        "voucherState|commitmentId", text
    )
    if kind is not None and not is_shown_to_its_owner:
        _leaks.append(f"{kind} stands in this test's {channel}")


def _show_repr(made: object) -> None:
    _show(f"repr of {type(made).__name__}", repr(made))


def _show_result(result: Any) -> None:
    _show(
        "result",
        result if isinstance(result, str) else json.dumps(result, default=_as_json),
    )


def _as_json(value: Any) -> Any:
    return (
        value.model_dump(mode="json", by_alias=True)
        if hasattr(value, "model_dump")
        else repr(value)
    )


def _show_settings(settings: Any) -> None:
    if settings.state_key is not None:
        note_bytes(settings.state_key, "a state key")
    _show_repr(settings)


def _keep_error(error: BaseException) -> None:
    _errors.append(error)


def _show_error(error: BaseException) -> None:
    chain: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in chain:
        chain.append(at)
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    is_ours = type(error).__module__.startswith("mcpsol_py")
    details = error.details() if is_ours else {}  # type: ignore[attr-defined]  # an McpsolError
    channel = "exception" if is_ours else "SQL error"
    _show(channel, " ".join(f"{one} {one!r}" for one in chain) + f" {details}")


#: Classes whose new objects are shown: module, name, and how.
_CHANNELS: tuple[tuple[str, str, Callable[[Any], None]], ...] = (
    ("mcpsol_py.errors", "McpsolError", _keep_error),
    ("sqlalchemy.exc", "DBAPIError", _keep_error),
    ("mcp_types", "CallToolResult", _show_result),
    ("mcpsol_py.bridge.http.settings", "HttpSettings", _show_settings),
    ("mcpsol_py.x402.buying.budget", "Spending", _show_repr),
    ("mcpsol_py.x402.channels.batch", "BatchPayment", _show_repr),
    ("mcpsol_py.x402.exact.settle", "Settlement", _show_repr),
    ("mcpsol_py.x402.selling.paid_call", "PaidCall", _show_repr),
    ("mcpsol_py.x402.store.channels", "PaidChannel", _show_repr),
    ("mcpsol_py.x402.store.wallet_channels", "WalletChannel", _show_repr),
    ("mcpsol_py.x402.store.webhooks", "Webhook", _show_repr),
)
#: Coroutine functions whose results are shown.
_ANSWERS = (
    ("mcpsol_py.x402.buying.agent_tools", "AgentTools.call"),
    ("mcpsol_py.x402.selling.paid_calls", "PaidCalls.call"),
)


class _Span:
    def set(self, **attributes: Any) -> None:
        _show("span", str(attributes))


@contextmanager
def _open_span(name: str, attributes: dict[str, Any]) -> Iterator[_Span]:
    _show("span", f"{name} {attributes}")
    yield _Span()


def _mark_span(attributes: dict[str, Any]) -> None:
    _show("span", str(attributes))


def _write(name: str, level: str, fields: dict[str, Any]) -> None:
    logging.getLogger("mcpsol_py.events").warning("%s %s", name, fields)


# --- pytest --------------------------------------------------------------------------------------------------------


def _wrap(module: str, name: str, around: Callable[[Any], Any]) -> None:
    """Replace a function or method everywhere: modules that were imported before have it by its name."""
    home = importlib.import_module(module)
    *owner, last = name.split(".")
    holder = getattr(home, owner[0]) if owner else home
    old = getattr(holder, last)
    new = functools.wraps(old)(around(old))
    setattr(holder, last, new)
    if not owner:
        for other in list(sys.modules.values()):
            if getattr(other, last, None) is old:
                setattr(other, last, new)


def _noting(notes: Callable[[Any], None]) -> Callable[[Any], Any]:
    def around(old: Any) -> Any:
        def new(*args: Any, **options: Any) -> Any:
            made = old(*args, **options)
            notes(made)
            return made

        return new

    return around


def _showing(shows: Callable[[Any], None]) -> Callable[[Any], Any]:
    """Around an __init__."""

    def around(old: Any) -> Any:
        def new(self: Any, *args: Any, **options: Any) -> None:
            old(self, *args, **options)
            shows(self)

        return new

    return around


def _answering(old: Any) -> Any:
    async def new(*args: Any, **options: Any) -> Any:
        answer = await old(*args, **options)
        _show_result(answer)
        return answer

    return new


def pytest_configure() -> None:
    """Every secret that is made from now on is known, and every channel is watched."""
    try:
        homes = (
            [row[0] for row in _SOURCES]
            + [row[0] for row in _CHANNELS]
            + [row[0] for row in _ANSWERS]
        )
        for home in homes:
            importlib.import_module(home)
    except ImportError:  # an environment without the extra has no payments
        return
    for module, name, notes in _SOURCES:
        _wrap(module, name, _noting(notes))
    for module, name, shows in _CHANNELS:
        _wrap(module, f"{name}.__init__", _showing(shows))
    for module, name in _ANSWERS:
        _wrap(module, name, _answering)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every event of the code is captured with its fields, also after a test that set up its logs: they would still go
    to that test's stderr."""
    from mcpsol_py import telemetry
    from mcpsol_py.telemetry import logs

    _leaks.clear()
    _errors.clear()
    telemetry.write_events(_write)
    if not telemetry.spans_are_collected():
        telemetry.collect_spans(_open_span, _mark_span)
    root = logging.getLogger()
    for handler in [
        h for h in root.handlers if isinstance(h.formatter, logs._Formatter)
    ]:
        root.removeHandler(handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Looks through all that a watched test has shown."""
    report = yield
    if report.when == "teardown" and _WATCHED.search(item.nodeid):
        for error in _errors:
            _show_error(error)
        for title, text in report.sections:
            _show(title.lower(), text)
        if _leaks:
            report.outcome = "failed"
            report.longrepr = "; ".join(dict.fromkeys(_leaks))
    return report
