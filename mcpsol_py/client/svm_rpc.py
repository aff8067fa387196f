"""A JSON-RPC node whose chain is a LiteSVM: wallets, facilitators and other SDKs work with it offline.

The wire format is the one of the RPC documentation, in the methods that clients use; a method not listed here is
"Method not found". It has no forks, so every commitment is the same. svm_blocks.py lets its time pass, and
svm_pubsub.py has its subscriptions.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import partial
from typing import Any

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Outcome, Status, run
from mcpsol_py.errors import TransportError
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import b58decode, b58encode
from mcpsol_py.solana.fees import LAMPORTS_PER_SIGNATURE
from mcpsol_py.solana.tokens import (
    is_token_account,
    mint_filter,
    owner_filter,
    read_mint,
    read_token_account,
)

__all__ = ["GENESIS", "VERSION", "SvmNode", "account_json", "in_context", "rpc_app"]

#: The genesis hash of every such chain: the hash of no real cluster.
GENESIS = ids.EMBEDDED_GENESIS

#: The release of Agave whose runtime LiteSVM has. SDKs read it as a version number.
VERSION = "4.1.2"

#: A request is at most this long (solana: 50 KiB is the limit of its own server).
MAX_REQUEST = 256 * 1024


class SvmNode:
    """Answers JSON-RPC over *transport*. `calls` lists the methods that were asked for; `airdrops` allows
    requestAirdrop.
    """

    def __init__(
        self, transport: SvmTransport, genesis: str = GENESIS, *, airdrops: bool = False
    ) -> None:
        self.transport, self.genesis, self.airdrops = transport, genesis, airdrops
        self.calls: list[str] = []
        self.down: set[str] = set()

    def respond(self, body: bytes) -> bytes:
        """The response to the bytes of a request, or of a batch of them."""
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            return json.dumps(_failed(None, -32700, "Parse error")).encode()
        if isinstance(request, list):
            return json.dumps(list(map(self.answer, request[:100]))).encode()
        return json.dumps(self.answer(request)).encode()

    def answer(self, request: Any) -> dict[str, Any]:
        """The response to one request."""
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            return _failed(None, -32600, "Invalid request")
        method, params, number = (
            request["method"],
            request.get("params") or [],
            request.get("id"),
        )
        handler: Callable[..., Any] | None = getattr(self, f"do_{method}", None)
        if handler is None or not isinstance(params, list):
            return _failed(number, -32601, "Method not found")
        self.calls.append(method)
        del self.calls[:-1000]
        try:
            with self.transport.lock:
                found = handler(*params)
        except (
            TypeError,
            ValueError,
            KeyError,
            IndexError,
            AttributeError,
            OverflowError,
        ) as error:
            return _failed(number, -32602, f"Invalid params: {str(error)[:200]}")
        if isinstance(found, _Refusal):
            return {"jsonrpc": "2.0", "id": number, "error": found.error}
        return {"jsonrpc": "2.0", "id": number, "result": found}

    # --- accounts

    def do_getAccountInfo(self, key: str, options: Any = None) -> Any:
        (account,) = run(self.transport.get_accounts([Pubkey.from_string(key)]))
        return self._value(account_json(account, options))

    def do_getMultipleAccounts(self, keys: list[str], options: Any = None) -> Any:
        accounts = run(self.transport.get_accounts(list(map(Pubkey.from_string, keys))))
        return self._value([account_json(a, options) for a in accounts])

    def do_getProgramAccounts(self, key: str, options: Any = None) -> Any:
        filters, size = [], None
        for item in _option(options, "filters") or ():
            if "memcmp" in item:
                filters.append(
                    (int(item["memcmp"].get("offset", 0)), _bytes(item["memcmp"]))
                )
            else:
                size = item["dataSize"]
        found = run(
            self.transport.program_accounts(
                Pubkey.from_string(key), filters=filters, size=size
            )
        )
        rows = [
            {"pubkey": str(k), "account": account_json(a, options)} for k, a in found
        ]
        return self._value(rows) if _option(options, "withContext") else rows

    def do_getTokenAccountsByOwner(
        self, owner: str, which: Mapping[str, str], options: Any = None
    ) -> Any:
        filters = [owner_filter(Pubkey.from_string(owner))]
        if "mint" in which:
            filters.append(mint_filter(Pubkey.from_string(which["mint"])))
        programs = [which["programId"]] if "programId" in which else ids.TOKEN_PROGRAMS
        found = [
            row
            for program in programs
            for row in run(
                self.transport.program_accounts(
                    Pubkey.from_string(program), filters=filters
                )
            )
        ]
        return self._value(
            [
                {"pubkey": str(k), "account": account_json(a, options)}
                for k, a in found
                if is_token_account(a.data)
            ]
        )

    def do_getTokenAccountBalance(self, key: str, options: Any = None) -> Any:
        (account,) = run(self.transport.get_accounts([Pubkey.from_string(key)]))
        held = read_token_account(account)
        if held is None:
            raise ValueError("not a Token account")
        (mint_account,) = run(self.transport.get_accounts([held.mint]))
        mint = read_mint(mint_account)
        amount, decimals = held.amount, 0 if mint is None else mint.decimals
        digits = str(amount).rjust(decimals + 1, "0")
        text = (
            f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")
            if decimals
            else digits
        )
        shown = {
            "amount": str(amount),
            "decimals": decimals,
            "uiAmountString": text,
            "uiAmount": float(text),
        }
        return self._value(shown)

    def do_getBalance(self, key: str, options: Any = None) -> Any:
        return self._value(self.transport.svm.get_balance(Pubkey.from_string(key)) or 0)

    def do_getMinimumBalanceForRentExemption(
        self, size: int, options: Any = None
    ) -> int:
        return int(self.transport.svm.minimum_balance_for_rent_exemption(int(size)))

    def do_requestAirdrop(self, key: str, lamports: int, options: Any = None) -> Any:
        if not self.airdrops:
            return _Refusal(-32600, "airdrops are off here")
        try:
            return str(
                self.transport.request_airdrop(Pubkey.from_string(key), int(lamports))
            )
        except TransportError as error:
            return _Refusal(-32603, error.why)

    # --- blocks

    def do_getHealth(self) -> str:
        return "ok"

    def do_getVersion(self) -> Any:
        return {"solana-core": VERSION, "feature-set": 0}

    def do_getGenesisHash(self) -> str:
        return self.genesis

    def do_getIdentity(self) -> Any:
        return {"identity": str(run(self.transport.identity()))}

    def do_getSlot(self, options: Any = None) -> int:
        return self.transport.current_slot

    def do_getBlockHeight(self, options: Any = None) -> int:
        return run(self.transport.block_height())

    def do_getEpochInfo(self, options: Any = None) -> Any:
        slot, height = self.do_getSlot(), self.do_getBlockHeight()
        return {
            "absoluteSlot": slot,
            "blockHeight": height,
            "epoch": int(self.transport.svm.get_clock().epoch),
            "slotIndex": slot % 432_000,
            "slotsInEpoch": 432_000,
            "transactionCount": len(self.transport.executed()),
        }

    def do_getLatestBlockhash(self, options: Any = None) -> Any:
        recent = run(self.transport.latest_blockhash())
        return self._value(
            {
                "blockhash": str(recent.value),
                "lastValidBlockHeight": recent.last_valid_block_height,
            }
        )

    def do_isBlockhashValid(self, blockhash: str, options: Any = None) -> Any:
        return self._value(
            run(self.transport.blockhash_valid(Hash.from_string(blockhash)))
        )

    def do_getRecentPrioritizationFees(self, keys: Any = None) -> Any:
        return []

    def do_getFeeForMessage(self, message: str, options: Any = None) -> Any:
        from solders.message import from_bytes_versioned

        return self._value(
            LAMPORTS_PER_SIGNATURE
            * from_bytes_versioned(
                base64.b64decode(message)
            ).header.num_required_signatures
        )

    # --- transactions

    def do_simulateTransaction(self, text: str, options: Any = None) -> Any:
        transaction = _transaction(text, options)
        keys = list(
            map(
                Pubkey.from_string,
                (_option(options, "accounts") or {}).get("addresses", ()),
            )
        )
        if _option(options, "sigVerify") and not all(transaction.verify_with_results()):
            return self._value(
                {
                    "err": "SignatureFailure",
                    "logs": [],
                    "unitsConsumed": 0,
                    "accounts": None,
                }
            )
        replace = bool(_option(options, "replaceRecentBlockhash"))
        outcome = run(
            self.transport.simulate(
                transaction, replace_blockhash=replace, accounts=keys
            )
        )
        accounts = (
            [account_json(a, None) for a in outcome.accounts]
            if keys and outcome.err is None
            else None
        )
        shown = {**_outcome(outcome), "accounts": accounts}
        if replace:
            recent = run(self.transport.latest_blockhash())
            shown["replacementBlockhash"] = {
                "blockhash": str(recent.value),
                "lastValidBlockHeight": recent.last_valid_block_height,
            }
        return self._value(shown)

    def do_sendTransaction(self, text: str, options: Any = None) -> Any:
        transaction = _transaction(text, options)
        if run(self.transport.status(transaction.signatures[0])) is not None:
            # The same bytes again are the same transaction.
            return str(transaction.signatures[0])
        skip = bool(_option(options, "skipPreflight"))
        signature, refused = run(self.transport.send(transaction, skip_preflight=skip))
        if refused is not None:
            return _Refusal(-32002, "Transaction simulation failed", _outcome(refused))
        return str(signature)

    def do_getSignatureStatuses(
        self, signatures: list[str], options: Any = None
    ) -> Any:
        found = [
            run(self.transport.status(Signature.from_string(s))) for s in signatures
        ]
        return self._value([None if s is None else _status(s) for s in found])

    def do_getSignaturesForAddress(self, key: str, options: Any = None) -> Any:
        wanted, limit = Pubkey.from_string(key), int(_option(options, "limit") or 1000)
        newest_first = reversed(self.transport.executed().items())
        found = [s for s, tx in newest_first if wanted in tx.message.account_keys]
        before = _option(options, "before")
        if before is not None:
            found = found[found.index(Signature.from_string(before)) + 1 :]
        return [
            {"signature": str(s), **_status(status), "memo": None, "blockTime": None}
            for s in found[:limit]
            if (status := run(self.transport.status(s))) is not None
        ]

    def do_getTransaction(self, signature: str, options: Any = None) -> Any:
        return run(self.transport.landed(Signature.from_string(signature)))

    def _value(self, value: Any) -> dict[str, Any]:
        return in_context(self.transport.current_slot, value)


def rpc_app(node: SvmNode, hosts: Collection[str]) -> Callable[..., Awaitable[None]]:
    """The ASGI app of *node*. *hosts*: what the Host header may be, so that no web page reaches it by another name."""
    return partial(_serve, node, hosts)


async def _serve(
    node: SvmNode,
    hosts: Collection[str],
    scope: Mapping[str, Any],
    receive: Callable[[], Awaitable[Any]],
    send: Any,
) -> None:
    headers = dict(scope.get("headers", ()))
    if headers.get(b"host", b"").decode("latin-1") not in hosts or b"origin" in headers:
        await _refuse(send, 421, "not served under this name")
        return
    if scope["method"] != "POST":
        await _refuse(send, 405, "POST a JSON-RPC request")
        return
    body, more = b"", True
    while more:
        message = await receive()
        body, more = (
            body + bytes(message.get("body", b"")),
            bool(message.get("more_body")),
        )
        if len(body) > MAX_REQUEST:
            await _refuse(send, 413, f"over {MAX_REQUEST:,} bytes")
            return
    await _answer(send, 200, node.respond(body))


async def _refuse(send: Any, status: int, why: str) -> None:
    await _answer(send, status, json.dumps(_failed(None, -32600, why)).encode())


async def _answer(send: Any, status: int, body: bytes) -> None:
    kind = (b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": [kind]})
    await send({"type": "http.response.body", "body": body})


class _Refusal:
    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.error = {
            "code": code,
            "message": message,
            **({} if data is None else {"data": data}),
        }


def _failed(number: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def in_context(slot: int, value: Any) -> dict[str, Any]:
    """Return a value as the RPC gives it: with the slot whose state it is."""
    return {"context": {"slot": slot, "apiVersion": VERSION}, "value": value}


def _status(status: Status) -> dict[str, Any]:
    result = {"Ok": None} if status.err is None else {"Err": status.err}
    return {
        "confirmationStatus": "finalized",
        "confirmations": None,
        "err": status.err,
        "slot": status.slot,
        "status": result,
    }


def _transaction(text: str, options: Mapping[str, Any]) -> VersionedTransaction:
    raw = (
        base64.b64decode(text, validate=True)
        if _option(options, "encoding") == "base64"
        else b58decode(text)
    )
    return VersionedTransaction.from_bytes(raw)


def _bytes(memcmp: Mapping[str, Any]) -> bytes:
    text = memcmp["bytes"]
    if isinstance(text, list):
        return bytes(text)
    return (
        base64.b64decode(text)
        if memcmp.get("encoding") == "base64"
        else b58decode(text)
    )


def _option(options: Any, name: str) -> Any:
    """An option of a request; None if the request does not give it."""
    return (options or {}).get(name)


def account_json(account: Account | None, options: Any) -> Any:
    """Return an account as the RPC gives it, None for one that does not exist.

    The encoding is base58 if *options* ask for that, else base64, to which a node also falls back from "jsonParsed".
    """
    if account is None:
        return None
    data = bytes(account.data)
    part = _option(options, "dataSlice")
    if part is not None:
        data = data[int(part["offset"]) : int(part["offset"]) + int(part["length"])]
    in_base58 = _option(options, "encoding") == "base58"
    return {
        "lamports": account.lamports,
        "data": [b58encode(data), "base58"]
        if in_base58
        else [base64.b64encode(data).decode(), "base64"],
        "owner": str(account.owner),
        "executable": account.executable,
        "rentEpoch": 0,
        "space": len(account.data),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    returned = outcome.return_data
    data = None
    if returned is not None:  # a validator trims the zeros at the end
        text = base64.b64encode(returned[1].rstrip(b"\0")).decode()
        data = {"programId": str(returned[0]), "data": [text, "base64"]}
    return {
        "err": outcome.err,
        "logs": list(outcome.logs),
        "unitsConsumed": outcome.units,
        "returnData": data,
        "innerInstructions": [],
    }
