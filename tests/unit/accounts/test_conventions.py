"""Signers that the wallet may be, and accounts that sign for themselves."""

from __future__ import annotations

from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py import Program, load
from mcpsol_py.errors import MissingAccount

WALLET = Keypair()


def signer(name: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "instructionAccountNode",
        "name": name,
        "isSigner": True,
        "isWritable": True,
        **more,
    }


def codama(*accounts: dict[str, Any]) -> Program:
    instruction = {
        "kind": "instructionNode",
        "name": "act",
        "accounts": list(accounts),
        "arguments": [],
    }
    program = {
        "kind": "programNode",
        "name": "p",
        "publicKey": str(Pubkey(b"\x07" * 32)),
        "instructions": [instruction],
    }
    return load(
        {
            "kind": "rootNode",
            "standard": "codama",
            "version": "1.0.0",
            "program": program,
        }
    )


PAYER = signer("payer", defaultValue={"kind": "payerValueNode"})


@pytest.mark.parametrize(
    "accounts",
    [
        (PAYER, signer("newAccount")),
        (signer("newAccount"), PAYER),
        (PAYER, signer("vote")),
        (signer("newMint"),),
        (signer("account"),),
    ],
)
def test_an_account_that_signs_for_itself_is_asked_for(
    accounts: tuple[dict[str, Any], ...],
) -> None:
    act = codama(*accounts).instruction("act")
    own = next(name for name in act.accounts if name != "payer")
    assert act.must_give() == [own]
    with pytest.raises(MissingAccount, match=own):
        act.build({}, {}, wallet=WALLET)
    built = act.build({}, {own: Keypair().pubkey()}, wallet=WALLET)
    assert (
        sum(meta.pubkey == WALLET.pubkey() for meta in built.accounts)
        == len(accounts) - 1
    )


@pytest.mark.parametrize(
    "name", ["source", "newOwner", "new_authority", "payer", "owner"]
)
def test_a_person_that_signs_is_the_wallet(name: str) -> None:
    built = codama(signer(name)).instruction("act").build({}, {}, wallet=WALLET)
    assert built.accounts[0].pubkey == WALLET.pubkey()
