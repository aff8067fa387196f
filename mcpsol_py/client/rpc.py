"""JSON-RPC as a transport, over a session of the HTTP library that solana-py brings, or over a client of solana-py.

solana-py changed its HTTP library, its typed requests and its synchronous client between 0.36 and 0.41, so only what
all of them share is used of a given client: its provider posting a request's JSON. Requests are written and answers
read here, and answers are bounded (bounded.py). Blocking calls go to the same session in a thread of its own, so the
`Client` that newer versions no longer have is not needed (one that is given is used as it is).
"""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import random
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, ParamSpec, TypeGuard, TypeVar
from urllib.parse import urlsplit

from solders.account import Account
from solders.errors import BincodeError
from solders.hash import Hash, ParseHashError
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import SanitizeError, VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.client.bounded import (
    AnswerRefused,
    bound_answers,
    http_session,
    read_json,
)
from mcpsol_py.client.landed_record import (
    balances_of,
    check_error,
    check_record,
    optional_number,
    plain_text,
    whole_number,
)
from mcpsol_py.client.pace import Pace
from mcpsol_py.client.transport import (
    Blockhash,
    Commitment,
    History,
    HistoryEntry,
    MemcmpFilter,
    Outcome,
    Status,
)
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.base58 import b58decode
from mcpsol_py.solana.clusters import cluster_url

__all__ = ["MAX_ANSWER", "RpcTransport", "account_of", "redact"]

_T = TypeVar("_T")
_P = ParamSpec("_P")

#: getMultipleAccounts takes no more at once.
_ACCOUNTS_A_CALL = 100
#: getSignatureStatuses takes no more at once.
_STATUSES_A_CALL = 256
#: Bytes of an unpacked answer: six accounts of the largest size, or 200,000 small ones.
MAX_ANSWER = 96 << 20
_RANK = {"processed": 0, "confirmed": 1, "finalized": 2}
_PREFLIGHT_FAILED = -32002
#: The exceptions of Python and of solders for a value of another form.
_ODD_FORMS = (
    *(KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError),
    *(ParseHashError, BincodeError, SanitizeError),
)
_TOO_MANY = 429
#: The node is behind or starting: asking again helps (solana: rpc custom errors).
_PASSING = frozenset({-32004, -32005, -32014, -32016})


def redact(url: str) -> str:
    """Return scheme, host and port of *url*, without path and query: providers put API keys there.

    >>> redact("https://user:pw@rpc.example.com:8899/v1/KEY?api-key=KEY")
    'https://rpc.example.com:8899'
    """
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # an odd port or IPv6 address
        return "RPC"
    if not parts.hostname:
        return "RPC"
    return f"{parts.scheme}://{parts.hostname}{port}"


def _read(
    method: Callable[_P, Coroutine[Any, Any, _T]],
) -> Callable[_P, Coroutine[Any, Any, _T]]:
    """Decorate a method that reads an answer: an answer of another form raises TransportError."""

    @functools.wraps(method)
    async def read(*args: _P.args, **options: _P.kwargs) -> _T:
        try:
            return await method(*args, **options)
        except _ODD_FORMS as error:
            transport: Any = args[0]
            why = f"the answer to {method.__name__} has an unknown form ({type(error).__name__})"
            raise TransportError(transport.endpoint, why, retryable=True) from error

    return read


