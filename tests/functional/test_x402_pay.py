"""Exact payments of the committed x402 program: a receipt for each, never two payments under one id, and every refusal
by its name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer

from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.x402.chain import program as x402

from .x402_chain import ID, T0, X402Chain, extended, mint_data, spec, token_data


@pytest.fixture(params=[TOKEN_PROGRAM, TOKEN_2022_PROGRAM], ids=["token", "token-2022"])
def both(request: pytest.FixtureRequest) -> X402Chain:
    return X402Chain(request.param)


@pytest.fixture
def chain() -> X402Chain:
    return X402Chain()


def receipt_of(ix: Instruction) -> Pubkey:
    return ix.accounts[7].pubkey


def test_a_payment_moves_the_amount_and_leaves_a_receipt(both: X402Chain) -> None:
    ix = both.pay()
    outcome = both.ok(ix, signers=[both.relay, both.payer])
    assert both.amount(both.ata(both.payee.pubkey())) == 1000
    assert both.amount(both.ata(both.payer.pubkey())) == 999_000
    receipt = both.state(receipt_of(ix))
    ident = x402.payment_id(T0 + 60, "invoice 1")
    assert bytes(receipt.pop("payment_id")) == ident
    assert bytes(receipt.pop("call_hash")) == bytes(range(32))
    assert receipt == {
        "bump": Pubkey.find_program_address(
            [
                b"receipt",
                bytes(both.payer.pubkey()),
                bytes(both.payee.pubkey()),
                bytes(both.mint),
                ident,
            ],
            ID,
        )[1],
        "payer": both.payer.pubkey(),
        "payee": both.payee.pubkey(),
        "mint": both.mint,
        "rent_payer": both.relay.pubkey(),
        "amount": 1000,
        "paid_at": T0,
        "paid_slot": both.slot,
        "expires_at": T0 + 60,
    }
    [(name, event)] = both.events(outcome)
    assert name == "Paid"
    assert (event["amount"], event["receipt"], event["payer"]) == (
        1000,
        receipt_of(ix),
        both.payer.pubkey(),
    )


def test_a_retry_is_told_that_it_is_paid_and_gets_the_first_receipt(
    both: X402Chain,
) -> None:
    ix = both.pay()
    both.ok(ix, signers=[both.relay, both.payer])
    stored = both.data(receipt_of(ix))
    for when in (T0, T0 + 59, T0 + 10_000):  # also after the expiry
        both.set_time(when)
        again = both.refused("AlreadyPaid", ix, signers=[both.relay, both.payer])
        assert bytes(again.meta().return_data().data) == stored
    assert both.amount(both.ata(both.payee.pubkey())) == 1000
    assert spec().decode_account(stored or b"", "Receipt")[1]["amount"] == 1000


@pytest.mark.parametrize("changed", [{"amount": 1001}, {"call_hash": bytes(32)}])
def test_an_id_cannot_be_used_for_something_else(
    chain: X402Chain, changed: dict[str, Any]
) -> None:
    chain.ok(chain.pay(), signers=[chain.relay, chain.payer])
    chain.refused(
        "PaymentIdReused", chain.pay(**changed), signers=[chain.relay, chain.payer]
    )


def test_a_delegate_of_another_mint_does_not_take_the_receipts_address(
    both: X402Chain,
) -> None:
    """An agent may spend a worthless token of the payer. It pays one under an id that the payer is about to use."""
    agent = both.new_wallet()
    worthless = both.put(mint_data(), both.token_program)
    allowed: dict[str, Any] = {"delegate": agent.pubkey(), "delegated": 5}
    both.purse(both.payer.pubkey(), 5, worthless, **allowed)
    both.purse(both.payee.pubkey(), 0, worthless)
    both.ok(
        both.pay(signer=agent, mint=worthless, amount=1), signers=[both.relay, agent]
    )
    both.ok(both.pay(), signers=[both.relay, both.payer])
    assert both.amount(both.ata(both.payee.pubkey())) == 1000


def test_two_payments_with_one_id_in_one_transaction(chain: X402Chain) -> None:
    ix = chain.pay()
    chain.refused("AlreadyPaid", ix, ix, signers=[chain.relay, chain.payer])


def test_a_stranger_cannot_use_up_an_id(chain: X402Chain) -> None:
    """Receipts stand under payer and payee too: a payment of another payer under the same id is another payment."""
    other = chain.new_wallet()
    chain.purse(other.pubkey(), 5)
    chain.ok(
        chain.pay(signer=other, payer=other.pubkey(), amount=1),
        signers=[chain.relay, other],
    )
    chain.ok(chain.pay(), signers=[chain.relay, chain.payer])
    assert chain.amount(chain.ata(chain.payee.pubkey())) == 1001


def test_the_owner_pays_the_rent_too(chain: X402Chain) -> None:
    chain.ok(chain.pay(rent_payer=chain.payer), signers=[chain.payer])
    assert chain.amount(chain.ata(chain.payee.pubkey())) == 1000


def test_payment_and_the_call_it_is_for_stand_or_fall_together(
    chain: X402Chain,
) -> None:
    too_much = transfer(
        TransferParams(
            from_pubkey=chain.payer.pubkey(),
            to_pubkey=chain.payee.pubkey(),
            lamports=2**63,
        )
    )
    pay = chain.pay()
    before = chain.amount(chain.ata(chain.payer.pubkey()))
    chain.run(pay, too_much, signers=[chain.relay, chain.payer])
    assert chain.amount(chain.ata(chain.payer.pubkey())) == before
    assert chain.data(receipt_of(pay)) is None
    little = transfer(
        TransferParams(
            from_pubkey=chain.payer.pubkey(), to_pubkey=chain.payee.pubkey(), lamports=1
        )
    )
    chain.ok(pay, little, signers=[chain.relay, chain.payer])


class TestDelegates:
    def test_an_agent_pays_within_its_allowance(self, both: X402Chain) -> None:
        agent = both.new_wallet()
        owner = both.payer.pubkey()
        both.purse(owner, 5000, delegate=agent.pubkey(), delegated=1500)
        ix = both.pay(signer=agent)
        both.ok(ix, signers=[both.relay, agent])
        assert both.delegated(both.ata(owner)) == (agent.pubkey(), 500)
        assert both.state(receipt_of(ix))["payer"] == owner
        # the owner's own retry finds the agent's payment
        both.refused("AlreadyPaid", both.pay(), signers=[both.relay, both.payer])
        second = x402.payment_id(T0 + 60, "invoice 2")
        both.refused(
            "AllowanceTooSmall",
            both.pay(signer=agent, payment_id=second),
            signers=[both.relay, agent],
        )

    def test_a_stranger_is_no_delegate(self, chain: X402Chain) -> None:
        thief = chain.new_wallet()
        chain.refused(
            "NotOwnerNorDelegate", chain.pay(signer=thief), signers=[chain.relay, thief]
        )
        chain.purse(
            chain.payer.pubkey(), 5000, delegate=chain.relay.pubkey(), delegated=5000
        )
        chain.refused(
            "NotOwnerNorDelegate", chain.pay(signer=thief), signers=[chain.relay, thief]
        )

    def test_a_revoked_delegate(self, chain: X402Chain) -> None:
        agent = chain.new_wallet()
        chain.purse(chain.payer.pubkey(), 5000, delegate=agent.pubkey(), delegated=0)
        chain.refused(
            "AllowanceTooSmall", chain.pay(signer=agent), signers=[chain.relay, agent]
        )


Changed = Callable[[X402Chain], dict[str, Any]]


def pocket(chain: X402Chain) -> Pubkey:
    """A stranger's token account."""
    return chain.purse(chain.new_wallet().pubkey(), 0)


