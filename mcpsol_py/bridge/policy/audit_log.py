"""The audit log: a file of JSON lines, each with the hash of the line before it, signed by the wallet's key.

The hash is that of the line's own bytes. So no byte of a line can be changed, and no line removed
from the middle, without notice. If the bridge has the wallet's key, it signs the hash of each line
(log_signature.py): without the key, no line can be added, changed or put elsewhere. All signed lines
of a log have one signer. Lines from before the first signed one can no longer change either.

The head, another file, has the number and the hash of the last line, signed as well: a log that is
missing, emptied or shorter than its head is refused, and nothing is signed. Whoever may replace both
files can put back an older log with its older head, or remove both; keep the head where only the
bridge may write. A log without signatures proves less: who may write both files can write another one.

A line is on disk before the step that it announces ("intent", and "signed" with the signature,
before the transaction is sent); another line follows it ("sent", "failed", "unknown").

An intent counts as spent with `at_most`, the most that the transaction may take. A later line with
`outflow` replaces that by the real outflow: "sent", "failed", or "landed" if that was learnt later. If
the line has `stopped` too, nothing more is reserved for the wallet until a line "cleared".

A process that has the log open remembers the last line that it saw. If the log is cut, replaced or
removed meanwhile, the next write notices it, and nothing is signed any more.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from mcpsol_py.bridge.policy.log_signature import LogSigner, is_signature, signature_of
from mcpsol_py.errors import PolicyError, SourceError
from mcpsol_py.items import without

__all__ = ["AuditLog", "LogHead", "OpenSend", "head_path", "read_head", "verify_log"]

_START = "0" * 64
#: Seconds to wait for another process's lock, and between two attempts.
_LOCK_SECONDS, _LOCK_STEP = 10.0, 0.01


#: Comes before the hash at the end of a line, before the signature that may follow it, and last.
_HASH_OPENS, _SIGNATURE_OPENS, _CLOSES = b',"hash":"', b'","sig":"', b'"}\n'


def _line_of(
    entry: Mapping[str, Any], signer: LogSigner | None
) -> tuple[dict[str, Any], bytes]:
    """Return *entry* with its hash and signature, and its line."""
    if signer is not None:
        entry = {**entry, "signer": str(signer.address)}
    body = _plain_json(entry)[:-1]
    digest = hashlib.sha256(body).hexdigest()
    signed = {"sig": signature_of(signer, digest)} if signer is not None else {}
    whole = {**entry, "hash": digest, **signed}
    return whole, body + _line_end(whole)


def _line_end(entry: Mapping[str, Any]) -> bytes:
    """Return the end of a line, from the hash on."""
    end = _HASH_OPENS + str(entry.get("hash")).encode()
    if "sig" in entry:
        end += _SIGNATURE_OPENS + str(entry["sig"]).encode()
    return end + _CLOSES


def _plain_json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _has_its_hash(entry: Mapping[str, Any], line: bytes) -> bool:
    """Whether the hash of a line is that of its bytes, or in a line of version 0.1.0, of its values."""
    digest, end = str(entry.get("hash")), _line_end(entry)
    if (
        line.endswith(end)
        and hashlib.sha256(line.removesuffix(end)).hexdigest() == digest
    ):
        return True
    # its bytes must be those that 0.1.0 wrote for the values
    return _digest(entry) == digest and _plain_json(entry) + b"\n" == line


def _digest(entry: Mapping[str, Any]) -> str:
    """Return the hash of a line of version 0.1.0."""
    body = without(entry, "hash")
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def verify_log(path: Path, *, head: Path | None = None) -> tuple[int, str]:
    """Return the number of lines of an audit log and its last hash. *head*: see `AuditLog`.

    Raises SourceError as `AuditLog`, and for a log that does not exist.
    """
    if not path.exists() and not (head or head_path(path)).exists():
        raise SourceError("expected an audit log, found no file", origin=str(path))
    log = AuditLog(path, head=head)
    return log.count, log.last_hash


def _check_order(
    entry: Mapping[str, Any], line: bytes, count: int, last: str, path: Path
) -> None:
    """Raise SourceError unless *entry* is line *count* and follows a line with the hash *last*."""
    if entry.get("n") != count:
        raise _line_error(
            f"expected number {count}, got {entry.get('n')}: a line is missing or was added",
            path,
            count,
        )
    if entry.get("prev") != last:
        raise _line_error("does not follow from the line before it", path, count)
    if not _has_its_hash(entry, line):
        raise _line_error("was changed after it was written", path, count)


def _check_signer(entry: Mapping[str, Any], signer: str, path: Path) -> None:
    """Raise SourceError unless *entry* has the *signer* of the lines before it ("": they have none)."""
    found = str(entry.get("signer", ""))
    if ("sig" in entry) != bool(found) or (found != signer and signer):
        got = found or "no signature"
        why = f"expected the signature of {signer or found}, got {got}: another program wrote it"
        raise _line_error(why, path, entry["n"])


def _check_signature(entry: Mapping[str, Any], path: Path) -> None:
    """Raise SourceError unless a signed line has a signature of its signer over its hash."""
    if "sig" in entry and not is_signature(
        str(entry["sig"]), entry["signer"], entry["hash"]
    ):
        why = f"its signature is not one of {entry['signer']}: another program wrote the log"
        raise _line_error(why, path, entry["n"])


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _parsed(line: bytes, number: int, path: Path) -> dict[str, Any]:
    """Return a line as JSON. Raises SourceError."""
    if not line.endswith(b"\n"):
        raise _line_error(
            "is incomplete, because its writer was stopped. The transaction that it announces was not sent. "
            "Remove this line",
            path,
            number,
        )
    try:
        entry = json.loads(line, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise _line_error(f"is not JSON: {error}", path, number) from error
    if not isinstance(entry, dict):
        raise _line_error("is not a JSON object", path, number)
    return entry


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object. Raises ValueError if a key is there twice: readers differ in which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _line_error(why: str, path: Path, number: int) -> SourceError:
    return SourceError(why, origin=str(path), path=f"line {number}")


# --- the head --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LogHead:
    """The number and the hash of a log's last line, from a file of its own. `signer` and `sig`: "" without a key."""

    count: int
    hash: str
    signer: str = ""
    sig: str = ""

    @classmethod
    def of(cls, count: int, last: str, signer: LogSigner | None) -> LogHead:
        """Return the head of a log, signed by *signer*."""
        if signer is None:
            return cls(count, last)
        return cls(
            count,
            last,
            str(signer.address),
            signature_of(signer, _head_text(count, last)),
        )

    def is_signed_by(self, signer: str) -> bool:
        """Return True if *signer* has signed this head."""
        text = _head_text(self.count, self.hash)
        return self.signer == signer and is_signature(self.sig, signer, text)


