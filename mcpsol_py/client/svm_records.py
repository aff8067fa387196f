"""The records of transactions that a LiteSVM executed, in the form of getTransaction."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.client.transport import AccountBalance, Balances, Outcome
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.solana.fees import fee_lamports

__all__ = ["ExecutionRecord", "landed_json", "token_mints"]


@dataclass(frozen=True, slots=True)
class ExecutionRecord:
    """What the SVM reports of an execution beside its outcome.

    `inner` are the calls that programs made, by the index of the instruction. `unix_time` is the chain's, 0 if its
    clock was never set.
    """

    fee: int
    inner: Mapping[int, Sequence[Mapping[str, Any]]]
    unix_time: int

    @classmethod
    def of(
        cls, transaction: VersionedTransaction, meta: Any, unix_time: int
    ) -> ExecutionRecord:
        """Return the record in *meta*, LiteSVM's metadata of the execution."""
        fee = meta.fee() if hasattr(meta, "fee") else fee_lamports(transaction.message)
        inner = {
            place: list(map(_call, calls))
            for place, calls in enumerate(meta.inner_instructions())
        }
        return cls(
            fee, {place: calls for place, calls in inner.items() if calls}, unix_time
        )


def _call(item: Any) -> dict[str, Any]:
    ix = item.instruction()
    return {
        "programIdIndex": ix.program_id_index,
        "accounts": list(ix.accounts),
        "data": b58encode(bytes(ix.data)),
        "stackHeight": item.stack_height(),
    }


def token_mints(balances: Balances | None) -> set[Pubkey]:
    """Return the mints of the token accounts of a transaction."""
    if balances is None:
        return set()
    held = [*balances.before.values(), *balances.after.values()]
    return {found.token.mint for found in held if found.token is not None}


def landed_json(
    outcome: Outcome,
    sent: VersionedTransaction,
    record: ExecutionRecord,
    loaded: Sequence[Pubkey],
    decimals: Mapping[Pubkey, int],
) -> dict[str, Any]:
    """Return the result of getTransaction with encoding base64.

    *loaded* are the addresses from lookup tables, writable ones first. *decimals* are those of the mints.
    """
    lookups = getattr(sent.message, "address_table_lookups", ())
    writable = sum(len(lookup.writable_indexes) for lookup in lookups)
    keys = list(map(str, loaded))
    meta = {
        "err": outcome.err,
        "fee": record.fee,
        "logMessages": list(outcome.logs),
        "computeUnitsConsumed": outcome.units,
        "innerInstructions": [
            {"index": place, "instructions": calls}
            for place, calls in record.inner.items()
        ],
        "loadedAddresses": {"writable": keys[:writable], "readonly": keys[writable:]},
        **_balances(outcome.balances, decimals),
    }
    return {
        "slot": outcome.slot,
        "blockTime": record.unix_time or None,
        "version": 0,
        "transaction": [base64.b64encode(bytes(sent)).decode(), "base64"],
        "meta": meta,
    }


def _balances(found: Balances | None, decimals: Mapping[Pubkey, int]) -> dict[str, Any]:
    if found is None:
        return {}
    out: dict[str, Any] = {}
    for side, balances in (("pre", found.before), ("post", found.after)):
        held = list(balances.values())
        out[f"{side}Balances"] = [balance.lamports for balance in held]
        rows = [
            _token_row(place, balance, decimals) for place, balance in enumerate(held)
        ]
        out[f"{side}TokenBalances"] = [row for row in rows if row is not None]
    return out


def _token_row(
    place: int, balance: AccountBalance, decimals: Mapping[Pubkey, int]
) -> dict[str, Any] | None:
    held = balance.token
    if held is None:
        return None
    return {
        "accountIndex": place,
        "mint": str(held.mint),
        "owner": str(held.owner),
        "uiTokenAmount": {"amount": str(held.amount), "decimals": decimals[held.mint]},
    }