def loose(chain: X402Chain) -> Pubkey:
    """A token account of the payee that is not the associated one."""
    return chain.put(
        token_data(chain.mint, chain.payee.pubkey(), 0), chain.token_program
    )


def other_tokens(chain: X402Chain) -> Pubkey:
    """The payer's tokens of another mint."""
    mint = chain.put(mint_data(), chain.token_program)
    return chain.purse(chain.payer.pubkey(), 9, mint)


def other_receipt(chain: X402Chain) -> Pubkey:
    return chain.receipt(bytes(32))


#: (what replaces an account of a payment, the error)
WRONG_ACCOUNTS: list[tuple[Changed, str]] = [
    (lambda c: {"destination": pocket(c)}, "ConstraintTokenOwner"),
    (lambda c: {"destination": loose(c)}, "ConstraintAssociated"),
    (lambda c: {"source": other_tokens(c)}, "ConstraintTokenMint"),
    (lambda c: {"source": pocket(c)}, "ConstraintTokenOwner"),
    (lambda c: {"receipt": other_receipt(c)}, "ReceiptAddressMismatch"),
    (lambda c: {"token_program": ID}, "WrongTokenProgram"),
    (lambda c: {"system_program": ID}, "InvalidProgramId"),
]


class TestRefused:
    @pytest.mark.parametrize(
        ("error", "changed"),
        [
            ("ZeroAmount", {"amount": 0}),
            ("BalanceTooSmall", {"amount": 1_000_001}),
            ("BalanceTooSmall", {"amount": 2**64 - 1}),
            ("PaymentExpired", {"expires_at": T0}),
            ("PaymentExpired", {"expires_at": -(2**63)}),
            ("ExpiryTooFar", {"expires_at": T0 + 2_592_001}),
            ("ExpiryTooFar", {"expires_at": 2**63 - 1}),
            (
                "PaymentIdWithoutExpiry",
                {"payment_id": x402.payment_id(T0 + 61, "invoice 1")},
            ),
            ("PaymentIdWithoutExpiry", {"payment_id": bytes(32)}),
        ],
    )
    def test_arguments(
        self, chain: X402Chain, error: str, changed: dict[str, Any]
    ) -> None:
        chain.refused(error, chain.pay(**changed), signers=[chain.relay, chain.payer])

    def test_the_very_second_of_expiry(self, chain: X402Chain) -> None:
        ix = chain.pay(expires_at=T0 + 60)
        chain.set_time(T0 + 60)
        chain.refused("PaymentExpired", ix, signers=[chain.relay, chain.payer])
        chain.set_time(T0 + 59)
        chain.ok(ix, signers=[chain.relay, chain.payer])

    def test_oneself(self, chain: X402Chain) -> None:
        # one account twice is seen before; a second account of the payer is no associated one
        chain.refused(
            "ConstraintDuplicateMutableAccount",
            chain.pay(payee=chain.payer.pubkey()),
            signers=[chain.relay, chain.payer],
        )
        second = chain.put(
            token_data(chain.mint, chain.payer.pubkey(), 5000), chain.token_program
        )
        chain.refused(
            "SelfPayment",
            chain.pay(payee=chain.payer.pubkey(), source=second),
            signers=[chain.relay, chain.payer],
        )

    @pytest.mark.parametrize(("changed", "error"), WRONG_ACCOUNTS)
    def test_accounts(self, chain: X402Chain, changed: Changed, error: str) -> None:
        call = chain.pay(**changed(chain))
        chain.refused(error, call, signers=[chain.relay, chain.payer])

    def test_a_mint_of_the_other_token_program(self, chain: X402Chain) -> None:
        mint = chain.put(mint_data(), TOKEN_2022_PROGRAM)
        chain.refused(
            "AccountOwnedByWrongProgram",
            chain.pay(mint=mint),
            signers=[chain.relay, chain.payer],
        )

    def test_look_alikes(self, chain: X402Chain) -> None:
        """Accounts with the right bytes that another program owns, and a token account that claims to be a mint."""
        signers = [chain.relay, chain.payer]
        fake = chain.put(token_data(chain.mint, chain.payer.pubkey(), 10**9), ID)
        chain.refused(
            "AccountOwnedByWrongProgram", chain.pay(source=fake), signers=signers
        )
        fake_mint = chain.put(mint_data(), ID)
        chain.refused(
            "AccountOwnedByWrongProgram", chain.pay(mint=fake_mint), signers=signers
        )
        chain.refused(
            "AccountDidNotDeserialize",
            chain.pay(mint=chain.ata(chain.payer.pubkey())),
            signers=signers,
        )
        chain.refused(
            "AccountDidNotDeserialize", chain.pay(source=chain.mint), signers=signers
        )

    def test_frozen_accounts(self, chain: X402Chain) -> None:
        chain.purse(chain.payer.pubkey(), 5000, state=2)
        chain.refused("AccountFrozen", chain.pay(), signers=[chain.relay, chain.payer])
        chain.purse(chain.payer.pubkey(), 5000)
        chain.purse(chain.payee.pubkey(), 0, state=2)
        chain.refused("AccountFrozen", chain.pay(), signers=[chain.relay, chain.payer])

    def test_signatures(self, chain: X402Chain) -> None:
        ix = chain.pay()
        for unsigned, signer in ((0, chain.relay), (1, chain.payer)):
            metas = [
                AccountMeta(m.pubkey, m.is_signer and i != unsigned, m.is_writable)
                for i, m in enumerate(ix.accounts)
            ]
            call = Instruction(ix.program_id, bytes(ix.data), metas)
            chain.refused(
                "AccountNotSigner", call, signers=[chain.new_wallet(), signer]
            )

    def test_the_payees_account_must_exist(self, chain: X402Chain) -> None:
        nobody = Keypair().pubkey()
        chain.refused(
            "AccountNotInitialized",
            chain.pay(payee=nobody),
            signers=[chain.relay, chain.payer],
        )

    def test_data_of_another_length(self, chain: X402Chain) -> None:
        ix = chain.pay()
        for data in (bytes(ix.data)[:-1], bytes(ix.data) + b"\0"):
            cut = Instruction(ix.program_id, data, list(ix.accounts))
            chain.refused(
                "InstructionDidNotDeserialize", cut, signers=[chain.relay, chain.payer]
            )


