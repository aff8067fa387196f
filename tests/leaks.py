"""A watch over what tests of payments and bridges print and log: no key, passphrase or signed payment may stand in it.

Known secrets are those that the tests make: `keypair(n)`, the local cluster's wallets, the passphrases, and every
signed payment, which is noted as it is built. A test whose captured output holds one fails, whatever it asserted.
What telemetry would tell is captured too.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import sys
from collections.abc import Generator
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
_LISTS = re.compile(r"\[\s*\d{1,3}(?:\s*,\s*\d{1,3}){31,}\s*\]")
_secrets: set[str] = set()


def note(secret: str) -> None:
    """A text that must never be shown."""
    _secrets.add(secret)


def _note_key(raw: bytes) -> None:
    """A 64-byte key pair in the forms that keys are written in; its seed too."""
    from mcpsol_py.solana.base58 import b58encode

    for secret in (raw, raw[:32]):
        for text in (b58encode(secret), secret.hex(), base64.b64encode(secret).decode()):
            if len(text) >= 40:
                note(text)
        note(json.dumps(list(secret), separators=(",", ":")))


@cache
def _prepare() -> None:
    from solders.keypair import Keypair

    from idl2mcp.local_cluster import wallet

    for n in range(256):
        _note_key(bytes(Keypair.from_seed(bytes([n]) * 32)))
    for name in ("alice", "bob", "mallory", "merchant", "sponsor"):
        _note_key(bytes(wallet(name)))


def found_in(text: str) -> str | None:
    """The kind of secret in *text*, or None."""
    if any(phrase in text for phrase in PASSPHRASES):
        return "a passphrase"
    _prepare()
    if any(token in _secrets for token in _TOKENS.findall(text)):
        return "a key or a signed payment"
    lists = (re.sub(r"\s", "", found) for found in _LISTS.findall(text))
    return "a key" if any(found in _secrets for found in lists) else None


def _write(name: str, level: str, fields: dict[str, Any]) -> None:
    logging.getLogger("mcpsol_py.events").warning("%s %s", name, fields)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every event of the code is captured with its fields, also after a test that set up its logs: they would still go
    to that test's stderr."""
    from mcpsol_py import telemetry
    from mcpsol_py.telemetry import logs

    telemetry.write_events(_write)
    root = logging.getLogger()
    for handler in [h for h in root.handlers if isinstance(h.formatter, logs._Formatter)]:
        root.removeHandler(handler)


def pytest_configure() -> None:
    """Every payment that is built from now on is known."""
    try:
        from mcpsol_py.x402.exact import transaction
    except ImportError:  # an environment without the extra has no payments
        return
    made = transaction.wire_base64

    def wire_base64(message: Any, signatures: Any) -> str:
        text = made(message, signatures)
        note(text)
        return text

    for module in list(
        sys.modules.values()
    ):  # whoever was imported before (a folder's conftest does) has it by name
        if getattr(module, "wire_base64", None) is made:
            module.wire_base64 = wire_base64  # type: ignore[attr-defined]  # a module that was found to have it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Looks through what a watched test printed and logged."""
    report = yield
    if report.when == "teardown" and _WATCHED.search(item.nodeid):
        for title, text in report.sections:
            kind = found_in(text)
            if kind is not None:
                report.outcome = "failed"
                report.longrepr = f"{kind} stands in this test's {title.lower()}"
    return report
