"""A signed audit log: without the wallet's key nobody adds, changes, reorders or removes a line unseen."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair

from mcpsol_py.bridge.policy.audit_log import AuditLog, head_path, verify_log
from mcpsol_py.bridge.policy.log_signature import is_signature, signature_of
from mcpsol_py.client.keys import KeypairSigner
from mcpsol_py.errors import PolicyError, SourceError

OWNER = KeypairSigner(Keypair.from_seed(bytes([1] * 32)))
ATTACKER = KeypairSigner(Keypair.from_seed(bytes([2] * 32)))


def written(folder: Path, lines: int = 4) -> Path:
    """A log in which the wallet has spent 5 SOL in each line.

    The lines differ, also within one millisecond: to change the places of equal lines changes nothing.
    """
    path = folder / "audit.jsonl"
    log = AuditLog(path, signer=OWNER)
    for call in range(lines):
        log.append("intent", wallet="w", call=call, outflow={"SOL": 5})
    return path


def rechained(
    lines: list[dict[str, object]], signer: KeypairSigner | None = None
) -> bytes:
    """Lines with numbers and hashes that fit, as a program without the owner's key can make them."""
    last, out = "0" * 64, b""
    for number, entry in enumerate(lines, 1):
        kept = {k: v for k, v in entry.items() if k not in ("hash", "sig")}
        body = json.dumps({**kept, "n": number, "prev": last}, separators=(",", ":"))[
            :-1
        ]
        last = sha256(body.encode()).hexdigest()
        sig = str(entry.get("sig", ""))
        if signer is not None:
            sig = signature_of(signer, last)
        end = f',"hash":"{last}"' + (f',"sig":"{sig}"' if sig else "") + "}\n"
        out += body.encode() + end.encode()
    return out


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def with_head(path: Path, content: bytes, signer: KeypairSigner | None = None) -> None:
    """Replace the log, and its head by one that fits."""
    path.write_bytes(content)
    rows = entries(path)
    head = {"count": len(rows), "hash": rows[-1]["hash"] if rows else "0" * 64}
    if signer is not None:
        text = f"head {head['count']} {head['hash']}"
        head |= {"signer": str(signer.address), "sig": signature_of(signer, text)}
    head_path(path).write_text(json.dumps(head))


def forged_amount(path: Path) -> None:
    rows = entries(path)
    rows[0]["outflow"] = {"SOL": 0}
    with_head(path, rechained(rows))


def forged_last_amount(path: Path) -> None:
    rows = entries(path)
    rows[-1]["outflow"] = {"SOL": 0}
    with_head(path, rechained(rows))


def reordered(path: Path) -> None:
    rows = entries(path)
    with_head(path, rechained([rows[1], rows[0], *rows[2:]]))


def removed(path: Path) -> None:
    rows = entries(path)
    with_head(path, rechained([rows[0], *rows[2:]]))


def extended(path: Path) -> None:
    """A line "failed", after which an intent counts nothing, with a signature that was there already."""
    rows = entries(path)
    new = {
        "event": "failed",
        "intent": 1,
        "signer": str(OWNER.address),
        "sig": rows[0]["sig"],
    }
    with_head(path, rechained([*rows, new]))


def extended_by_an_unsigned_line(path: Path) -> None:
    with_head(path, rechained([*entries(path), {"event": "failed", "intent": 1}]))


def extended_under_another_key(path: Path) -> None:
    rows = [
        *entries(path),
        {"event": "failed", "intent": 1, "signer": str(ATTACKER.address)},
    ]
    with_head(path, rechained(rows, ATTACKER), ATTACKER)


def signed_anew(path: Path) -> None:
    """The whole log, under a key of the attacker's own."""
    rows = [{**row, "signer": str(ATTACKER.address)} for row in entries(path)]
    with_head(path, rechained(rows, ATTACKER), ATTACKER)