@pytest.mark.parametrize("lamports", [1, 10**9])
def test_lamports_at_the_receipts_address_hinder_nobody(
    chain: X402Chain, lamports: int
) -> None:
    ix = chain.pay()
    chain.svm.set_account(receipt_of(ix), Account(lamports, b"", Pubkey.default()))
    chain.ok(ix, signers=[chain.relay, chain.payer])
    assert chain.state(receipt_of(ix))["amount"] == 1000


class TestCloseReceipt:
    def test_after_its_time_the_rent_goes_back_and_the_id_stays_used(
        self, chain: X402Chain
    ) -> None:
        ix = chain.pay()
        chain.ok(ix, signers=[chain.relay, chain.payer])
        receipt = receipt_of(ix)
        close = chain.ix(
            "close_receipt", {}, {"receipt": receipt, "rent_payer": chain.relay}
        )
        stranger = chain.new_wallet()
        chain.set_time(T0 + 60 + 604_800 - 1)
        chain.refused("ReceiptRetained", close, signers=[stranger])
        chain.set_time(T0 + 60 + 604_800)
        thief = chain.ix(
            "close_receipt", {}, {"receipt": receipt, "rent_payer": stranger}
        )
        chain.refused("NotReceiptRentPayer", thief, signers=[stranger])
        before = chain.svm.get_balance(chain.relay.pubkey()) or 0
        rent = chain.svm.get_balance(receipt) or 0
        chain.ok(close, signers=[stranger])
        assert chain.data(receipt) is None
        assert chain.svm.get_balance(chain.relay.pubkey()) == before + rent
        # the same id can never be paid again, since its expiry stands in it
        chain.refused("PaymentExpired", ix, signers=[chain.relay, chain.payer])
        # nor can a closed receipt be closed again
        chain.refused("AccountNotInitialized", close, signers=[stranger])

    def test_another_account_is_no_receipt(self, chain: X402Chain) -> None:
        plan = chain.put(b"\x20" + bytes(98), ID)
        close = chain.ix(
            "close_receipt", {}, {"receipt": plan, "rent_payer": chain.relay}
        )
        chain.refused("AccountDiscriminatorMismatch", close, signers=[chain.relay])
        fake = chain.put(b"\x10" + bytes(225), TOKEN_PROGRAM)
        close = chain.ix(
            "close_receipt", {}, {"receipt": fake, "rent_payer": chain.relay}
        )
        chain.refused("AccountOwnedByWrongProgram", close, signers=[chain.relay])