class RpcTransport:
    """The JSON-RPC of a node.

    *endpoint*: a URL, the short name of a cluster ("devnet"), or solana-py's AsyncClient. Where solana-py still has a
    synchronous Client, that works too, and the transport blocks. *commitment*: what reads see and `confirmed` means.
    *timeout*: seconds for one request. *attempts*: how often a request is made if the node answers 429 or 5xx, is
    behind, or the connection fails. A send repeats the same signed transaction, so it cannot land twice. *max_answer*:
    bytes of an answer, unpacked; a longer one is refused while it is read. *pace*: when requests may begin; transports
    can share one.
    """

    def __init__(
        self,
        endpoint: Any,
        *,
        commitment: Commitment = "confirmed",
        timeout: float = 30.0,
        attempts: int = 4,
        blocking: bool = False,
        max_answer: int = MAX_ANSWER,
        pace: Pace | None = None,
    ) -> None:
        self.commitment: Commitment = commitment
        self.attempts, self._pace = attempts, pace
        self._max_answer = max_answer
        self._timeout = timeout
        self._loop: _LoopThread | None = None
        self._own: Any = None
        self.url = _url(endpoint)
        self.endpoint = redact(self.url)
        self._given = None if isinstance(endpoint, str) else endpoint
        # The methods of a synchronous Client are not coroutine functions.
        self._sync_given = self._given is not None and not asyncio.iscoroutinefunction(
            getattr(type(self._given), "is_connected", None)
        )
        if self._given is not None:
            bound_answers(getattr(_provider(self._given), "session", None), max_answer)
        self.blocks = blocking or self._sync_given
        self._number = 0

    @classmethod
    def blocking(
        cls,
        endpoint: Any,
        *,
        commitment: Commitment = "confirmed",
        timeout: float = 30.0,
        attempts: int = 4,
        max_answer: int = MAX_ANSWER,
    ) -> RpcTransport:
        """Make a transport for the synchronous client: its methods return without suspending."""
        return cls(
            endpoint,
            commitment=commitment,
            timeout=timeout,
            attempts=attempts,
            blocking=True,
            max_answer=max_answer,
        )

    # --- one request ---------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Sequence[Any] = ()) -> Any:
        """The `result` of a JSON-RPC request. Raises TransportError, with the node's words, on its error."""
        answer = await self._ask(method, params)
        error = answer.get("error")
        if error is not None:
            raise self._refused(method, error)
        return answer.get("result")

    async def _ask(
        self, method: str, params: Sequence[Any], lost: list[str] | None = None
    ) -> dict[str, Any]:
        """The whole answer, after as many attempts as it takes. *lost* is given why the answer to an attempt was lost
        that may have reached the node."""
        with telemetry.span(
            f"rpc {method}", **{"rpc.method": method, "server.address": self.endpoint}
        ) as step:
            return await self._attempted(
                method, params, step, [] if lost is None else lost
            )

    async def _attempted(
        self, method: str, params: Sequence[Any], step: telemetry.Span, lost: list[str]
    ) -> dict[str, Any]:
        number = self._number = self._number + 1
        body = json.dumps(
            {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}
        )
        attempt = 0
        while True:
            attempt += 1
            step.set(attempts=attempt)
            wait = min(8.0, 0.25 * 2**attempt) * random.uniform(0.8, 1.2)
            if self._pace is not None:
                await self._pace.wait()
            try:
                raw = await self._post(body)
                answer = self._parse(method, raw, number)
            except TransportError as error:
                if error.code is None:
                    lost.append(error.why)
                wait = max(wait, error.retry_after)
                if self._pace is not None and error.code == _TOO_MANY:
                    self._pace.hold(wait)
                if not error.retryable or attempt >= self.attempts:
                    raise
            else:
                code = _code(answer.get("error") or {})
                if code not in _PASSING or attempt >= self.attempts:
                    return answer
            await self.sleep(wait)

    def _parse(self, method: str, raw: str | bytes, number: int) -> dict[str, Any]:
        try:
            answer = read_json(raw)
        except AnswerRefused as error:
            raise TransportError(
                self.endpoint, f"{method}: {error}", retryable=True
            ) from None
        except ValueError:
            why = f"the answer to {method} is not JSON"
            raise TransportError(self.endpoint, why, retryable=True) from None
        if not _is_answer(answer):
            why = f"the answer to {method} is not a JSON-RPC response"
            raise TransportError(self.endpoint, why, retryable=True)
        # A connection, proxy or cache may be out of step.
        if answer.get("id") is not None and str(answer["id"]) != str(number):
            why = f"the answer to {method} belongs to another request"
            raise TransportError(self.endpoint, why, retryable=True)
        return answer

    def _refused(self, method: str, error: Mapping[str, Any]) -> TransportError:
        code, message = _code(error), str(error.get("message", ""))[:300]
        why = f"{method} was refused: {message} ({code})"
        return TransportError(self.endpoint, why, retryable=code in _PASSING, code=code)

    async def _post(self, body: str) -> str | bytes:
        try:
            if self._sync_given:
                answer: str = _provider(self._given).make_request_unparsed(_Body(body))
                return answer
            if self.blocks:
                self._loop = self._loop or _LoopThread()
                return self._loop.call(self._post_async(body))
            return await self._post_async(body)
        except TransportError:
            raise
        except (
            Exception
        ) as error:  # httpx's, httpx2's or solana-py's, which may not be importable
            raise self._failed(error) from error

    async def _post_async(self, body: str) -> str | bytes:
        # asyncio.timeout: Python 3.11's wait_for loses a cancellation that comes together with the answer
        async with asyncio.timeout(self._timeout):
            if self._given is not None:
                text: str = await _provider(self._given).make_request_unparsed(
                    _Body(body)
                )
                return text
            if self._own is None:
                self._own = http_session(self._timeout, self.url)
                bound_answers(self._own, self._max_answer)
            answer = await self._own.post(
                self.url, content=body, headers={"content-type": "application/json"}
            )
            answer.raise_for_status()
            raw: bytes = answer.content
            return raw

    def _failed(self, error: BaseException) -> TransportError:
        """What an HTTP library's exception means. Their text may hold the URL, so it is not passed on."""
        cause: BaseException | None = error
        while cause is not None:
            if type(cause).__name__ == "DecodingError":  # bounded.py's words
                return TransportError(self.endpoint, str(cause), retryable=True)
            response = getattr(cause, "response", None)
            status = getattr(response, "status_code", None)
            if isinstance(status, int):
                passing = status == 429 or status >= 500
                why = f"HTTP status {status}{_MEANING.get(status, '')}"
                wait = _seconds(getattr(response, "headers", {}).get("retry-after"))
                # A gateway's 5xx may come after the node has it.
                refused = status if status < 500 else None
                return TransportError(
                    self.endpoint,
                    why,
                    retryable=passing,
                    code=refused,
                    retry_after=wait,
                )
            if cause.__cause__ is None and cause.__context__ is None:
                break
            cause = cause.__cause__ or cause.__context__
        if (
            isinstance(error, (TimeoutError, asyncio.TimeoutError))
            or "Timeout" in type(cause).__name__
        ):
            return TransportError(
                self.endpoint, f"no answer within {self._timeout:g} s", retryable=True
            )
        return TransportError(
            self.endpoint, f"no connection ({type(cause).__name__})", retryable=True
        )

    # --- the protocol --------------------------------------------------------------------------------------------

    @_read
    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        out: list[Account | None] = []
        for start in range(0, len(keys), _ACCOUNTS_A_CALL):
            out += (await self._multiple(keys[start : start + _ACCOUNTS_A_CALL]))[1]
        return out

    @_read
    async def accounts_at(
        self, keys: Sequence[Pubkey], *, since: int = 0
    ) -> tuple[int, list[Account | None]]:
        if len(keys) > _ACCOUNTS_A_CALL:
            raise TransportError(
                self.endpoint,
                f"tells {_ACCOUNTS_A_CALL} accounts of one slot, not {len(keys)}",
            )
        result, found = await self._multiple(keys, since)
        return self._not_before(since, result), found

    async def _multiple(
        self, keys: Sequence[Pubkey], since: int = 0
    ) -> tuple[dict[str, Any], list[Account | None]]:
        """The answer to one getMultipleAccounts, and the accounts in it."""
        asked = list(map(str, keys))
        result = await self.request(
            "getMultipleAccounts", [asked, {**self._reading(), **_since(since)}]
        )
        return result, _accounts_of(result, keys)

    @_read
    async def account_heads(
        self, keys: Sequence[Pubkey], length: int
    ) -> list[Account | None]:
        """Return at most 100 accounts, each with the first *length* bytes of its data only."""
        options = {**self._reading(), "dataSlice": {"offset": 0, "length": length}}
        result = await self.request(
            "getMultipleAccounts", [list(map(str, keys)), options]
        )
        return _accounts_of(result, keys)

    def _not_before(self, since: int, result: Mapping[str, Any]) -> int:
        """The slot of an answer. Behind one URL there may be nodes that are not equally far."""
        slot = whole_number(result["context"]["slot"])
        if slot < since:
            raise TransportError(
                self.endpoint,
                f"answered as of slot {slot:,}, and slot {since:,} was seen before",
            )
        return slot

    @_read
    async def program_accounts(
        self,
        program_id: Pubkey,
        *,
        filters: Sequence[MemcmpFilter] = (),
        size: int | None = None,
    ) -> list[tuple[Pubkey, Account]]:
        options = {**self._reading(), "filters": _filters(filters, size)}
        result = await self.request("getProgramAccounts", [str(program_id), options])
        found = [
            (Pubkey.from_string(item["pubkey"]), account_of(item["account"]))
            for item in result
        ]
        return [(key, account) for key, account in found if account is not None]

    @_read
    async def program_keys(
        self,
        program_id: Pubkey,
        *,
        filters: Sequence[MemcmpFilter] = (),
        size: int | None = None,
    ) -> list[Pubkey]:
        """The addresses of those accounts alone: there may be a hundred thousand, of which few are then read."""
        options = {
            **self._reading(),
            "filters": _filters(filters, size),
            "dataSlice": {"offset": 0, "length": 0},
        }
        result = await self.request("getProgramAccounts", [str(program_id), options])
        return [Pubkey.from_string(item["pubkey"]) for item in result]

    @_read
    async def latest_blockhash(self) -> Blockhash:
        value = (
            await self.request("getLatestBlockhash", [{"commitment": self.commitment}])
        )["value"]
        return Blockhash(
            Hash.from_string(value["blockhash"]),
            whole_number(value["lastValidBlockHeight"]),
        )

    @_read
    async def blockhash_valid(self, blockhash: Hash) -> bool:
        # Asked at "finalized" too: a fork's tip may have dropped a blockhash that the chain still takes.
        for commitment in ("confirmed", "finalized"):
            asked = [str(blockhash), {"commitment": commitment}]
            if _flag((await self.request("isBlockhashValid", asked))["value"]):
                return True
        return False

    @_read
    async def block_height(self) -> int:
        return whole_number(
            await self.request("getBlockHeight", [{"commitment": self.commitment}])
        )

    @_read
    async def simulate(
        self,
        transaction: VersionedTransaction,
        *,
        replace_blockhash: bool = True,
        accounts: Sequence[Pubkey] = (),
        since: int = 0,
    ) -> Outcome:
        options: dict[str, Any] = {
            "encoding": "base64",
            "commitment": self.commitment,
            "sigVerify": False,
            "replaceRecentBlockhash": replace_blockhash,
            "innerInstructions": True,
            **_since(since),
        }
        if accounts:
            options["accounts"] = {
                "encoding": "base64",
                "addresses": list(map(str, accounts)),
            }
        result = await self.request(
            "simulateTransaction", [_wire(transaction), options]
        )
        outcome = _outcome(result["value"])
        return (
            replace(outcome, slot=self._not_before(since, result)) if since else outcome
        )

    @_read
    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        options = {
            "encoding": "base64",
            "skipPreflight": skip_preflight,
            "preflightCommitment": self.commitment,
        }
        signature, lost = transaction.signatures[0], list[str]()
        try:
            answer = await self._ask(
                "sendTransaction", [_wire(transaction), options], lost
            )
        except TransportError as unanswered:
            raise self._after(lost, unanswered) from unanswered
        error = answer.get("error")
        if error is None:
            if answer["result"] != str(signature):
                why = (
                    "sendTransaction was answered with another transaction's signature"
                )
                raise TransportError(self.endpoint, why, retryable=True)
            return signature, None
        data = error.get("data")
        if (
            not lost
            and error.get("code") == _PREFLIGHT_FAILED
            and isinstance(data, dict)
            and data.get("err") is not None
        ):
            return signature, _outcome(data)
        raise self._after(lost, self._refused("sendTransaction", error))

    def _after(self, lost: list[str], error: TransportError) -> TransportError:
        """*error*, with which a send ended. Where an earlier attempt of it may have reached the node, a later one that
        is refused (since its blockhash is gone, or the money is: perhaps by the first) does not tell that it has not
        landed."""
        if error.code is None or not lost:
            return error
        return TransportError(
            self.endpoint, f"{lost[0]}; asked once more, {error.why}", retryable=True
        )

    @_read
    async def status(self, signature: Signature) -> Status | None:
        result = await self.request(
            "getSignatureStatuses",
            [[str(signature)], {"searchTransactionHistory": True}],
        )
        return self._status(result["value"][0])

    @_read
    async def statuses(self, signatures: Sequence[Signature]) -> list[Status | None]:
        out: list[Status | None] = []
        for start in range(0, len(signatures), _STATUSES_A_CALL):
            part = list(map(str, signatures[start : start + _STATUSES_A_CALL]))
            result = await self.request("getSignatureStatuses", [part])
            out += map(self._status, result["value"])
        return out

    def _status(self, found: Mapping[str, Any] | None) -> Status | None:
        if found is None:
            return None
        reached = found.get("confirmationStatus") or (
            "finalized" if found.get("confirmations") is None else "confirmed"
        )
        slot = found.get("slot")
        confirmed = _RANK[reached] >= _RANK[self.commitment]
        return Status(confirmed, check_error(found.get("err")), optional_number(slot))

    @_read
    async def transaction(self, signature: Signature) -> Outcome | None:
        result = await self.landed(signature)
        if result is None or result.get("meta") is None:
            return None
        meta = result["meta"]
        sent = VersionedTransaction.from_bytes(
            base64.b64decode(result["transaction"][0])
        )
        loaded = meta.get("loadedAddresses") or {}
        keys = list(map(str, sent.message.account_keys))
        keys += [*loaded.get("writable", ()), *loaded.get("readonly", ())]
        outcome = _outcome(
            {
                "innerInstructions": [
                    {
                        "instructions": [
                            {
                                "programId": keys[ix["programIdIndex"]],
                                "data": ix["data"],
                            }
                            for ix in part["instructions"]
                        ]
                    }
                    for part in meta.get("innerInstructions") or ()
                ],
                "err": meta.get("err"),
                "logs": meta.get("logMessages"),
                "unitsConsumed": meta.get("computeUnitsConsumed"),
                "returnData": meta.get("returnData"),
            }
        )
        return replace(outcome, balances=balances_of(keys, meta))

    @_read
    async def landed(self, signature: Signature) -> dict[str, Any] | None:
        """The node's record of a landed transaction (getTransaction, base64), None if it does not have it."""
        options = {
            "encoding": "base64",
            "commitment": self._confirmed(),
            "maxSupportedTransactionVersion": 0,
        }
        result = await self.request("getTransaction", [str(signature), options])
        return None if result is None else check_record(result)

    @_read
    async def history(
        self, key: Pubkey, *, limit: int, before: Signature | None = None
    ) -> History:
        options: dict[str, Any] = {"limit": limit, "commitment": self._confirmed()}
        if before is not None:
            options["before"] = str(before)
        rows = await self.request("getSignaturesForAddress", [str(key), options])
        entries = tuple(map(_history_entry, rows))
        return History(entries, complete=len(entries) < limit)

    @_read
    async def sent_transaction(
        self, signature: Signature
    ) -> VersionedTransaction | None:
        found = await self.landed(signature)
        if found is None:
            return None
        return VersionedTransaction.from_bytes(
            base64.b64decode(found["transaction"][0])
        )

    @_read
    async def token_accounts(
        self, owner: Pubkey, program_id: Pubkey
    ) -> list[tuple[Pubkey, Account]]:
        """The token accounts of *owner* that belong to a token program."""
        asked = [str(owner), {"programId": str(program_id)}, self._reading()]
        rows = (await self.request("getTokenAccountsByOwner", asked))["value"]
        found = [
            (Pubkey.from_string(item["pubkey"]), account_of(item["account"]))
            for item in rows
        ]
        return [(key, account) for key, account in found if account is not None]

    async def identity(self) -> Pubkey | None:
        try:
            return await self._identity()
        except TransportError:
            return None  # some providers do not offer it

    @_read
    async def _identity(self) -> Pubkey:
        return Pubkey.from_string((await self.request("getIdentity"))["identity"])

    @_read
    async def priority_fees(self, keys: Sequence[Pubkey]) -> list[int]:
        result = await self.request(
            "getRecentPrioritizationFees", [list(map(str, keys[:128]))]
        )
        return [whole_number(item["prioritizationFee"]) for item in result]

    async def sleep(self, seconds: float) -> None:
        if self.blocks:
            time.sleep(seconds)
        else:
            await asyncio.sleep(seconds)

    async def close(self) -> None:
        own, self._own = self._own, None
        if own is not None:
            if self._loop is not None:
                self._loop.call(own.aclose())
            else:
                await own.aclose()
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def _confirmed(self) -> Commitment:
        """The commitment for methods that do not take "processed"."""
        return "confirmed" if self.commitment == "processed" else self.commitment

    def _reading(self) -> dict[str, Any]:
        return {"encoding": "base64", "commitment": self.commitment}


