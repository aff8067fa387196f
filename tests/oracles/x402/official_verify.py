"""The official SDK's facilitator over a list of payments, its simulation run by a LiteSVM of the same accounts.

Run in the environment x402peer.

usage: official_verify.py PAYMENTS.json     Prints a JSON list of reasons, null for valid.
"""

# mypy: ignore-errors
# Another environment's x402: the types seen here are not those that it runs with.

import base64
import json
import sys
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
terms = PaymentRequirements.model_validate(given["terms"])
answers = []
for payment in given["payments"]:
    try:
        answer = scheme.verify(PaymentPayload.model_validate(payment), terms)
        answers.append(None if answer.is_valid else answer.invalid_reason)
    except Exception as error:  # noqa: BLE001  # what it raises is its answer
        answers.append(f"raised {type(error).__name__}")
print(json.dumps(answers))