#: Token-2022 mint extensions by number: (value, what a payment with it says: None goes through)
EXTENSIONS: dict[str, tuple[int, bytes, str | None]] = {
    "transfer fee of 0": (1, bytes(108), None),
    "mint close authority": (3, bytes(32), None),
    "confidential transfer": (4, bytes(65), None),
    "default account state": (6, b"\1", None),
    "non-transferable": (9, b"", "UnsupportedMintExtension"),
    "interest-bearing": (10, bytes(52), None),
    "permanent delegate": (12, b"\7" * 32, None),
    "transfer hook with a program": (
        14,
        bytes(32) + b"\7" * 32,
        "UnsupportedMintExtension",
    ),
    "transfer hook without one": (14, bytes(64), None),
    "confidential transfer fee": (16, bytes(129), None),
    "metadata pointer": (18, bytes(64), None),
    "group pointer": (20, bytes(64), None),
    "scaled UI amount": (25, bytes(56), None),
    "pausable": (26, bytes(33), None),
    "unknown": (999, bytes(8), "UnsupportedMintExtension"),
}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_mint_extensions_are_taken_or_refused_on_purpose(name: str) -> None:
    chain = X402Chain(TOKEN_2022_PROGRAM)
    number, value, error = EXTENSIONS[name]
    chain.put(
        extended(mint_data(), 1, [(number, value)]), TOKEN_2022_PROGRAM, chain.mint
    )
    account_side = {1: [(2, bytes(8))], 14: [(15, b"\0")], 26: [(27, b"")]}.get(
        number, []
    )
    for owner, amount in ((chain.payer.pubkey(), 5000), (chain.payee.pubkey(), 0)):
        data = token_data(chain.mint, owner, amount)
        data = extended(data, 2, [(7, b""), *account_side])
        chain.put(data, TOKEN_2022_PROGRAM, chain.ata(owner))
    if error is None:
        chain.ok(chain.pay(), signers=[chain.relay, chain.payer])
        assert chain.amount(chain.ata(chain.payee.pubkey())) == 1000
    else:
        chain.refused(error, chain.pay(), signers=[chain.relay, chain.payer])


