"""The bytes and addresses that callers of the x402 program make, against the audited program's layouts."""

from __future__ import annotations

import struct
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature

from mcpsol_py.x402.chain import program as x402

I64 = st.integers(-(2**63), 2**63 - 1)
U64 = st.integers(0, 2**64 - 1)
KEYS = st.binary(min_size=32, max_size=32).map(Pubkey)


@given(I64, st.binary(max_size=80))
def test_a_payment_id_carries_its_expiry_and_names_its_payment(
    expires: int, what: bytes
) -> None:
    ident = x402.payment_id(expires, what)
    assert len(ident) == 32
    assert struct.unpack_from(">q", ident) == (expires,)
    assert ident[8:] == sha256(what).digest()[:24]
    assert x402.payment_id(expires, what + b"x") != ident


@given(KEYS, U64, I64)
def test_a_voucher_is_fifty_bytes(
    channel: Pubkey, cumulative: int, expires: int
) -> None:
    data = x402.voucher_bytes(channel, cumulative, expires)
    assert (len(data), data[:2], data[2:34]) == (50, b"\x56\x01", bytes(channel))
    assert struct.unpack_from("<Qq", data, 34) == (cumulative, expires)


@given(KEYS, U64)
def test_its_proof_has_key_signature_and_message_at_16_48_and_112(
    channel: Pubkey, cumulative: int
) -> None:
    signer = Keypair()
    ix = x402.signed_voucher(signer, channel, cumulative)
    data = bytes(ix.data)
    assert str(ix.program_id) == "Ed25519SigVerify111111111111111111111111111"
    assert (len(data), ix.accounts, data[:2]) == (162, [], b"\1\0")
    signature_at, one, key_at, two, message_at, size, three = struct.unpack_from(
        "<7H", data, 2
    )
    assert (signature_at, key_at, message_at, size) == (48, 16, 112, 50)
    assert (one, two, three) == (0xFFFF,) * 3
    assert Signature(data[48:112]).verify(signer.pubkey(), data[112:])
    assert data[16:48] == bytes(signer.pubkey())
    assert data[112:] == x402.voucher_bytes(channel, cumulative)


def test_addresses_differ_by_every_seed() -> None:
    a, b, c, d = (Pubkey(bytes([n]) * 32) for n in (1, 2, 3, 4))
    assert (
        x402.channel_address(a, b, c, d, 7, 9)
        == Pubkey.find_program_address(
            [
                b"channel",
                bytes(a),
                bytes(b),
                bytes(c),
                bytes(d),
                (7).to_bytes(8, "little"),
                (9).to_bytes(8, "little"),
            ],
            x402.PROGRAM_ID,
        )[0]
    )
    made = {
        x402.channel_address(a, b, c, d, 7, 9),
        x402.channel_address(b, a, c, d, 7, 9),
        x402.channel_address(a, b, c, d, 8, 9),
        x402.channel_address(a, b, c, d, 7, 10),
        x402.channel_address(a, b, c, d, 7, 9, a),
        x402.receipt_address(a, b, c, bytes(32)),
        x402.receipt_address(b, a, c, bytes(32)),
        x402.receipt_address(a, b, d, bytes(32)),
        x402.plan_address(a, 1),
        x402.plan_address(a, 2),
        x402.subscription_address(a, b),
        x402.subscription_address(b, a),
        x402.delegate_address(a),
        x402.event_authority(),
    }
    assert len(made) == 14


def test_a_distribution_is_hashed_as_its_list_stands_in_instruction_data() -> None:
    a, b = Pubkey(bytes([1]) * 32), Pubkey(bytes([2]) * 32)
    assert x402.distribution_hash([]) == sha256(bytes(4)).digest()
    data = b"\2\0\0\0" + bytes(a) + b"\xe8\x03" + bytes(b) + b"\1\0"
    assert x402.distribution_hash([(a, 1_000), (b, 1)]) == sha256(data).digest()