_MEANING = {
    401: " (unauthorised)",
    403: " (forbidden)",
    404: " (not found)",
    429: " (rate limited)",
}


class _Body:
    """A request as solana-py's providers take it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_json(self) -> str:
        return self._text


def _since(slot: int) -> dict[str, int]:
    return {"minContextSlot": slot} if slot else {}


def _url(endpoint: Any) -> str:
    """The URL of a URL, a cluster's name or solana-py's client. Raises TransportError for anything else."""
    if isinstance(endpoint, str):
        return cluster_url(endpoint)
    return str(_provider(endpoint).endpoint_uri)


def _provider(client: Any) -> Any:
    """The provider of solana-py's client; private, and so named since 0.18."""
    provider = getattr(client, "_provider", None)
    if provider is None or not hasattr(provider, "make_request_unparsed"):
        raise TransportError(
            "RPC", f"{type(client).__name__} is neither a URL nor a client of solana-py"
        )
    return provider


def _wire(transaction: VersionedTransaction) -> str:
    return base64.b64encode(bytes(transaction)).decode()


def _filters(filters: Sequence[MemcmpFilter], size: int | None) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = [{"dataSize": size}] if size is not None else []
    for offset, wanted in filters:
        text = base64.b64encode(wanted).decode()
        asked.append(
            {"memcmp": {"offset": offset, "bytes": text, "encoding": "base64"}}
        )
    return asked