def shortened(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    with_head(path, b"".join(lines[:2]))


def shortened_without_a_head(path: Path) -> None:
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    head_path(path).unlink()


def shortened_under_a_head_of_another(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    with_head(path, b"".join(lines[:2]), ATTACKER)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def without_signatures(path: Path) -> None:
    """The same lines as version 0.1.0 would have written them, under the signed head."""
    rows = entries(path)
    for row in rows:
        row.pop("signer")
        row.pop("sig")
    path.write_bytes(rechained(rows))


FORGERIES = [
    forged_amount,
    forged_last_amount,
    reordered,
    removed,
    extended,
    extended_by_an_unsigned_line,
    extended_under_another_key,
    signed_anew,
    shortened,
    shortened_without_a_head,
    shortened_under_a_head_of_another,
    emptied,
    Path.unlink,
    without_signatures,
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_without_the_key_no_line_is_forged_moved_removed_or_added(
    tmp_path: Path, forge: Callable[[Path], None]
) -> None:
    path = written(tmp_path)
    running = AuditLog(path, signer=OWNER)
    forge(path)
    with pytest.raises(SourceError):
        AuditLog(path, signer=OWNER)
    with pytest.raises(PolicyError, match="audit"):
        running.append("sent", intent=1)
    if forge is not signed_anew:  # which is whole, and says who signed it
        with pytest.raises(SourceError):
            verify_log(path)
    else:
        assert AuditLog(path).signed_by == str(ATTACKER.address)


@pytest.mark.parametrize("forge", FORGERIES[:7])
def test_a_process_that_is_running_signs_nothing_on_top_of_a_forged_line(
    tmp_path: Path, forge: Callable[[Path], None]
) -> None:
    """Its signature would vouch for all lines before."""
    path = written(tmp_path, 1)
    running = AuditLog(path, signer=OWNER)
    AuditLog(path, signer=OWNER).append("intent", wallet="w", outflow={"SOL": 5})
    AuditLog(path, signer=OWNER).append("intent", wallet="w", outflow={"SOL": 5})
    forge(path)
    left = path.read_bytes()
    with pytest.raises(PolicyError, match="audit"):
        running.append("sent", intent=1)
    assert path.read_bytes() == left


def test_all_lines_and_the_head_are_signed_and_go_on(tmp_path: Path) -> None:
    path = written(tmp_path)
    log = AuditLog(path, signer=OWNER)
    assert (log.count, log.signed_by, log.unsigned) == (4, str(OWNER.address), 0)
    log.append("sent", intent=1)
    assert all(
        is_signature(str(e["sig"]), str(e["signer"]), str(e["hash"]))
        for e in entries(path)
    )
    assert verify_log(path)[0] == 5
    assert log.spent("w") == {"SOL": 20}


def test_a_log_without_signatures_goes_on_with_a_visible_boundary(
    tmp_path: Path,
) -> None:
    path = tmp_path / "audit.jsonl"
    old = AuditLog(path)
    old.append("intent", wallet="w", outflow={"SOL": 7})
    old.append("sent", intent=1)
    AuditLog(path, signer=OWNER).append("intent", wallet="w", outflow={"SOL": 5})
    events = [(row["n"], row["event"], "sig" in row) for row in entries(path)]
    assert events == [
        (1, "intent", False),
        (2, "sent", False),
        (3, "keyed", True),
        (4, "intent", True),
    ]
    log = AuditLog(path, signer=OWNER)
    assert (log.unsigned, log.spent("w")) == (2, {"SOL": 12})
    forged_amount(path)  # before the boundary
    with pytest.raises(SourceError):
        AuditLog(path, signer=OWNER)


def test_a_process_without_the_key_adds_no_line_to_a_signed_log(tmp_path: Path) -> None:
    path = written(tmp_path)
    with pytest.raises(PolicyError, match=f"only {OWNER.address} may add lines"):
        AuditLog(path).append("cleared", wallet="w")
    assert verify_log(path)[0] == 4


def test_a_log_of_another_wallet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"expected a log of {ATTACKER.address}"):
        AuditLog(written(tmp_path), signer=ATTACKER)


def test_a_head_elsewhere_notices_that_log_and_head_were_removed(
    tmp_path: Path,
) -> None:
    (tmp_path / "kept").mkdir()
    path, head = tmp_path / "audit.jsonl", tmp_path / "kept" / "head"
    AuditLog(path, signer=OWNER, head=head).append("intent", wallet="w")
    assert not head_path(path).exists()
    assert verify_log(path, head=head)[0] == 1
    path.unlink()
    with pytest.raises(SourceError, match="is missing, and its head head is there"):
        AuditLog(path, signer=OWNER, head=head)


def test_a_crash_before_the_head_is_written_is_no_alarm(tmp_path: Path) -> None:
    path = written(tmp_path)
    head = head_path(path).read_bytes()
    AuditLog(path, signer=OWNER).append("sent", intent=1)
    head_path(path).write_bytes(head)
    assert AuditLog(path, signer=OWNER).append("sent", intent=2)["n"] == 6


@given(st.text(max_size=90), st.text(max_size=50))
def test_any_text_is_a_signature_or_not(signature: str, address: str) -> None:
    assert not is_signature(signature, address, "x")


def test_a_signature_of_a_line_is_none_of_a_transaction() -> None:
    """The signed bytes begin like no message of a transaction."""
    from solders.message import from_bytes_versioned

    signed: list[bytes] = []

    class Spy:
        address = OWNER.address

        def sign_now(self, message: bytes) -> object:
            signed.append(message)
            return OWNER.sign_now(message)

    signature_of(Spy(), "0" * 64)  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"."):
        from_bytes_versioned(signed[0])
    assert signed[0].startswith(b"\xffsolana offchain")