def test_a_fee_that_the_payee_would_bear_is_refused() -> None:
    chain = X402Chain(TOKEN_2022_PROGRAM)
    fee = struct.pack("<QQH", 0, 10**9, 100)  # epoch, at most, hundredths of a percent
    value = bytes(32) + bytes(32) + bytes(8) + fee + fee
    chain.put(extended(mint_data(), 1, [(1, value)]), TOKEN_2022_PROGRAM, chain.mint)
    for owner, amount in ((chain.payer.pubkey(), 5000), (chain.payee.pubkey(), 0)):
        data = extended(token_data(chain.mint, owner, amount), 2, [(2, bytes(8))])
        chain.put(data, TOKEN_2022_PROGRAM, chain.ata(owner))
    chain.refused("FeeTaken", chain.pay(), signers=[chain.relay, chain.payer])
    # so small a payment bears no fee: 1 % of 1, rounded up, is 1; of nothing it could not be
    chain.refused("FeeTaken", chain.pay(amount=1), signers=[chain.relay, chain.payer])


def test_the_hash_of_the_call_is_what_the_caller_says(chain: X402Chain) -> None:
    call = sha256(b'{"tool":"weather","city":"Bern"}').digest()
    ix = chain.pay(call_hash=call)
    chain.ok(ix, signers=[chain.relay, chain.payer])
    assert bytes(chain.state(receipt_of(ix))["call_hash"]) == call
