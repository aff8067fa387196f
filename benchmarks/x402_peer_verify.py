"""Seconds that the official Python SDK takes to verify one payment of a list. bench_x402 runs it in the x402peer venv.

usage: x402_peer_verify.py PAYMENTS.json

Its signer is asked for a simulation at the end; here that answers at once, so that what is measured is its own work.
"""

# mypy: ignore-errors
# Another environment's x402: the types seen here are not those that it runs with.

import json
import sys
import time
from pathlib import Path

from solders.keypair import Keypair
from x402.mechanisms.svm.exact import ExactSvmFacilitatorScheme
from x402.schemas import PaymentPayload, PaymentRequirements


class Signer:
    """Says yes."""

    def __init__(self, address):
        self.address = address

    def get_addresses(self):
        return [self.address]

    def sign_transaction(self, transaction, fee_payer, network):
        return transaction

    def simulate_transaction(self, transaction, network):
        return None


given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
sponsor = Keypair.from_bytes(bytes.fromhex(given["sponsor"]))
scheme = ExactSvmFacilitatorScheme(Signer(str(sponsor.pubkey())))
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
