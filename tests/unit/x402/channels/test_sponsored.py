"""What a sponsor signs: the one instruction that the terms give, and nothing beside it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.channels.program import OPEN, OURS, Parties
from mcpsol_py.x402.channels.sponsored import (
    Caps,
    SponsoredTransaction,
    build_setup,
    read_sponsored,
)
from mcpsol_py.x402.exact.transaction import (
    COMPUTE_BUDGET,
    LIGHTHOUSE,
    MEMO,
    compute_unit_limit,
    compute_unit_price,
    memo,
)
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair

PAYER, SPONSOR, OTHER = keypair(1), keypair(2), keypair(9)
PARTIES = Parties(
    payer=PAYER.pubkey(),
    sponsor=SPONSOR.pubkey(),
    mint=USDC,
    signer=keypair(4).pubkey(),
    salt=7,
    open_slot=1_000,
    pay_to=keypair(3).pubkey(),
    token_program=TOKEN_PROGRAM,
)
BLOCKHASH = str(Pubkey(bytes([5] * 32)))
CODE = "invalid_setup"
IX = OURS.open(PARTIES, 10_000, 900)
GUARD = Instruction(LIGHTHOUSE, b"\0", [])


def read(text: object, **options: Any) -> SponsoredTransaction:
    return read_sponsored(
        text,
        code=CODE,
        program_id=OURS.program_id,
        discriminator=OPEN,
        accounts=OURS.open_accounts(PARTIES),
        payer=PAYER.pubkey(),
        fee_payer=SPONSOR.pubkey(),
        **{"note": None, "worth": (str(USDC), 10_000), **options},
    )


def wire(
    *instructions: Instruction,
    legacy: bool = False,
    payer: Pubkey | None = None,
    signers: tuple[Keypair, ...] = (PAYER,),
) -> str:

    fee_payer, blockhash = payer or SPONSOR.pubkey(), Hash.from_string(BLOCKHASH)
    message: Message | MessageV0
    if legacy:
        message = Message.new_with_blockhash(list(instructions), fee_payer, blockhash)
    else:
        message = MessageV0.try_compile(fee_payer, list(instructions), [], blockhash)
    signed = {k.pubkey(): k.sign_message(to_bytes_versioned(message)) for k in signers}
    keys = message.account_keys[: message.header.num_required_signatures]
    slots = [signed.get(k, Signature.default()) for k in keys]
    return base64.b64encode(
        bytes(VersionedTransaction.populate(message, slots))
    ).decode()


def changed(change: Callable[[list[AccountMeta]], None]) -> Instruction:
    """The opening with other accounts."""
    accounts = list(IX.accounts)
    change(accounts)
    return Instruction(IX.program_id, bytes(IX.data), accounts)


def at(
    index: int, key: Pubkey, signer: bool = False, writable: bool = False
) -> Callable[[list[AccountMeta]], None]:
    return lambda accounts: accounts.__setitem__(
        index, AccountMeta(key, signer, writable)
    )


LIMIT, PRICE = compute_unit_limit(90_000), compute_unit_price(1)
TAKEN = {
    "as we build it": lambda: build_setup(
        IX, PAYER, SPONSOR.pubkey(), BLOCKHASH, units=90_000, note=None
    ),
    "legacy": lambda: wire(LIMIT, PRICE, IX, memo(None), legacy=True),
    "no compute budget": lambda: wire(IX),
    "a limit alone": lambda: wire(LIMIT, IX),
    "a price alone": lambda: wire(PRICE, IX),
    "three guards and a memo": lambda: wire(
        LIMIT, PRICE, IX, GUARD, memo(None), GUARD, GUARD
    ),
    "the sponsor has signed": lambda: wire(IX, signers=(PAYER, SPONSOR)),
}
REFUSED: dict[str, Callable[[], str]] = {
    "price before limit": lambda: wire(PRICE, LIMIT, IX),
    "two limits": lambda: wire(LIMIT, LIMIT, IX),
    "a budget behind": lambda: wire(IX, LIMIT),
    "another budget instruction": lambda: wire(
        Instruction(COMPUTE_BUDGET, b"\1" + bytes(4), []), IX
    ),
    "a limit cut short": lambda: wire(Instruction(COMPUTE_BUDGET, b"\2\0\0", []), IX),
    "too many units": lambda: wire(compute_unit_limit(400_001), IX),
    "too high a price": lambda: wire(compute_unit_price(5_000_001), IX),
    "no opening": lambda: wire(LIMIT, PRICE, memo(None)),
    "two openings": lambda: wire(IX, IX),
    "another instruction of the program": lambda: wire(
        OURS.top_up(PARTIES, 5), memo(None)
    ),
    "another program's": lambda: wire(
        Instruction(OTHER.pubkey(), bytes(IX.data), IX.accounts)
    ),
    "a transfer behind": lambda: wire(
        IX, Instruction(TOKEN_PROGRAM, b"\3" + bytes(8), [])
    ),
    "four guards": lambda: wire(IX, *[GUARD] * 4),
    "two memos": lambda: wire(IX, memo("a"), memo("b")),
    "the sponsor in a memo": lambda: wire(
        IX, Instruction(MEMO, b"x", [AccountMeta(SPONSOR.pubkey(), True, True)])
    ),
    "the sponsor in a guard": lambda: wire(
        IX, Instruction(LIGHTHOUSE, b"", [AccountMeta(SPONSOR.pubkey(), False, True)])
    ),
    "a third signer": lambda: wire(
        IX,
        Instruction(MEMO, b"x", [AccountMeta(OTHER.pubkey(), True, False)]),
        signers=(PAYER, OTHER),
    ),
    "a writable stranger": lambda: wire(
        IX, Instruction(MEMO, b"x", [AccountMeta(OTHER.pubkey(), False, True)])
    ),
    "a writable mint": lambda: wire(changed(at(3, USDC, writable=True))),
    "another payee": lambda: wire(changed(at(2, OTHER.pubkey()))),
    "another rent payer": lambda: wire(
        changed(at(1, PAYER.pubkey(), signer=True, writable=True))
    ),
    "another escrow": lambda: wire(changed(at(7, OTHER.pubkey(), writable=True))),
    "one account more": lambda: wire(
        changed(lambda a: a.append(AccountMeta(OTHER.pubkey(), False, False)))
    ),
    "one account less": lambda: wire(changed(lambda a: a.__delitem__(-1))),
    "paid by the payer": lambda: wire(IX, payer=PAYER.pubkey()),
    "not signed": lambda: wire(IX, signers=()),
    "signed by another": lambda: resigned(IX),
}


def resigned(instruction: Instruction) -> str:
    """The payer's slot holds somebody else's signature."""
    transaction = VersionedTransaction.from_bytes(base64.b64decode(wire(instruction)))
    forged = OTHER.sign_message(to_bytes_versioned(transaction.message))
    return base64.b64encode(
        bytes(
            VersionedTransaction.populate(
                transaction.message, [Signature.default(), forged]
            )
        )
    ).decode()


@pytest.mark.parametrize("name", sorted(TAKEN))
def test_what_is_signed(name: str) -> None:
    found = read(TAKEN[name]())
    assert (found.payer, found.fee_payer) == (
        str(PAYER.pubkey()),
        str(SPONSOR.pubkey()),
    )
    assert found.data == bytes(IX.data)[1:]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_signed(name: str) -> None:
    with pytest.raises(PaymentError) as caught:
        read(REFUSED[name]())
    assert caught.value.code == CODE
    assert len(str(caught.value)) < 300


def test_a_memo_that_is_asked_for() -> None:
    assert read(wire(IX, memo("inv-1")), note="inv-1").memos == (b"inv-1",)


def test_a_binding_memo_comes_beside_another() -> None:
    bound = wire(IX, memo(None), memo("bound"))
    assert len(read(bound, binding="bound", note_required=True).memos) == 2


NOTED = {"note": "inv-1"}
BOUND = {"binding": "bound", "note_required": True}


@pytest.mark.parametrize(
    ("memos", "options"),
    [
        ([], NOTED),
        (["inv-2"], NOTED),
        (["inv-1", "inv-1"], NOTED),
        ([None], BOUND),
        (["bound"], BOUND),
        (["bound", "bound"], BOUND),
        (["short", "bound"], BOUND),
    ],
)
def test_other_memos_are_refused(
    memos: list[str | None], options: dict[str, Any]
) -> None:
    with pytest.raises(PaymentError):
        read(wire(IX, *map(memo, memos)), **options)


def test_a_sponsor_may_be_stricter() -> None:
    with pytest.raises(PaymentError):
        read(wire(LIMIT, IX), caps=Caps(compute_units=89_999))


def test_a_channel_that_costs_its_sponsor_too_much_is_refused() -> None:
    dear = [compute_unit_limit(400_000), compute_unit_price(5_000_000)]
    with pytest.raises(PaymentError, match="a fee of 2,010,000 lamports"):
        read(wire(*dear, IX))
    assert (
        read(wire(*dear, IX), worth=(str(USDC), 2_000_000)).most_lamports == 2_500_000
    )


GOOD = base64.b64decode(wire(LIMIT, PRICE, IX, memo("inv-1")))


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_no_altered_byte_is_signed(position: int, value: int) -> None:
    """Within the payer's signature or the message any change is found; the sponsor's empty slot must stay empty."""
    altered = bytearray(GOOD)
    altered[position] ^= value
    with pytest.raises(PaymentError):
        read(base64.b64encode(bytes(altered)).decode(), note="inv-1")


@given(
    st.one_of(st.binary(max_size=1500), st.text(max_size=200), st.none(), st.integers())
)
def test_what_is_no_transaction(junk: object) -> None:
    with pytest.raises(PaymentError):
        read(base64.b64encode(junk).decode() if isinstance(junk, bytes) else junk)
