"""The watch over the suite sees each secret in each channel, and nothing public."""

from __future__ import annotations

import ast
import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from idl2mcp.local_cluster import wallet
from tests import leaks
from tests.unit.x402.payments import World, keypair

#: Where secrets of each kind come from, as expressions of the test below.
SECRETS = {
    "a key or a signed payment": "World().pay(World().requirements()).payload['transaction']",
    "a passphrase": "'correct horse battery'",
    "a voucher": "sign_voucher(keypair(5), keypair(6).pubkey(), 1_000)",
    "a sign-in proof": "sign_proof(keypair(5), challenge('a.test', 'u', [DEVNET])['info'], DEVNET)['signature']",
    "a webhook's secret": "Webhooks(Database()).add('https://shop.test/hook').secret",
    "a state key": "HttpSettings(state_key=bytes(range(32))).state_key.hex()",
    "a database's password": "read_url('postgresql+psycopg://shop:opensesame@host/db').password",
}
#: How a secret may be shown: the watch's name of the channel, and code that shows it.
CHANNELS = {
    "captured stdout call": "print('got', secret)",
    "captured stderr call": "print(json.dumps({'header': encoded(secret)}), file=sys.stderr)",
    "captured log call": "logging.getLogger('x').warning('got %s', [secret])",
    "exception": "PaymentError('X', f'got {secret}')",
    "exception of a cause": "raise_from(secret)",
    "SQL error": "refused(secret)",
    "result": "CallToolResult(content=[TextContent(type='text', text=secret)])",
    "result of the wallet": "asyncio.run(Tools(secret).call('x402_check_balance', {}))",
    "repr of WalletChannel": "WalletChannel('w', *[secret] * 7, 900, '1', 1)",
    "span": "telemetry.mark(note=f'got {secret}')",
    "captured log call of an event": "telemetry.event('paid', note=secret)",
}
PYTEST = [
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-p",
    "tests.leaks",
    "-p",
    "no:cacheprovider",
]
PROGRAM = '''
import asyncio, base64, json, logging, sys
import pytest
from mcp_types import CallToolResult, TextContent
from sqlalchemy import create_engine, text
from mcpsol_py import telemetry
from mcpsol_py.bridge.http.settings import HttpSettings
from mcpsol_py.errors import PaymentError, StorageError
from mcpsol_py.x402.buying.agent_tools import AgentTools
from mcpsol_py.x402.channels.voucher import sign_voucher
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.proof import challenge, sign_proof
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.engine import read_url
from mcpsol_py.x402.store.wallet_channels import WalletChannel
from mcpsol_py.x402.store.webhooks import Webhooks
from tests.unit.x402.payments import World, keypair

SECRETS = [{secrets}]
PUBLIC = "payment 4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU " + "5" * 88

def encoded(secret):
    return base64.b64encode(json.dumps({{"payload": {{"of": secret}}}}).encode()).decode()

class Tools(AgentTools):
    def __init__(self, secret):
        self.secret = secret

    async def _check_balance(self, given):
        return {{"content": self.secret}}

def refused(secret):
    """As an engine without hidden parameters says it."""
    with pytest.raises(Exception), create_engine("sqlite://").begin() as connection:
        connection.execute(text("INSERT INTO nothing VALUES (:x)"), {{"x": secret}})

def raise_from(secret):
    with pytest.raises(StorageError):
        try:
            raise ValueError(secret)
        except ValueError as error:
            raise StorageError("it is locked") from error

@pytest.mark.parametrize("channel", range({channels}))
@pytest.mark.parametrize("kind", range({kinds}))
def test_shown(kind, channel):
    secret = SECRETS[kind]()
    show(channel, secret)

@pytest.mark.parametrize("channel", range({channels}))
def test_public(channel):
    for made in SECRETS:
        made()
    show(channel, PUBLIC)

def show(channel, secret):
{shows}
'''


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory, repo: Path) -> dict[str, str]:
    """What the watch said of each test of PROGRAM, run by a pytest of its own."""
    folder = tmp_path_factory.mktemp("watched")
    tests = folder / "tests/unit/x402"
    tests.mkdir(parents=True)
    shows = [
        f"    if channel == {n}: {code}" for n, code in enumerate(CHANNELS.values())
    ]
    program = PROGRAM.format(
        secrets=", ".join(f"lambda: {made}" for made in SECRETS.values()),
        kinds=len(SECRETS),
        channels=len(CHANNELS),
        shows="\n".join(shows),
    )
    (tests / "test_watched.py").write_text(program)
    done = subprocess.run(
        [
            *PYTEST,
            "--rootdir",
            str(folder),
            "-c",
            os.devnull,
            "--tb=line",
            "-rA",
            "tests",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(repo)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(
        r"^(PASSED|ERROR|FAILED) \S+::(test_\w+\[[\d-]+\])(.*)$", done.stdout, re.M
    )
    said = {name: "" for outcome, name, _ in found if outcome == "PASSED"}
    said |= {
        name: f"{outcome}{why}" for outcome, name, why in found if outcome != "PASSED"
    }
    assert len(said) == len(CHANNELS) * (len(SECRETS) + 1), done.stdout + done.stderr
    reasons = re.findall(r"^(.* stands in this test's .*)$", done.stdout, re.M)
    return {**said, "all": "\n".join(reasons)}


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("kind", SECRETS)
def test_each_secret_is_seen_in_each_channel(
    outcomes: dict[str, str], kind: str, channel: str
) -> None:
    at = f"{list(SECRETS).index(kind)}-{list(CHANNELS).index(channel)}"
    name = channel.split(" of a ")[0].split(" of the ")[0].split(" of an ")[0]
    said = next(why for test, why in outcomes.items() if test == f"test_shown[{at}]")
    assert said.startswith("ERROR"), said
    assert f"{kind} stands in this test's {name}" in outcomes["all"]


@pytest.mark.parametrize("channel", range(len(CHANNELS)))
def test_what_is_public_is_not_seen(outcomes: dict[str, str], channel: int) -> None:
    assert outcomes[f"test_public[{channel}]"] == ""


@pytest.mark.parametrize(
    "text",
    [
        f"key {keypair(7)}",
        f"seed={keypair(7).secret().hex()}",
        f"0x{bytes(keypair(7)).hex()}"[2:],
        json.dumps({"key": base64.b64encode(bytes(wallet("alice"))).decode()}),
        json.dumps(list(bytes(keypair(9))), indent=1),
        str(list(keypair(9).secret())),
        f"/files/{keypair(7)}/x",
        "the passphrase is correct horse battery",
    ],
)
def test_a_secret_is_seen_in_each_form(text: str) -> None:
    assert leaks.found_in(text) is not None


def test_a_payment_is_seen_in_a_header() -> None:
    payment = World().pay(World().requirements())
    header = base64.b64encode(payment.model_dump_json(by_alias=True).encode()).decode()
    assert leaks.found_in(f"payment-signature: {header}") == "a key or a signed payment"
    nested = base64.urlsafe_b64encode(json.dumps({"header": header}).encode()).decode()
    assert leaks.found_in(nested) == "a key or a signed payment"


# --- reprs ------------------------------------------------------------------------------------------

#: Fields of dataclasses that hold a secret, by name. Those of `PUBLIC_FIELDS` are something else.
SECRET_FIELDS = {
    "passphrase",
    "password",
    "payload",
    "payment",
    "proof",
    "secret",
    "state_key",
}
SECRET_FIELDS |= {"transaction", "voucher", "wire"}
PUBLIC_FIELDS = {
    "calls/foreign/transaction.py ForeignTransaction.transaction": "as it was handed in, to be signed",
    "calls/follow.py Sent.transaction": "it was sent to a cluster, where everybody reads it",
    "model/types.py Variant.payload": "the type of an enum's variant",
}


def shown_secrets(source: str) -> list[str]:
    """Class.field for each secret of a dataclass that its repr shows."""
    return [
        f"{made.name}.{field.target.id}"
        for made in ast.walk(ast.parse(source))
        if isinstance(made, ast.ClassDef)
        and "dataclass" in _unparsed(made.decorator_list)
        if "repr=False" not in _unparsed(made.decorator_list)
        for field in made.body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if field.target.id in SECRET_FIELDS
        if field.value is None or "repr=False" not in ast.unparse(field.value)
    ]


def _unparsed(nodes: list[ast.expr]) -> str:
    return " ".join(map(ast.unparse, nodes))


def test_no_repr_shows_a_secret(repo: Path) -> None:
    found = {
        f"{path.relative_to(repo / package)} {shown}"
        for package in ("mcpsol_py", "idl2mcp")
        for path in (repo / package).rglob("*.py")
        for shown in shown_secrets(path.read_text(encoding="utf-8"))
    }
    assert found == set(PUBLIC_FIELDS)


@pytest.mark.parametrize("field", sorted(SECRET_FIELDS))
def test_a_repr_that_shows_a_secret_is_found(field: str) -> None:
    shown = f"@dataclass(frozen=True)\nclass A:\n    {field}: str"
    assert shown_secrets(shown) == [f"A.{field}"]
    assert shown_secrets(f"{shown} = field(repr=False)") == []
