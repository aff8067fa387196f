"""Real programs in LiteSVM (System, SPL Token, Associated Token), called through their IDLs: the effect is read
back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import load
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import MissingSigner, ProgramFailed, TransactionTooLarge
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.sync_client import SyncProgramClient

#: The Associated Token program's idempotent create, as an Anchor IDL could have it: the address and the rest fill
#: themselves in.
ATA_IDL: dict[str, Any] = {
    "address": str(ASSOCIATED_TOKEN_PROGRAM),
    "metadata": {"name": "ata", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "create_idempotent",
            "discriminator": [1],
            "accounts": [
                {"name": "funder", "writable": True, "signer": True},
                {"name": "associated_token", "writable": True},
                {"name": "owner"},
                {"name": "mint"},
                {"name": "system_program"},
                {"name": "token_program"},
            ],
            "args": [],
        }
    ],
}


class Bank:
    """A chain with a mint of 6 decimals whose authority is `wallet`."""

    def __init__(
        self, token_idl: Path, system_idl: Path, token_program: Pubkey = TOKEN_PROGRAM
    ) -> None:
        self.svm = SvmTransport()
        self.wallet = Keypair()
        self.svm.airdrop(self.wallet.pubkey(), 10**10)
        self.token_program = token_program
        self.system = self.client(load(system_idl))
        self.token = self.client(load(token_idl), program_id=token_program)
        self.ata = self.client(load(ATA_IDL))
        self.mint = Keypair()
        create = self.system.build(
            "createAccount",
            {"lamports": 10**7, "space": 82, "programAddress": token_program},
            {"newAccount": self.mint},
        )
        initialize = self.token.build(
            "initializeMint2",
            {"decimals": 6, "mintAuthority": self.wallet.pubkey()},
            {"mint": self.mint.pubkey()},
        )
        self.token.send([create, initialize], [self.mint])

    def client(self, program: Any, **options: Any) -> SyncProgramClient:
        return SyncProgramClient(
            ProgramClient(program, self.svm, wallet=self.wallet, **options)
        )

    def purse(self, owner: Pubkey, amount: int = 0) -> Pubkey:
        """The associated token account of *owner*, with newly minted tokens."""
        instructions = [
            self.ata.build(
                "create_idempotent", {}, {"owner": owner, "mint": self.mint.pubkey()}
            )
        ]
        key = instructions[0].accounts[1].pubkey
        if amount:
            accounts = {
                "mint": self.mint.pubkey(),
                "token": key,
                "mintAuthority": self.wallet.pubkey(),
            }
            instructions.append(
                self.token.build("mintTo", {"amount": amount}, accounts)
            )
        self.token.send(instructions)
        return key


@pytest.fixture(params=[TOKEN_PROGRAM, TOKEN_2022_PROGRAM], ids=["token", "token-2022"])
def bank(request: pytest.FixtureRequest, shared_idls: Path) -> Bank:
    return Bank(
        shared_idls / "codama__token.json",
        shared_idls / "codama__system.json",
        request.param,
    )


def test_a_mint_is_made_and_read_back(bank: Bank) -> None:
    mint = bank.token.fetch("mint", bank.mint.pubkey())
    assert (mint["decimals"], mint["supply"], mint["mintAuthority"]) == (
        6,
        0,
        bank.wallet.pubkey(),
    )
    assert mint["freezeAuthority"] is None


def test_associated_accounts_follow_the_mints_own_token_program(bank: Bank) -> None:
    owner = Pubkey.new_unique()
    key = bank.purse(owner, 500)
    assert key == associated_token(owner, bank.mint.pubkey(), bank.token_program)
    account = bank.token.fetch("token", key)
    assert (account["amount"], account["owner"], account["mint"]) == (
        500,
        owner,
        bank.mint.pubkey(),
    )


def test_a_transfer_moves_tokens(bank: Bank) -> None:
    source, target = (
        bank.purse(bank.wallet.pubkey(), 500),
        bank.purse(Pubkey.new_unique()),
    )
    built = bank.token.build(
        "transfer", {"amount": 200}, {"source": source, "destination": target}
    )
    assert [m.is_signer for m in built.accounts] == [False, False, True]
    simulation = bank.token.simulate(built, accounts=[target])
    assert simulation.ok
    after = simulation.accounts[0]
    assert after is not None
    assert (
        bank.token.program.decode_account(bytes(after.data), "token")[1]["amount"]
        == 200
    )
    assert bank.token.fetch("token", target)["amount"] == 0, (
        "a simulation changes nothing"
    )
    bank.token.send(built, compute_units="auto", priority_fee=1000)
    assert [a["amount"] for a in bank.token.fetch_many("token", [source, target])] == [
        300,
        200,
    ]


def test_a_multisigs_members_sign_instead_of_the_authority(bank: Bank) -> None:
    members = [Keypair(), Keypair()]
    built = bank.token.build(
        "transfer",
        {"amount": 1},
        {
            "source": Pubkey.new_unique(),
            "destination": Pubkey.new_unique(),
            "authority": Pubkey.new_unique(),
            "multiSigners": [m.pubkey() for m in members],
        },
    )
    assert [m.is_signer for m in built.accounts] == [False, False, False, True, True]
    with pytest.raises(MissingSigner) as caught:
        bank.token.send(built, [members[0]])
    assert caught.value.addresses == (str(members[1].pubkey()),)


def test_a_failure_has_the_token_programs_name_for_it(bank: Bank) -> None:
    source, target = (
        bank.purse(bank.wallet.pubkey(), 5),
        bank.purse(Pubkey.new_unique()),
    )
    built = bank.token.build(
        "transfer", {"amount": 6}, {"source": source, "destination": target}
    )
    with pytest.raises(ProgramFailed) as caught:
        bank.token.send(built)
    assert (caught.value.program_id, caught.value.code) == (str(bank.token_program), 1)
    assert caught.value.name.lower() == "insufficientfunds"
    assert caught.value.logs


def test_the_failing_program_of_a_cpi_is_told(bank: Bank) -> None:
    """The Associated Token program asks the token program, which does not know this mint."""
    built = bank.ata.build(
        "create_idempotent",
        {},
        {"owner": Pubkey.new_unique(), "mint": bank.wallet.pubkey()},
    )
    error = bank.ata.simulate(built).error
    assert error is not None
    assert error.stack[0] == str(ASSOCIATED_TOKEN_PROGRAM)
    assert error.program_id == error.stack[-1]


def test_an_unfunded_wallet_can_simulate_but_not_send(bank: Bank) -> None:
    poor = Keypair()
    client = SyncProgramClient(
        ProgramClient(bank.system.program, bank.svm, wallet=poor)
    )
    built = client.build(
        "transferSol", {"amount": 1}, {"destination": Pubkey.new_unique()}
    )
    error = client.simulate(built).error
    assert error is not None
    assert error.name.lower() == "resultwithnegativelamports"
    with pytest.raises(ProgramFailed, match="AccountNotFound"):
        client.send(built)


def test_a_transaction_lands_once_and_an_old_blockhash_does_not(bank: Bank) -> None:
    target = Pubkey.new_unique()
    built = bank.system.build("transferSol", {"amount": 10**6}, {"destination": target})
    unsigned = bank.system.transaction([built])
    signed = VersionedTransaction(unsigned.message, [bank.wallet])
    first = bank.system.send_transaction(signed)
    assert bank.system.send_transaction(signed) == first, (
        "handing in the same transaction again pays nothing twice"
    )
    account = run(bank.svm.get_accounts([target]))[0]
    assert account is not None
    assert account.lamports == 10**6
    another = bank.system.build(
        "transferSol", {"amount": 10**6 + 1}, {"destination": target}
    )
    stale = VersionedTransaction(
        bank.system.transaction([another]).message, [bank.wallet]
    )
    bank.svm.expire_blockhash()
    with pytest.raises(ProgramFailed, match="BlockhashNotFound"):
        bank.system.send_transaction(stale)


def test_a_batch_too_large_is_refused_before_it_is_sent(bank: Bank) -> None:
    batch = [
        bank.system.build(
            "transferSol", {"amount": 1}, {"destination": Pubkey.new_unique()}
        )
        for _ in range(40)
    ]
    with pytest.raises(TransactionTooLarge):
        bank.system.send(batch)


async def test_the_asynchronous_client_does_the_same(shared_idls: Path) -> None:
    svm, wallet, target = SvmTransport(), Keypair(), Pubkey.new_unique()
    svm.airdrop(wallet.pubkey(), 10**9)
    async with ProgramClient(
        load(shared_idls / "codama__system.json"), svm, wallet=wallet
    ) as client:
        built = await client.build(
            "transferSol", {"amount": 10**6}, {"destination": target}
        )
        assert (await client.simulate(built)).ok
        await client.send([built], signers=[wallet])
    assert svm.svm.get_balance(target) == 10**6
