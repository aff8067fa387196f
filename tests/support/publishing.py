"""Chains with programs to publish IDLs for."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

from solders.pubkey import Pubkey

from mcpsol_py.client.idl_accounts import fetch_idl, metadata_address
from mcpsol_py.deploy.idl_metadata import (
    PublicationPlan,
    Published,
    plan_publication,
    run_publication,
)
from mcpsol_py.solana.addresses import PROGRAM_METADATA
from tests.functional.loaded import COUNTER_SO, DeployingChain

ELF = COUNTER_SO.read_bytes()


def document(packed: int, salt: int = 0) -> bytes:
    """A JSON object that has about so many bytes when it is compressed."""
    text = random.Random(salt).randbytes(max(0, packed - 60)).hex()
    return json.dumps(
        {"name": "x", "version": "0.1.0", "instructions": [], "note": text}
    ).encode()


class Publishing(DeployingChain):
    """With the Program Metadata program, and the counter deployed with `wallet` as its upgrade authority."""

    def __init__(self, so: Path) -> None:
        super().__init__()
        self.add_program(PROGRAM_METADATA, so)
        self.deploy(ELF)
        self.sent = 0
        self.address = metadata_address(self.program.pubkey())

    def plan(self, text: bytes, **changed: Pubkey) -> PublicationPlan:
        key = self.wallet.pubkey()
        asked = {
            "program_id": self.program.pubkey(),
            "authority": key,
            "payer": key,
            **changed,
        }
        return asyncio.run(plan_publication(self, text, **asked))  # type: ignore[arg-type]

    def publish(self, text: bytes, price: int | None = None) -> Published:
        key = self.wallet.pubkey()
        planned = plan_publication(
            self,
            text,
            program_id=self.program.pubkey(),
            authority=key,
            payer=key,
            price=price,
        )
        plan = asyncio.run(planned)
        return self.run(
            run_publication(
                self, plan, payer=self.wallet, authority=self.wallet, price=price
            )
        )

    def published(self) -> object:
        found = asyncio.run(fetch_idl(self, self.program.pubkey()))
        assert found.address == str(self.address)
        return found.document
