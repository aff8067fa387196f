"""The cluster that payments settle on, and the payment program's addresses and instructions."""

from __future__ import annotations

from mcpsol_py._moved import renamed
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    MessageStatus,
    PaymentChain,
    SignatureStatus,
    rpc_chain,
    svm_chain,
)

__all__ = [
    "ChainRejected",
    "ChainUnavailable",
    "MessageStatus",
    "PaymentChain",
    "SignatureStatus",
    "rpc_chain",
    "svm_chain",
]


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
