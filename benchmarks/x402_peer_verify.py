"""Seconds that the official Python SDK takes to verify one payment of a list. bench_x402 runs it in the x402peer venv.

usage: x402_peer_verify.py PAYMENTS.json

Its own facilitator's signer, whose simulation is run by a LiteSVM with the same accounts instead of a node.
"""

# mypy: ignore-errors
# Another environment's x402: the types seen here are not those that it runs with.

import base64
import json
import sys
import time
from pathlib import Path

from solders.account import Account
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata
from x402.mechanisms.svm import FacilitatorKeypairSigner
from x402.mechanisms.svm.exact import ExactSvmFacilitatorScheme
from x402.schemas import PaymentPayload, PaymentRequirements


class Signer(FacilitatorKeypairSigner):
    """Simulates in this process."""

    def simulate_transaction(self, tx_base64, network):
        outcome = svm.simulate_transaction(
            VersionedTransaction.from_bytes(base64.b64decode(tx_base64))
        )
        if isinstance(outcome, FailedTransactionMetadata):
            raise RuntimeError(str(outcome.err()))


given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
sponsor = Keypair.from_bytes(bytes.fromhex(given["sponsor"]))
svm = LiteSVM().with_blockhash_check(False)
svm.airdrop(sponsor.pubkey(), 10**9)
for key, (owner, data) in given["accounts"].items():
    svm.set_account(
        Pubkey.from_string(key),
        Account(10**7, bytes.fromhex(data), Pubkey.from_string(owner)),
    )
scheme = ExactSvmFacilitatorScheme(Signer(sponsor, rpc_url="http://127.0.0.1:1"))
payments = [PaymentPayload.model_validate(p) for p in given["payments"]]
terms = PaymentRequirements.model_validate(given["terms"])
best = float("inf")
for _ in range(5):
    started = time.perf_counter()
    for payment in payments:
        answer = scheme.verify(payment, terms)
        assert answer.is_valid, answer
    best = min(best, (time.perf_counter() - started) / len(payments))
print(best)