def account_of(found: Mapping[str, Any] | None) -> Account | None:
    """An account as the RPC tells it (base64)."""
    if found is None:
        return None
    return Account(
        lamports=found["lamports"],
        data=base64.b64decode(found["data"][0]),
        owner=Pubkey.from_string(found["owner"]),
        executable=found["executable"],
        rent_epoch=min(int(found.get("rentEpoch") or 0), 2**64 - 1),
    )


def _is_answer(answer: object) -> TypeGuard[dict[str, Any]]:
    """Whether *answer* has the form of a JSON-RPC response: a result, or an error that is an object."""
    if not isinstance(answer, dict):
        return False
    error = answer.get("error")
    return isinstance(error, dict) or (error is None and "result" in answer)


def _code(error: Mapping[str, Any]) -> int | None:
    code = error.get("code")
    return code if type(code) is int else None


def _accounts_of(
    result: Mapping[str, Any], keys: Sequence[Pubkey]
) -> list[Account | None]:
    """The accounts in an answer to getMultipleAccounts: one for each key."""
    found = list(map(account_of, result["value"]))
    if len(found) != len(keys):
        raise ValueError(f"{len(found)} accounts for {len(keys)} keys")
    return found


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _outcome(value: Mapping[str, Any]) -> Outcome:
    returned = value.get("returnData")
    return Outcome(
        err=check_error(value.get("err")),
        logs=tuple(map(plain_text, value.get("logs") or ())),
        units=optional_number(value.get("unitsConsumed")),
        return_data=(
            (
                Pubkey.from_string(returned["programId"]),
                base64.b64decode(returned["data"][0]),
            )
            if returned
            else None
        ),
        accounts=tuple(map(account_of, value.get("accounts") or ())),
        inner=tuple(
            (Pubkey.from_string(ix["programId"]), b58decode(ix["data"]))
            for part in value.get("innerInstructions") or ()
            for ix in part["instructions"]
            if "data"
            in ix  # calls of programs that the node knows come parsed, without their bytes
        ),
    )


def _history_entry(row: Mapping[str, Any]) -> HistoryEntry:
    return HistoryEntry(
        Signature.from_string(row["signature"]),
        optional_number(row.get("blockTime")),
        slot=whole_number(row.get("slot", 0)),
        failed=check_error(row.get("err")) is not None,
    )


def _seconds(header: Any) -> float:
    """Retry-After in seconds, at most half a minute; its date form and nonsense count as 0."""
    try:
        return min(30.0, max(0.0, float(header)))
    except (TypeError, ValueError):
        return 0.0


class _LoopThread:
    """An event loop in a thread of its own: asynchronous sessions belong to one loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, name="mcpsol-rpc", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self) -> None:
        stop: Callable[[], None] = self._loop.stop
        self._loop.call_soon_threadsafe(stop)
        self._thread.join(timeout=5)