def _head_text(count: int, last: str) -> str:
    return f"head {count} {last}"


def head_path(path: Path) -> Path:
    """Return the file with the head of the log at *path*, if it has no other place."""
    return path.with_name(f"{path.name}.head")


def read_head(where: Path) -> LogHead | None:
    """Return the head in the file *where*, None without a file. Raises SourceError for a file of another form."""
    if not where.exists():
        return None
    _check_access(where)
    try:
        row = json.loads(where.read_bytes())
        signed = str(row.get("signer", "")), str(row.get("sig", ""))
        return LogHead(int(row["count"]), str(row["hash"]), *signed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = "is not the head of an audit log: expected count and hash. Restore it"
        raise SourceError(why, origin=str(where)) from error


def _write_head(where: Path, head: LogHead) -> None:
    """Replace the head. Its old or its new content is on disk at any time."""
    part = where.with_name(f"{where.name}.{os.getpid()}.{threading.get_ident()}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        row = {key: value for key, value in asdict(head).items() if value != ""}
        file.write(_plain_json(row) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(where)


def _check_against(head: LogHead, where: Path, state: _LogState, path: Path) -> None:
    """Raise SourceError if the log is shorter than its head, is not the head's, or the head lacks its signature."""
    if state.count < head.count:
        raise SourceError(
            f"expected at least {head.count:,} lines, as {where.name} says, got {state.count:,}: the log was cut, "
            "so what was spent is not known and nothing is signed. Restore the log",
            origin=str(path),
        )
    if head.count and head.hash != state.hashes[head.count - 1]:
        raise _line_error(
            f"is not the one that {where.name} names: the log was replaced. Restore it",
            path,
            head.count,
        )
    if (
        state.signer
        and head.count > state.unsigned
        and not head.is_signed_by(state.signer)
    ):
        why = f"expected the signature of {state.signer}: another program wrote it. Restore it"
        raise SourceError(why, origin=str(where))


def _check_access(path: Path) -> None:
    """Raise SourceError unless only this user may write the file."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("is not a regular file", origin=str(path))
    if os.name != "posix":
        return
    if status.st_mode & 0o022:
        raise SourceError(
            "others may write this file; run chmod go-w on it", origin=str(path)
        )
    if status.st_uid != os.geteuid():
        raise SourceError(
            f"it belongs to user {status.st_uid}, and this process runs as user {os.geteuid()}. Use a log of your own",
            origin=str(path),
        )


# --- what the lines add up to ----------------------------------------------------------------


@dataclass(slots=True)
class _Intent:
    """A transaction that the bridge was about to send. `amounts` are base units by mint.

    `entry` is its line until the real outflow is known, if the line has the expected one.
    """

    wallet: str
    day: str
    amounts: dict[str, int]
    entry: Mapping[str, Any] | None
    signature: str = ""


@dataclass(frozen=True, slots=True)
class OpenSend:
    """A signed transaction whose outflow is not in the log. `intent` is the line of its intent."""

    intent: Mapping[str, Any]
    signature: str


@dataclass(slots=True)
class _LogState:
    """What the lines so far add up to."""

    #: Intents by line number.
    intents: dict[int, _Intent] = field(default_factory=dict)
    #: Marks of confirmations that were used.
    marks: set[str] = field(default_factory=set)
    #: Wallets that are stopped, and why.
    stopped: dict[str, str] = field(default_factory=dict)
    #: Number and hash of the last line.
    count: int = 0
    last: str = _START
    #: The last line itself, and the file's size after it.
    line: bytes = b""
    end: int = 0
    #: The hashes of all lines.
    hashes: list[str] = field(default_factory=list)
    #: The address that signs the lines ("": they have no signatures), and how many lines before have no signature.
    signer: str = ""
    unsigned: int = 0

    def add(self, entry: Mapping[str, Any]) -> None:
        """Take one more line into account."""
        self.count, self.last = entry["n"], entry["hash"]
        self.hashes.append(self.last)
        self.signer = str(entry.get("signer", ""))
        self.unsigned += not self.signer
        event = str(entry.get("event"))
        if event == "intent":
            self._add_intent(entry)
        elif event == "cleared":
            self.stopped.pop(str(entry.get("wallet")), None)
        else:
            self._add_step(event, entry)

    def _add_intent(self, entry: Mapping[str, Any]) -> None:
        day, wallet = str(entry.get("at", ""))[:10], str(entry.get("wallet"))
        reserved = _amounts(entry, "at_most" if "at_most" in entry else "outflow")
        # Lines of older versions have no expected outflow, so nothing can be compared.
        open_entry = entry if "expected" in entry else None
        self.intents[self.count] = _Intent(wallet, day, reserved, open_entry)
        if "yes" in entry:
            self.marks.add(str(entry["yes"]))

    def _add_step(self, event: str, entry: Mapping[str, Any]) -> None:
        """Take a line about an intent into account: signed, sent, failed, unknown or landed."""
        intent = self.intents.get(entry.get("intent", 0))
        if intent is None:
            return
        intent.signature = str(entry.get("signature", intent.signature))
        if event == "failed" or "outflow" in entry:
            # A failed transaction took only what its line says: nothing, or the fee.
            intent.amounts = _amounts(entry)
            intent.entry = None
        if "stopped" in entry:
            self.stopped[intent.wallet] = str(entry["stopped"])

    def check_running(self, wallet: str) -> None:
        """Raise PolicyError if *wallet* is stopped."""
        if wallet in self.stopped:
            raise PolicyError("stopped", self.stopped[wallet])

    def spent(self, wallet: str, day: str, *, and_later: bool) -> dict[str, int]:
        """Return base units by mint that left *wallet* on *day*, *and_later* if asked."""
        totals: Counter[str] = Counter()
        for intent in self.intents.values():
            on_day = intent.day >= day if and_later else intent.day == day
            if intent.wallet == wallet and on_day:
                totals.update(intent.amounts)
        return dict(totals)

    def open_sends(self, wallet: str, day: str) -> list[OpenSend]:
        """Return the sends of *wallet* since *day* of which no line says what they took."""
        return [
            OpenSend(intent.entry, intent.signature)
            for intent in self.intents.values()
            if intent.entry is not None
            and intent.signature
            and intent.wallet == wallet
            and intent.day >= day
        ]


def _amounts(entry: Mapping[str, Any], key: str = "outflow") -> dict[str, int]:
    found = {str(mint): int(amount) for mint, amount in entry.get(key, {}).items()}
    if any(amount < 0 for amount in found.values()):
        raise ValueError("an amount below 0")
    return found


class AuditLog:
    """The audit log at *path*, or in memory only if *path* is None.

    *signer* signs each line. A log that another address has signed is refused. A log without signatures goes on: the
    line "keyed" says how many lines have none. *head*: the file with the head, default `head_path`.

    Several processes may append to one file: each line is written under a lock. Raises SourceError
    for a log that is not intact, or that others may write.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        signer: LogSigner | None = None,
        head: Path | None = None,
    ) -> None:
        self.path = path
        self._signer = signer if path is not None else None
        self._memory: list[dict[str, Any]] = []
        self._state = _LogState()
        self._lock = threading.Lock()
        self.head = head
        if path is not None:
            self.head = head or head_path(path)
            if path.exists() or self.head.exists():
                self._open(path, self.head)

    @property
    def count(self) -> int:
        """The number of lines."""
        return self._state.count

    @property
    def last_hash(self) -> str:
        """The hash of the last line."""
        return self._state.last

    @property
    def signed_by(self) -> str:
        """The address that signs the lines, "" if they have no signatures."""
        return self._state.signer

    @property
    def unsigned(self) -> int:
        """The number of lines without a signature. They come before all signed ones."""
        return self._state.unsigned

    def _open(self, path: Path, head_file: Path) -> None:
        if not path.exists():
            raise SourceError(
                f"is missing, and its head {head_file.name} is there, so what was spent is not known and nothing "
                "is signed. Restore the log",
                origin=str(path),
            )
        _check_access(path)
        with path.open("rb") as file:
            try:
                _lock_file(file.fileno(), exclusive=False)
            except OSError as error:
                raise SourceError(
                    f"cannot be read ({error.strerror})", origin=str(path)
                ) from error
            self._catch_up(file)
            # under the lock, so that no line is written in between; the second is that of an older version
            heads = {where: read_head(where) for where in (head_file, head_path(path))}
        for where, head in heads.items():
            if head is not None:
                _check_against(head, where, self._state, path)
        if self._state.signer and heads[head_file] is None:
            why = f"its head {head_file.name} is missing, so lines may be missing too. Restore it"
            raise SourceError(why, origin=str(path))
        self._check_key(path)

    def _check_key(self, path: Path) -> None:
        """Raise SourceError if the lines have the signature of another address than this process's."""
        own, found = self._signer and str(self._signer.address), self._state.signer
        if own and found and own != found:
            why = f"expected a log of {own}, found one that {found} signed. Use another file"
            raise SourceError(why, origin=str(path))

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        """Add a line and return it once it is on disk. *facts* are JSON values, never keys.

        Raises PolicyError if the log cannot be written or was changed meanwhile.
        """
        return self._write(event, facts, _accept)

    def reserve(
        self,
        wallet: str,
        check: Callable[[Mapping[str, int]], None],
        mark: str = "",
        **facts: Any,
    ) -> dict[str, Any]:
        """Add the line "intent" of *wallet*, if *check* accepts what it has spent today.

        *check* raises to refuse. No other thread or process can add a line in between, so two
        calls cannot both use the last of a limit. *mark* identifies a person's confirmation, which
        is good for one intent.

        Raises PolicyError for a mark that was used before, and as `append` does.
        """
        if mark:
            facts["yes"] = mark

        def decide(state: _LogState) -> None:
            if mark and mark in state.marks:
                raise PolicyError(
                    "outflow.confirm_above",
                    "this confirmation was already used for another call",
                )
            state.check_running(wallet)
            check(state.spent(wallet, _today(), and_later=True))

        return self._write("intent", {"wallet": wallet, **facts}, decide)

    @property
    def how_to_clear(self) -> str:
        """How the owner lets a stopped wallet go on, as the end of a sentence."""
        if self.path is None:
            return "has restarted this bridge"
        key = " --keystore KEY" if self._signer or self._state.signer else ""
        return f"has run `idl2mcp audit {self.path.name} --clear-stop{key}`"

    def clear(self, wallet: str) -> dict[str, Any]:
        """Add the line "cleared": the owner has looked at why *wallet* was stopped, and it may go on.

        Raises PolicyError as `append` does.
        """
        return self.append("cleared", wallet=wallet)

    def _write(
        self, event: str, facts: Mapping[str, Any], decide: Callable[[_LogState], None]
    ) -> dict[str, Any]:
        with self._lock:
            if self.path is None:
                decide(self._state)
                entry, _ = self._next(event, facts)
                self._state.add(entry)
                self._memory.append(entry)
                return entry
            with _policy_errors(self.path, "written"):
                return self._write_line(self.path, event, facts, decide)

    def _write_line(
        self,
        path: Path,
        event: str,
        facts: Mapping[str, Any],
        decide: Callable[[_LogState], None],
    ) -> dict[str, Any]:
        # A log that was removed meanwhile must not be made again as an empty one.
        create = os.O_CREAT if self._state.count == 0 else 0
        handle = os.open(path, os.O_RDWR | create | os.O_APPEND, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            _lock_file(file.fileno(), exclusive=True)
            self._catch_up(file)
            decide(self._state)
            self._begin_signing(file)
            return self._add(file, event, facts)

    def _begin_signing(self, file: IO[bytes]) -> None:
        """Write the head before the first signed line, and the line "keyed" after lines without signatures."""
        state = self._state
        if self._signer is None:
            if state.signer:
                raise SourceError(
                    f"only {state.signer} may add lines: its key is needed"
                )
            return
        if not state.signer:
            self._write_head()
            if state.count:
                self._add(file, "keyed", {"unsigned": state.count})

    def _add(
        self, file: IO[bytes], event: str, facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write one line, and the head. The file is locked."""
        entry, line = self._next(event, facts)
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):  # a partial line would break the log
                os.ftruncate(file.fileno(), self._state.end)
            raise
        self._remember(entry, line)
        self._write_head()
        return entry

    def _write_head(self) -> None:
        assert self.head is not None
        state = self._state
        _write_head(self.head, LogHead.of(state.count, state.last, self._signer))

    def _catch_up(self, file: IO[bytes]) -> None:
        """Read the lines that others have added.

        Raises SourceError if the last line that was seen is gone, or if a new line does not follow.
        """
        assert self.path is not None
        state = self._state
        file.seek(state.end - len(state.line))
        if file.read(len(state.line)) != state.line:
            raise _line_error(
                "is not the line that was there before: the log was cut or replaced",
                self.path,
                state.count,
            )
        entry: dict[str, Any] = {}
        for line in io.BytesIO(file.read()):
            entry = _parsed(line, state.count + 1, self.path)
            _check_order(entry, line, state.count + 1, state.last, self.path)
            _check_signer(entry, state.signer, self.path)
            try:
                self._remember(entry, line)
            except (TypeError, ValueError, AttributeError) as error:
                raise _line_error(
                    f"is not a line of an audit log: {error}", self.path, state.count
                ) from error
        # Its hash covers every line before it, and its signer read them before it signed.
        _check_signature(entry, self.path)
        self._check_key(self.path)

    def _remember(self, entry: Mapping[str, Any], line: bytes) -> None:
        self._state.add(entry)
        self._state.line = line
        self._state.end += len(line)

    def entries(self) -> list[dict[str, Any]]:
        """Return all lines. Raises SourceError for a line that is not JSON."""
        if self.path is None:
            return list(self._memory)
        if not self.path.exists():
            return []
        return [
            _parsed(line, n, self.path) for n, line in enumerate(_lines(self.path), 1)
        ]

    def spent(self, wallet: str, day: str | None = None) -> dict[str, int]:
        """Return base units by mint that left *wallet* on *day* (UTC, "2026-11-27").

        Counts every intent that did not fail, so a send whose outcome is unknown counts, with the
        most that it may take: it may have landed. None: today, and any later day, in case the clock was set back.

        Raises PolicyError as `append` does.
        """
        with self._current() as state:
            return state.spent(wallet, day or _today(), and_later=day is None)

    def open_sends(self, wallet: str) -> list[OpenSend]:
        """Return what *wallet* sent since yesterday and may have landed without a line with its outflow.

        Raises PolicyError as `append` does.
        """
        with self._current() as state:
            return state.open_sends(wallet, _day(-1))

    def stopped(self) -> dict[str, str]:
        """Return the wallets that are stopped, and why. Raises PolicyError as `append` does."""
        with self._current() as state:
            return dict(state.stopped)

    def check_running(self, wallet: str) -> None:
        """Raise PolicyError if *wallet* is stopped, and as `append` does."""
        with self._current() as state:
            state.check_running(wallet)

    @contextmanager
    def _current(self) -> Iterator[_LogState]:
        """Give the state after all lines, those of other processes too."""
        with self._lock:
            if self.path is not None and (self._state.count or self.path.exists()):
                with (
                    _policy_errors(self.path, "read"),
                    self.path.open("rb", buffering=0) as file,
                ):
                    _lock_file(file.fileno(), exclusive=False)
                    self._catch_up(file)
            yield self._state

    def _next(
        self, event: str, facts: Mapping[str, Any]
    ) -> tuple[dict[str, Any], bytes]:
        """Return the next line's values, and the line."""
        entry = {
            "n": self._state.count + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "event": event,
            **facts,
            "prev": self._state.last,
        }
        return _line_of(entry, self._signer)


def _accept(state: _LogState) -> None:
    """Accept a line in any state of the log."""


def _today() -> str:
    return _day(0)


def _day(distance: int) -> str:
    """Return the day that is *distance* days from today (UTC)."""
    return (datetime.now(UTC) + timedelta(days=distance)).date().isoformat()


@contextmanager
def _policy_errors(path: Path, action: str) -> Iterator[None]:
    """Turn the errors of a log that was changed, or cannot be read or written, into PolicyError.

    *action* is "read" or "written".
    """
    try:
        yield
    except SourceError as error:
        raise PolicyError(
            "audit", f"nothing is signed unless the audit log is intact: {error}"
        ) from error
    except OSError as error:
        raise PolicyError(
            "audit", f"{path.name} cannot be {action} ({error.strerror})"
        ) from error


def _lock_file(descriptor: int, *, exclusive: bool) -> None:
    """Lock the file until it is closed: *exclusive* to write, shared to read.

    Raises OSError if another process keeps it locked.
    """
    try:
        import fcntl
    except ImportError:  # on Windows, only one process may use a log
        return
    operation = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise OSError(error.errno, "another process keeps it locked") from error
        time.sleep(_LOCK_STEP)
