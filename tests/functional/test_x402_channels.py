"""Channels of the committed x402 program: open, vouchers, distribution, both ways to close, every attack by the name of
its refusal. The last class drives the program by the audited program's own IDL."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction_metadata import FailedTransactionMetadata

from mcpsol_py import load
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.x402.chain import program as x402

from .x402_chain import ID, T0, X402Chain, extended, mint_data, token_data

INSTRUCTIONS = Pubkey.from_string("Sysvar1nstructions1111111111111111111111111")
WINDOW = 1500


@pytest.fixture(params=[TOKEN_PROGRAM, TOKEN_2022_PROGRAM], ids=["token", "token-2022"])
def both(request: pytest.FixtureRequest) -> X402Chain:
    chain = X402Chain(request.param)
    chain.set_time(T0, 10_000)
    return chain


@pytest.fixture
def chain() -> X402Chain:
    chain = X402Chain()
    chain.set_time(T0, 10_000)
    return chain


def voucher(
    chain: X402Chain,
    channel: Pubkey,
    cumulative: int,
    expires_at: int = 0,
    signer: Keypair | None = None,
) -> Instruction:
    return x402.signed_voucher(signer or chain.payer, channel, cumulative, expires_at)


def settled(chain: X402Chain, channel: Pubkey, cumulative: int) -> None:
    chain.ok(
        voucher(chain, channel, cumulative),
        chain.settle(channel),
        signers=[chain.relay],
    )


class TestLife:
    def test_open_three_vouchers_seal_distribute_reclaim(self, both: X402Chain) -> None:
        friend = Keypair().pubkey()
        both.purse(friend, 0)
        entries = [(friend, 2_500)]
        ix, channel = both.open(recipients=entries)
        outcome = both.ok(ix, signers=[both.relay, both.payer])
        assert both.events(outcome) == [
            ("Opened", {"channel": channel, "open_slot": 10_000})
        ]
        data = both.data(channel)
        assert data is not None
        bump = Pubkey.find_program_address(
            [
                b"channel",
                *(
                    bytes(k)
                    for k in (
                        both.payer.pubkey(),
                        both.payee.pubkey(),
                        both.mint,
                        both.payer.pubkey(),
                    )
                ),
                struct.pack("<Q", 7),
                struct.pack("<Q", 10_000),
            ],
            ID,
        )[1]
        # the offsets of the audited program's account
        assert data == (
            struct.pack("<BBBBQQQQqqI", 1, 1, bump, 0, 7, 10_000, 0, 0, 0, 0, 900)
            + x402.distribution_hash(entries)
            + bytes(both.payer.pubkey())
            + bytes(both.payee.pubkey())
            + bytes(both.payer.pubkey())
            + bytes(both.mint)
            + bytes(both.relay.pubkey())
            + struct.pack("<Q", 10_000)
        )
        assert len(data) == 256
        escrow = both.ata(channel)
        assert both.amount(escrow) == 10_000

        for cumulative in (1_000, 2_500, 4_001):
            outcome = both.ok(
                voucher(both, channel, cumulative),
                both.settle(channel),
                signers=[both.relay],
            )
            assert both.events(outcome) == [
                ("Settled", {"channel": channel, "settled": cumulative})
            ]
        both.ok(both.distribute(channel, entries), signers=[both.relay])
        assert both.amount(both.ata(friend)) == 1_000  # a quarter, rounded down
        assert both.amount(both.ata(both.payee.pubkey())) == 3_000
        both.refused(
            "NothingToDistribute",
            both.distribute(channel, entries),
            signers=[both.relay],
        )

        both.ok(
            voucher(both, channel, 4_004),
            both.settle_and_seal(channel, 1),
            signers=[both.relay, both.payee],
        )
        report = both.view("channel_status", {}, {"channel": channel})
        assert report == {
            "state": "Sealed",
            "deposit": 10_000,
            "settled": 4_004,
            "undistributed": 3,
            "unspent": 5_996,
            "seal_at": 0,
            "reclaim_slot": 11_501,
        }
        before = both.svm.get_balance(both.relay.pubkey()) or 0
        outcome = both.ok(both.distribute(channel, entries), signers=[both.payee])
        assert both.amount(both.ata(friend)) == 1_001
        assert both.amount(both.ata(both.payee.pubkey())) == 3_003
        assert both.amount(both.ata(both.payer.pubkey())) == 1_000_000 - 4_004
        assert both.data(escrow) is None
        assert (
            both.svm.get_balance(both.relay.pubkey()) or 0
        ) > before  # the escrow's rent
        assert both.state(channel)["status"] == 3

        both.refused(
            "ChannelCloseTooEarly", both.reclaim(channel), signers=[both.payee]
        )
        both.set_time(T0, 10_000 + WINDOW)
        both.refused(
            "ChannelCloseTooEarly", both.reclaim(channel), signers=[both.payee]
        )
        both.set_time(T0, 10_000 + WINDOW + 1)
        both.ok(both.reclaim(channel), signers=[both.payee])
        assert both.data(channel) is None

    def test_dust_of_division_goes_to_the_treasury_at_the_end(
        self, chain: X402Chain
    ) -> None:
        friends = [Keypair().pubkey() for _ in range(3)]
        for friend in friends:
            chain.purse(friend, 0)
        entries = [(friend, 3_333) for friend in friends]
        channel = chain.opened(recipients=entries)
        settled(chain, channel, 10)
        chain.ok(chain.distribute(channel, entries), signers=[chain.relay])
        assert [chain.amount(chain.ata(f)) for f in friends] == [3, 3, 3]
        assert chain.amount(chain.ata(channel)) == 9_991
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.ok(chain.distribute(channel, entries), signers=[chain.relay])
        assert chain.amount(chain.ata(x402.TREASURY_OWNER)) == 1
        assert chain.amount(chain.ata(chain.payer.pubkey())) == 1_000_000 - 10

    def test_the_payer_closes_alone(self, both: X402Chain) -> None:
        channel = both.opened()
        settled(both, channel, 400)
        both.ok(both.request_close(channel), signers=[both.relay, both.payer])
        assert (
            both.view("channel_status", {}, {"channel": channel})["seal_at"] == T0 + 900
        )
        both.set_time(T0 + 899)
        both.refused(
            "SealGracePeriodNotElapsed", both.seal(channel), signers=[both.relay]
        )
        both.set_time(T0 + 900)
        both.ok(both.seal(channel), signers=[both.relay])
        both.ok(both.withdraw_payer(channel), signers=[both.relay, both.payer])
        assert both.amount(both.ata(both.payer.pubkey())) == 1_000_000 - 400
        both.refused(
            "PayerAlreadyWithdrawn",
            both.withdraw_payer(channel),
            signers=[both.relay, both.payer],
        )
        both.ok(both.distribute(channel), signers=[both.relay])
        assert both.amount(both.ata(both.payee.pubkey())) == 400
        assert both.amount(both.ata(both.payer.pubkey())) == 1_000_000 - 400

    def test_closing_with_vouchers_open(self, chain: X402Chain) -> None:
        """The payee has until the very second before the deadline for its last voucher."""
        channel = chain.opened()
        chain.ok(chain.request_close(channel), signers=[chain.relay, chain.payer])
        late = (voucher(chain, channel, 900), chain.settle_and_seal(channel, 1))
        chain.refused(
            "InvalidChannelStatus",
            voucher(chain, channel, 900),
            chain.settle(channel),
            signers=[chain.relay],
        )
        chain.set_time(T0 + 900)
        chain.refused("InvalidChannelStatus", *late, signers=[chain.relay, chain.payee])
        chain.set_time(T0 + 899)
        chain.ok(*late, signers=[chain.relay, chain.payee])
        assert chain.state(channel)["settled"] == 900
        assert chain.state(channel)["closure_started_at"] == 0

    def test_top_up(self, both: X402Chain) -> None:
        channel = both.opened()
        both.refused(
            "VoucherOverDeposit",
            voucher(both, channel, 10_001),
            both.settle(channel),
            signers=[both.relay],
        )
        both.ok(both.top_up(channel, 1), signers=[both.relay, both.payer])
        settled(both, channel, 10_001)
        assert both.amount(both.ata(channel)) == 10_001

    def test_past_its_window_a_channel_goes_at_once(self, chain: X402Chain) -> None:
        channel = chain.opened()
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.set_time(T0, 10_000 + WINDOW + 1)
        chain.ok(chain.distribute(channel), signers=[chain.payee])
        assert chain.data(channel) is None
        assert chain.amount(chain.ata(chain.payer.pubkey())) == 1_000_000


class TestVouchers:
    def test_replay_and_lower_cumulative(self, chain: X402Chain) -> None:
        channel = chain.opened()
        pair = (voucher(chain, channel, 500), chain.settle(channel))
        chain.ok(*pair, signers=[chain.relay])
        chain.refused("VoucherWatermarkNotMonotonic", *pair, signers=[chain.relay])
        lower = (voucher(chain, channel, 499), chain.settle(channel))
        chain.refused("VoucherWatermarkNotMonotonic", *lower, signers=[chain.relay])
        chain.refused(
            "VoucherWatermarkNotMonotonic", *pair, *pair, signers=[chain.relay]
        )
        zero = (voucher(chain, channel, 0), chain.settle(channel))
        chain.refused("VoucherWatermarkNotMonotonic", *zero, signers=[chain.relay])

    def test_for_another_channel(self, chain: X402Chain) -> None:
        one, other = chain.opened(salt=1), chain.opened(salt=2)
        chain.refused(
            "VoucherChannelMismatch",
            voucher(chain, one, 5),
            chain.settle(other),
            signers=[chain.relay],
        )

    def test_signed_by_another_key(self, chain: X402Chain) -> None:
        channel = chain.opened()
        forged = voucher(chain, channel, 5, signer=chain.payee)
        chain.refused(
            "VoucherSignerMismatch",
            forged,
            chain.settle(channel),
            signers=[chain.relay],
        )

    def test_a_session_key_signs_instead_of_the_payer(self, chain: X402Chain) -> None:
        session = Keypair()
        channel = chain.opened(authorized_signer=session.pubkey())
        chain.refused(
            "VoucherSignerMismatch",
            voucher(chain, channel, 5),
            chain.settle(channel),
            signers=[chain.relay],
        )
        chain.ok(
            voucher(chain, channel, 5, signer=session),
            chain.settle(channel),
            signers=[chain.relay],
        )

    def test_the_very_second_of_expiry(self, chain: X402Chain) -> None:
        channel = chain.opened()
        pair = (voucher(chain, channel, 5, T0 + 10), chain.settle(channel))
        chain.set_time(T0 + 10)
        chain.refused("VoucherExpired", *pair, signers=[chain.relay])
        chain.set_time(T0 + 9)
        chain.ok(*pair, signers=[chain.relay])
        past = (voucher(chain, channel, 6, -1), chain.settle(channel))
        chain.refused("VoucherExpired", *past, signers=[chain.relay])

    def test_edges_of_u64(self, chain: X402Chain) -> None:
        channel = chain.opened()
        for amount in (10_001, 2**63, 2**64 - 1):
            pair = (voucher(chain, channel, amount), chain.settle(channel))
            chain.refused("VoucherOverDeposit", *pair, signers=[chain.relay])
        settled(chain, channel, 10_000)

    def test_other_signed_bytes(self, chain: X402Chain) -> None:
        channel = chain.opened()
        for magic in (b"\x56\x02", b"\x00\x01"):
            message = magic + x402.voucher_bytes(channel, 5)[2:]
            signature = bytes(chain.payer.sign_message(message))
            forged = x402.ed25519_instruction(
                bytes(chain.payer.pubkey()), signature, message
            )
            chain.refused(
                "VoucherBadMagic", forged, chain.settle(channel), signers=[chain.relay]
            )

    def test_no_ed25519_instruction_or_not_right_before(self, chain: X402Chain) -> None:
        channel = chain.opened()
        settle, proof = chain.settle(channel), voucher(chain, channel, 5)
        between = chain.ix("channel_status", {}, {"channel": channel})
        for instructions in (
            [settle],
            [settle, proof],
            [proof, between, settle],
            [between, settle],
        ):
            chain.refused(
                "MissingEd25519Verification", *instructions, signers=[chain.relay]
            )

    def test_a_wrong_signature_never_reaches_the_program(
        self, chain: X402Chain
    ) -> None:
        channel = chain.opened()
        message = x402.voucher_bytes(channel, 5)
        forged = x402.ed25519_instruction(
            bytes(chain.payer.pubkey()), bytes(64), message
        )
        outcome = chain.run(forged, chain.settle(channel), signers=[chain.relay])
        assert isinstance(outcome, FailedTransactionMetadata)
        assert "InstructionError" in repr(outcome.err())
        assert chain.state(channel)["settled"] == 0

    def test_offsets_that_point_elsewhere(self, chain: X402Chain) -> None:
        """Layouts that the Ed25519 program verifies well, over other bytes than those that a careless reader takes."""
        channel = chain.opened()
        thief = Keypair()
        good = x402.voucher_bytes(channel, 10_000)
        theirs = bytes(thief.sign_message(good))
        payer_key, thief_key = bytes(chain.payer.pubkey()), bytes(thief.pubkey())
        ed = Pubkey.from_string("Ed25519SigVerify111111111111111111111111111")

        def head(
            signature: tuple[int, int],
            key: tuple[int, int],
            message: tuple[int, int, int],
            count: int = 1,
            pad: int = 0,
        ) -> bytes:
            return struct.pack("<BBHHHHHHH", count, pad, *signature, *key, *message)

        here = 0xFFFF
        # the payer's key stands where it should, but the thief's, behind, is what was verified
        behind = (
            head((48, here), (162, here), (112, 50, here))
            + payer_key
            + theirs
            + good
            + thief_key
        )
        # the same with the key in another instruction: the first one, which has it at 16
        carrier = voucher(chain, channel, 10_000, signer=thief)
        across = head((48, here), (16, 0), (112, 50, here)) + payer_key + theirs + good
        # index 1 means itself too, but is not the one layout
        itself = head((48, 0), (16, 0), (112, 50, 0)) + thief_key + theirs + good
        two = head((48, here), (16, here), (112, 50, here), count=2) + payer_key
        padded = (
            head((48, here), (16, here), (112, 50, here), pad=1)
            + thief_key
            + theirs
            + good
        )
        longer = (
            head((48, here), (16, here), (112, 50, here))
            + thief_key
            + theirs
            + good
            + b"\0"
        )
        short_message = bytes(thief.sign_message(good[:49]))
        shorter = (
            head((48, here), (16, here), (112, 49, here))
            + thief_key
            + short_message
            + good
        )
        for data, before in (
            (behind, []),
            (across, [carrier]),
            (itself, []),
            (padded, []),
            (longer, []),
            (shorter, []),
        ):
            instructions = [*before, Instruction(ed, data, []), chain.settle(channel)]
            chain.refused(
                "MalformedEd25519Instruction", *instructions, signers=[chain.relay]
            )
        outcome = chain.run(
            Instruction(ed, two, []), chain.settle(channel), signers=[chain.relay]
        )
        assert isinstance(outcome, FailedTransactionMetadata)
        assert "Error" in repr(outcome.err())
        assert chain.state(channel)["settled"] == 0

    def test_another_program_with_the_same_bytes(self, chain: X402Chain) -> None:
        channel = chain.opened()
        memo = Instruction(TOKEN_PROGRAM, bytes(voucher(chain, channel, 5).data), [])
        outcome = chain.run(memo, chain.settle(channel), signers=[chain.relay])
        assert isinstance(outcome, FailedTransactionMetadata)
        assert "Error" in repr(outcome.err())
        view = chain.ix("channel_status", {}, {"channel": channel})
        chain.refused(
            "MissingEd25519Verification",
            view,
            chain.settle(channel),
            signers=[chain.relay],
        )

    def test_a_forged_sysvar(self, chain: X402Chain) -> None:
        channel = chain.opened()
        proof = voucher(chain, channel, 5)
        body = (
            struct.pack("<H", 0)
            + bytes(proof.program_id)
            + struct.pack("<H", len(proof.data))
            + bytes(proof.data)
        )
        forged = (
            struct.pack("<HHH", 2, 6, 6 + len(body))
            + body
            + body
            + struct.pack("<H", 1)
        )
        fake = chain.put(
            forged, Pubkey.from_string("Sysvar1111111111111111111111111111111111111")
        )
        ix = chain.settle(channel, instructions_sysvar=fake)
        chain.refused("AccountSysvarMismatch", ix, signers=[chain.relay])
        chain.refused("AccountSysvarMismatch", proof, ix, signers=[chain.relay])
        seal = chain.settle_and_seal(channel, 1, instructions_sysvar=fake)
        chain.refused("AccountSysvarMismatch", seal, signers=[chain.relay, chain.payee])


class TestOpenRefused:
    @pytest.mark.parametrize(
        ("error", "changed"),
        [
            ("DepositMustBeNonZero", {"deposit": 0}),
            ("GracePeriodMustBeNonZero", {"grace_period": 0}),
            ("OpenSlotOutOfWindow", {"open_slot": 10_001}),
            ("OpenSlotOutOfWindow", {"open_slot": 10_000 - WINDOW - 1}),
            ("OpenSlotOutOfWindow", {"open_slot": 2**64 - 1}),
            ("InvalidAuthorizedSigner", {"authorized_signer": x402.event_authority()}),
            ("InvalidSplitConfig", {"recipients": [(Pubkey.default(), 0)]}),
            ("InvalidSplitConfig", {"recipients": [(Pubkey.default(), 10_001)]}),
            (
                "InvalidSplitConfig",
                {"recipients": [(Pubkey(b"a" * 32), 9_999), (Pubkey(b"b" * 32), 2)]},
            ),
            (
                "DuplicateRecipient",
                {"recipients": [(Pubkey(b"a" * 32), 1), (Pubkey(b"a" * 32), 2)]},
            ),
        ],
    )
    def test_arguments(
        self, chain: X402Chain, error: str, changed: dict[str, Any]
    ) -> None:
        ix, channel = chain.open(**changed)
        chain.refused(error, ix, signers=[chain.relay, chain.payer])
        assert chain.data(channel) is None

    def test_the_edges_of_the_window_are_inside(self, chain: X402Chain) -> None:
        chain.opened(open_slot=10_000 - WINDOW)
        chain.opened(open_slot=10_000)

    def test_accounts(self, chain: X402Chain) -> None:
        signers = [chain.relay, chain.payer]
        cases: list[tuple[str, dict[str, Any]]] = [
            ("PayerPayeeMustDiffer", {"payee": chain.payer.pubkey()}),
            ("ChannelAddressMismatch", {"channel": Keypair().pubkey()}),
            (
                "PayerAccountMismatch",
                {"payer_token_account": chain.ata(chain.payee.pubkey())},
            ),
            (
                "ChannelAccountMismatch",
                {"channel_token_account": chain.ata(chain.payee.pubkey())},
            ),
            ("InvalidMintTokenProgram", {"token_program": ID}),
            ("MintAccountMismatch", {"mint": chain.put(mint_data(), ID)}),
            ("InvalidEventAuthority", {"event_authority": Keypair().pubkey()}),
            ("InvalidProgramId", {"self_program": TOKEN_PROGRAM}),
        ]
        for error, changed in cases:
            ix, _ = chain.open(**changed)
            chain.refused(error, ix, signers=signers)

    def test_signatures(self, chain: X402Chain) -> None:
        ix, _ = chain.open()
        for unsigned, signer in ((0, chain.relay), (1, chain.payer)):
            metas = [
                AccountMeta(m.pubkey, m.is_signer and i != unsigned, m.is_writable)
                for i, m in enumerate(ix.accounts)
            ]
            call = Instruction(ix.program_id, bytes(ix.data), metas)
            chain.refused(
                "MissingRequiredSignature", call, signers=[chain.new_wallet(), signer]
            )

    def test_a_channel_is_not_opened_twice(self, chain: X402Chain) -> None:
        ix, _ = chain.open()
        chain.ok(ix, signers=[chain.relay, chain.payer])
        chain.refused(
            "AccountDiscriminatorAlreadySet", ix, signers=[chain.relay, chain.payer]
        )

    def test_a_closed_channel_is_not_opened_again(self, chain: X402Chain) -> None:
        """Its address needs its open slot, which is too long ago once the account is gone."""
        ix, channel = chain.open()
        chain.ok(ix, signers=[chain.relay, chain.payer])
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        chain.refused(
            "AccountDiscriminatorAlreadySet", ix, signers=[chain.relay, chain.payer]
        )
        chain.set_time(T0, 10_000 + WINDOW + 1)
        # closed and opened again in one transaction
        chain.refused(
            "OpenSlotOutOfWindow",
            chain.reclaim(channel),
            ix,
            signers=[chain.relay, chain.payer],
        )
        chain.ok(chain.reclaim(channel), signers=[chain.relay])
        chain.refused("OpenSlotOutOfWindow", ix, signers=[chain.relay, chain.payer])
        chain.refused(
            "AccountNotInitialized",
            voucher(chain, channel, 5),
            chain.settle(channel),
            signers=[chain.relay],
        )

    def test_dust_at_the_addresses_hinders_nobody(self, both: X402Chain) -> None:
        ix, channel = both.open()
        both.svm.set_account(channel, Account(5, b"", Pubkey.default()))
        data = token_data(both.mint, channel, 77)
        if both.token_program == TOKEN_2022_PROGRAM:
            data = extended(data, 2, [(7, b"")])
        both.put(data, both.token_program, both.ata(channel))
        both.ok(ix, signers=[both.relay, both.payer])
        assert both.amount(both.ata(channel)) == 10_077
        both.ok(both.settle_and_seal(channel), signers=[both.relay, both.payee])
        both.ok(both.distribute(channel), signers=[both.relay])
        # Tokens that strangers sent do not count as a deposit.
        assert both.amount(both.ata(x402.TREASURY_OWNER)) == 77
        assert both.amount(both.ata(both.payer.pubkey())) == 1_000_000

    #: by number; channels hold tokens, so pointers and metadata only
    REFUSED: ClassVar = {
        1: 108,
        3: 32,
        4: 65,
        6: 1,
        9: 0,
        10: 52,
        12: 32,
        14: 64,
        16: 129,
        25: 56,
        26: 33,
        999: 4,
    }

    @pytest.mark.parametrize("number", REFUSED)
    def test_mint_extensions(self, number: int) -> None:
        chain = X402Chain(TOKEN_2022_PROGRAM)
        chain.put(
            extended(mint_data(), 1, [(number, bytes(self.REFUSED[number]))]),
            TOKEN_2022_PROGRAM,
            chain.mint,
        )
        ix, _ = chain.open()
        chain.refused(
            "MalformedMintTokenExtensions", ix, signers=[chain.relay, chain.payer]
        )

    @pytest.mark.parametrize("number", [18, 20, 22])
    def test_mint_extensions_that_are_taken(self, number: int) -> None:
        chain = X402Chain(TOKEN_2022_PROGRAM)
        chain.put(
            extended(mint_data(), 1, [(number, bytes(64))]),
            TOKEN_2022_PROGRAM,
            chain.mint,
        )
        channel = chain.opened()
        assert chain.amount(chain.ata(channel)) == 10_000

    def test_malformed_extensions(self) -> None:
        chain = X402Chain(TOKEN_2022_PROGRAM)
        good = extended(mint_data(), 1, [(18, bytes(64))])
        ix, _ = chain.open()
        cases = [
            ("MalformedMintTokenExtensions", good[:-1]),
            ("MalformedMintTokenExtensions", good + b"\x12\x00\x01"),
            ("MalformedMintTokenExtensions", good + b"\7"),
            ("MalformedMintTokenAccountData", good[:90] + b"\1" + good[91:]),
            ("MintAccountMismatch", good[:165] + b"\2" + good[166:]),
            ("MintAccountMismatch", good[:100]),
        ]
        for error, data in cases:
            chain.put(data, TOKEN_2022_PROGRAM, chain.mint)
            chain.refused(error, ix, signers=[chain.relay, chain.payer])

    def test_a_payers_account_with_a_guard(self) -> None:
        chain = X402Chain(TOKEN_2022_PROGRAM)
        data = extended(
            token_data(chain.mint, chain.payer.pubkey(), 50_000), 2, [(11, b"\1")]
        )
        chain.put(data, TOKEN_2022_PROGRAM, chain.ata(chain.payer.pubkey()))
        ix, _ = chain.open()
        chain.refused(
            "InvalidPayerTokenExtensions", ix, signers=[chain.relay, chain.payer]
        )


#: Calls on a channel, by name, as lists of instructions.
CALLS: dict[str, Callable[[X402Chain, Pubkey], list[Instruction]]] = {
    "settle": lambda c, at: [voucher(c, at, 10), c.settle(at)],
    "top_up": lambda c, at: [c.top_up(at, 1)],
    "settle_and_seal": lambda c, at: [c.settle_and_seal(at)],
    "settle_and_seal by voucher": lambda c, at: [
        voucher(c, at, 10),
        c.settle_and_seal(at, 1),
    ],
    "request_close": lambda c, at: [c.request_close(at)],
    "seal": lambda c, at: [c.seal(at)],
    "withdraw_payer": lambda c, at: [c.withdraw_payer(at)],
    "distribute": lambda c, at: [c.distribute(at)],
    "reclaim": lambda c, at: [c.reclaim(at)],
}
#: (status, call, error)
NOT_ALLOWED = [
    *(
        ("open", call, "InvalidChannelStatus")
        for call in ("seal", "withdraw_payer", "reclaim")
    ),
    ("open", "distribute", "NothingToDistribute"),
    *(
        ("closing", call, "InvalidChannelStatus")
        for call in ("settle", "top_up", "request_close", "withdraw_payer", "reclaim")
    ),
    ("closing", "distribute", "ChannelNotDistributable"),
    *(
        ("sealed", call, "InvalidChannelStatus")
        for call in (
            "settle",
            "top_up",
            "settle_and_seal by voucher",
            "request_close",
            "seal",
            "reclaim",
        )
    ),
    *(
        ("distributed", call, "InvalidChannelStatus")
        for call in (
            "settle",
            "top_up",
            "settle_and_seal",
            "request_close",
            "seal",
            "withdraw_payer",
        )
    ),
    ("distributed", "distribute", "ChannelNotDistributable"),
]
#: What a stranger signs in another's place, by the error.
CALLS_OF_OTHERS: dict[
    str, list[Callable[[X402Chain, Pubkey, Keypair], Instruction]]
] = {
    "InvalidChannelPayer": [
        lambda c, at, thief: c.request_close(at, payer=thief),
        lambda c, at, thief: c.top_up(
            at, 1, payer=thief, payer_token_account=c.ata(thief.pubkey())
        ),
    ],
    "InvalidChannelPayee": [lambda c, at, thief: c.settle_and_seal(at, payee=thief)],
}
#: Distributions into a stranger's pocket, by the error.
FALSE_DISTRIBUTIONS: dict[
    str, Callable[[X402Chain, Pubkey, Keypair, Pubkey], Instruction]
] = {
    "InvalidChannelPayer": lambda c, at, thief, pocket: c.distribute(
        at, payer=thief, payer_token_account=pocket
    ),
    "InvalidChannelRentPayer": lambda c, at, thief, _: c.distribute(
        at, rent_payer=thief
    ),
    "PayeeAccountMismatch": lambda c, at, _, pocket: c.distribute(
        at, payee_token_account=pocket
    ),
    "TreasuryAccountMismatch": lambda c, at, _, pocket: c.distribute(
        at, treasury_token_account=pocket
    ),
    "ChannelAccountMismatch": lambda c, at, _, pocket: c.distribute(
        at, channel_token_account=pocket
    ),
    "InvalidDistributionHash": lambda c, at, thief, _: c.distribute(
        at, [(thief.pubkey(), 10_000)]
    ),
    "RecipientAccountCountMismatch": lambda c, at, _, pocket: c.distribute(
        at, tails=[pocket]
    ),
}


class TestStatesRefused:
    @pytest.mark.parametrize(("status", "call", "error"), NOT_ALLOWED)
    def test_what_each_status_refuses(
        self, chain: X402Chain, status: str, call: str, error: str
    ) -> None:
        channel = chain.opened()
        signers = [chain.relay, chain.payer, chain.payee]
        if status in ("closing", "sealed", "distributed"):
            chain.ok(chain.request_close(channel), signers=signers[:2])
        if status in ("sealed", "distributed"):
            chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        if status == "distributed":
            chain.ok(chain.distribute(channel), signers=[chain.relay])
        instructions = CALLS[call](chain, channel)
        needed = {m.pubkey for ix in instructions for m in ix.accounts if m.is_signer}
        signing = [key for key in signers[1:] if key.pubkey() in needed]
        chain.refused(error, *instructions, signers=[chain.relay, *signing])

    @pytest.mark.parametrize("error", CALLS_OF_OTHERS)
    def test_another_signer_may_not(self, chain: X402Chain, error: str) -> None:
        channel = chain.opened()
        thief = chain.new_wallet()
        chain.purse(thief.pubkey(), 100)
        for call in CALLS_OF_OTHERS[error]:
            chain.refused(
                error, call(chain, channel, thief), signers=[chain.relay, thief]
            )

    @pytest.mark.parametrize("error", FALSE_DISTRIBUTIONS)
    def test_a_distribution_goes_nowhere_else(
        self, chain: X402Chain, error: str
    ) -> None:
        channel = chain.opened()
        thief = chain.new_wallet()
        pocket = chain.purse(thief.pubkey(), 100)
        settled(chain, channel, 100)
        call = FALSE_DISTRIBUTIONS[error](chain, channel, thief, pocket)
        chain.refused(error, call, signers=[chain.relay])

    @pytest.mark.parametrize("error", ["InvalidChannelPayer", "PayerAccountMismatch"])
    def test_what_is_left_goes_to_the_payer_alone(
        self, chain: X402Chain, error: str
    ) -> None:
        channel = chain.opened()
        thief = chain.new_wallet()
        pocket = chain.purse(thief.pubkey(), 100)
        settled(chain, channel, 100)
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        payer = thief if error == "InvalidChannelPayer" else chain.payer
        call = chain.withdraw_payer(channel, payer=payer, payer_token_account=pocket)
        chain.refused(error, call, signers=[chain.relay, payer])

    def test_the_rent_goes_to_who_paid_it(self, chain: X402Chain) -> None:
        channel = chain.opened()
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        chain.set_time(T0, 20_000)
        call = chain.reclaim(channel, rent_payer=chain.new_wallet())
        chain.refused("InvalidChannelRentPayer", call, signers=[chain.relay])

    def test_signatures_are_needed(self, chain: X402Chain) -> None:
        channel = chain.opened()
        for ix in (
            chain.request_close(channel),
            chain.settle_and_seal(channel),
            chain.top_up(channel, 5),
            chain.withdraw_payer(channel),
        ):
            metas = [AccountMeta(m.pubkey, False, m.is_writable) for m in ix.accounts]
            call = Instruction(ix.program_id, bytes(ix.data), metas)
            chain.refused("MissingRequiredSignature", call, signers=[chain.relay])

    def test_recipients_in_another_order_or_place(self, chain: X402Chain) -> None:
        one, two = Keypair().pubkey(), Keypair().pubkey()
        entries = [(one, 5_000), (two, 1_000)]
        for key in (one, two):
            chain.purse(key, 0)
        channel = chain.opened(recipients=entries)
        settled(chain, channel, 100)
        swapped = chain.distribute(
            channel, entries, tails=[chain.ata(two), chain.ata(one)]
        )
        chain.refused("RecipientAccountMismatch", swapped, signers=[chain.relay])
        twice = chain.distribute(
            channel, entries, tails=[chain.ata(one), chain.ata(one)]
        )
        chain.refused("RecipientAccountMismatch", twice, signers=[chain.relay])
        chain.refused(
            "InvalidDistributionHash",
            chain.distribute(channel, entries[::-1]),
            signers=[chain.relay],
        )
        chain.ok(chain.distribute(channel, entries), signers=[chain.relay])
        assert [
            chain.amount(chain.ata(k)) for k in (one, two, chain.payee.pubkey())
        ] == [
            50,
            10,
            40,
        ]

    def test_look_alikes(self, chain: X402Chain) -> None:
        channel = chain.opened()
        data = chain.data(channel)
        assert data is not None
        foreign = chain.put(data, TOKEN_PROGRAM)
        chain.refused(
            "AccountOwnedByWrongProgram",
            voucher(chain, foreign, 5),
            chain.settle(foreign),
            signers=[chain.relay],
        )
        for error, changed in (
            ("AccountDiscriminatorMismatch", b"\0" + data[1:]),
            ("AccountDiscriminatorMismatch", b"\x10" + data[1:]),
            ("UnsupportedChannelVersion", b"\1\2" + data[2:]),
            ("AccountDidNotDeserialize", data[:255]),
        ):
            fake = chain.put(changed, ID)
            chain.refused(
                error,
                voucher(chain, fake, 5),
                chain.settle(fake),
                signers=[chain.relay],
            )
        # a copy of a channel at another address cannot sign for anything
        copy = chain.put(data[:3] + b"\1" + data[4:], ID)
        chain.refused(
            "ChannelAddressMismatch",
            chain.withdraw_payer(copy),
            signers=[chain.relay, chain.payer],
        )

    def test_top_up_edges(self, chain: X402Chain) -> None:
        channel = chain.opened()
        chain.refused(
            "DepositMustBeNonZero",
            chain.top_up(channel, 0),
            signers=[chain.relay, chain.payer],
        )
        chain.refused(
            "TopUpDepositOverflow",
            chain.top_up(channel, 2**64 - 1),
            signers=[chain.relay, chain.payer],
        )
        other = chain.put(mint_data(), TOKEN_PROGRAM)
        chain.refused(
            "InvalidChannelMint",
            chain.top_up(channel, 5, mint=other),
            signers=[chain.relay, chain.payer],
        )

    def test_the_largest_deposit(self, chain: X402Chain) -> None:
        most = 2**64 - 1
        chain.purse(chain.payer.pubkey(), most)
        one = Keypair().pubkey()
        chain.purse(one, 0)
        channel = chain.opened(deposit=most, recipients=[(one, 3_333)])
        settled(chain, channel, most)
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.ok(chain.distribute(channel, [(one, 3_333)]), signers=[chain.relay])
        part = most * 3_333 // 10_000
        rest = most * 6_667 // 10_000
        assert chain.amount(chain.ata(one)) == part
        assert chain.amount(chain.ata(chain.payee.pubkey())) == rest
        assert chain.amount(chain.ata(x402.TREASURY_OWNER)) == most - part - rest

    def test_nobody_else_emits_events(self, chain: X402Chain) -> None:
        authority = x402.event_authority()
        data = bytes.fromhex("e445a52e51cb9a1d") + bytes(8)
        for key, error in (
            (authority, "MissingRequiredSignature"),
            (chain.relay.pubkey(), "InvalidEventAuthority"),
        ):
            signs = key == chain.relay.pubkey()
            chain.refused(
                error,
                Instruction(ID, data, [AccountMeta(key, signs, False)]),
                signers=[chain.relay],
            )


#: States of a token account that only its owner or the mint's freeze authority can end.
UNUSABLE: dict[str, dict[str, Any]] = {
    "NotInitialized": {"state": 2},
    "ReassignedAuthority": {"owner": Pubkey(b"x" * 32)},
}


def spoil(chain: X402Chain, owner: Pubkey, reason: str, amount: int = 0) -> None:
    """Make the associated token account of *owner* unusable, as a reason of PayoutRedirected says."""
    if reason == "ClosedOrMalformed":
        chain.remove(chain.ata(owner))
        return
    changed = dict(UNUSABLE[reason])
    data = token_data(chain.mint, changed.pop("owner", owner), amount, **changed)
    chain.put(data, chain.token_program, chain.ata(owner))


def create_account(chain: X402Chain, owner: Pubkey) -> Instruction:
    """The instruction by which anyone creates the token account of *owner*, and pays its rent."""
    keys = [(chain.relay.pubkey(), True, True), (chain.ata(owner), False, True)]
    keys += [
        (k, False, False)
        for k in (owner, chain.mint, SYSTEM_PROGRAM, chain.token_program)
    ]
    return Instruction(
        ASSOCIATED_TOKEN_PROGRAM, b"\1", [AccountMeta(*key) for key in keys]
    )


class TestUnusableAccounts:
    """Anyone chooses the moment of a distribution, so a moment at which an account is missing or frozen takes nothing
    from its owner. Payers and sole beneficiaries lose nothing; a recipient who keeps others waiting loses its share, as
    in the audited program."""

    @pytest.mark.parametrize("who", ["payee", "recipient"])
    def test_anyone_can_create_a_missing_account_first(
        self, both: X402Chain, who: str
    ) -> None:
        absent, other = Keypair().pubkey(), Keypair().pubkey()
        both.purse(other, 0)
        parties: dict[str, Any] = {"payee": absent} if who == "payee" else {}
        entries = (
            [(other, 5_000)] if who == "payee" else [(absent, 1_000), (other, 4_000)]
        )
        channel = both.opened(recipients=entries, **parties)
        settled(both, channel, 1_000)
        pay_out = both.distribute(channel, entries, **parties)
        error = (
            "InvalidPayeeTokenAccount"
            if who == "payee"
            else "InvalidRecipientTokenAccount"
        )
        both.refused(error, pay_out, signers=[both.relay])
        both.ok(create_account(both, absent), pay_out, signers=[both.relay])
        assert both.amount(both.ata(absent)) == (500 if who == "payee" else 100)
        assert both.amount(both.ata(x402.TREASURY_OWNER)) == 0

    @pytest.mark.parametrize("reason", UNUSABLE)
    @pytest.mark.parametrize(
        "sole", [[], [(Pubkey(b"r" * 32), 10_000)]], ids=["payee", "entry"]
    )
    def test_a_share_that_keeps_nobody_waiting_stays(
        self, chain: X402Chain, reason: str, sole: list[tuple[Pubkey, int]]
    ) -> None:
        owner = sole[0][0] if sole else chain.payee.pubkey()
        channel = chain.opened(recipients=sole)
        settled(chain, channel, 1_000)
        spoil(chain, owner, reason)
        error = "RecipientAccountMismatch" if sole else "PayeeAccountMismatch"
        chain.refused(error, chain.distribute(channel, sole), signers=[chain.relay])
        chain.purse(owner, 0)
        chain.ok(chain.distribute(channel, sole), signers=[chain.relay])
        assert chain.amount(chain.ata(owner)) == 1_000
        assert chain.amount(chain.ata(x402.TREASURY_OWNER)) == 0

    @pytest.mark.parametrize("reason", UNUSABLE)
    def test_a_recipient_does_not_keep_the_others_waiting(
        self, chain: X402Chain, reason: str
    ) -> None:
        bad, good = Keypair().pubkey(), Keypair().pubkey()
        entries = [(bad, 1_000), (good, 1_000)]
        chain.purse(good, 0)
        channel = chain.opened(recipients=entries)
        settled(chain, channel, 1_000)
        spoil(chain, bad, reason)
        outcome = chain.ok(chain.distribute(channel, entries), signers=[chain.relay])
        assert chain.amount(chain.ata(good)) == 100
        assert chain.amount(chain.ata(x402.TREASURY_OWNER)) == 100
        assert chain.amount(chain.ata(chain.payee.pubkey())) == 800
        assert (
            "PayoutRedirected",
            {
                "channel": channel,
                "owner": bad,
                "amount": 100,
                "beneficiary": "Recipient",
                "reason": reason,
            },
        ) in chain.events(outcome)

    @pytest.mark.parametrize("reason", [*UNUSABLE, "ClosedOrMalformed"])
    def test_a_refund_waits_for_the_payers_account(
        self, both: X402Chain, reason: str
    ) -> None:
        """The payee is paid, the channel stays sealed, and the payer gets its rest once its account works."""
        payer, payee = both.payer.pubkey(), both.payee.pubkey()
        channel = both.opened()
        settled(both, channel, 400)
        both.ok(both.settle_and_seal(channel), signers=[both.relay, both.payee])
        spoil(both, payer, reason)
        outcome = both.ok(both.distribute(channel), signers=[both.relay])
        assert both.events(outcome) == [
            ("Distributed", {"channel": channel, "watermark": 400, "drained": False})
        ]
        assert (both.amount(both.ata(payee)), both.amount(both.ata(channel))) == (
            400,
            9_600,
        )
        assert both.state(channel)["status"] == 1
        error = (
            "InvalidPayerTokenAccount"
            if reason == "ClosedOrMalformed"
            else "PayerAccountMismatch"
        )
        both.refused(error, both.distribute(channel), signers=[both.relay])
        both.purse(payer, 0)
        both.ok(both.distribute(channel), signers=[both.relay])
        assert both.amount(both.ata(payer)) == 9_600
        assert both.amount(both.ata(x402.TREASURY_OWNER)) == 0
        assert both.state(channel)["status"] == 3

    def test_the_payee_cannot_choose_the_moment_at_which_the_payer_has_no_account(
        self, chain: X402Chain
    ) -> None:
        channel = chain.opened()
        spoil(chain, chain.payer.pubkey(), "ClosedOrMalformed")
        chain.refused(
            "InvalidPayerTokenAccount",
            chain.settle_and_seal(channel),
            chain.distribute(channel),
            signers=[chain.relay, chain.payee],
        )
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.purse(chain.payer.pubkey(), 0)
        chain.ok(chain.withdraw_payer(channel), signers=[chain.relay, chain.payer])
        assert chain.amount(chain.ata(chain.payer.pubkey())) == 10_000
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        assert chain.state(channel)["status"] == 3

    def test_a_payees_frozen_account_does_not_keep_the_refund(
        self, chain: X402Chain
    ) -> None:
        payer, payee = chain.payer.pubkey(), chain.payee.pubkey()
        channel = chain.opened()
        settled(chain, channel, 400)
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        spoil(chain, payee, "NotInitialized")
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        assert chain.amount(chain.ata(payer)) == 1_000_000 - 400
        chain.refused(
            "PayeeAccountMismatch", chain.distribute(channel), signers=[chain.relay]
        )
        chain.refused(
            "PayerAlreadyWithdrawn",
            chain.withdraw_payer(channel),
            signers=[chain.relay, chain.payer],
        )
        chain.purse(payee, 0)
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        assert chain.amount(chain.ata(payee)) == 400
        assert chain.amount(chain.ata(payer)) == 1_000_000 - 400

    @pytest.mark.parametrize("reason", [*UNUSABLE, "ClosedOrMalformed"])
    def test_nothing_needs_the_treasury_that_does_not_go_there(
        self, both: X402Chain, reason: str
    ) -> None:
        spoil(both, x402.TREASURY_OWNER, reason)
        friend = Keypair().pubkey()
        both.purse(friend, 0)
        entries = [(friend, 3_333)]
        channel = both.opened(recipients=entries)
        settled(both, channel, 9_999)
        both.ok(both.distribute(channel, entries), signers=[both.relay])
        assert both.amount(both.ata(friend)) == 3_332
        # the remainder goes to the payer then
        both.ok(both.settle_and_seal(channel), signers=[both.relay, both.payee])
        both.ok(both.distribute(channel, entries), signers=[both.relay])
        assert both.amount(both.ata(both.payer.pubkey())) == 1_000_000 - 9_999 + 1
        assert both.state(channel)["status"] == 3

    def test_a_redirect_needs_the_treasury(self, chain: X402Chain) -> None:
        bad, good = Keypair().pubkey(), Keypair().pubkey()
        entries = [(bad, 1_000), (good, 1_000)]
        chain.purse(good, 0)
        channel = chain.opened(recipients=entries)
        settled(chain, channel, 1_000)
        spoil(chain, bad, "NotInitialized")
        spoil(chain, x402.TREASURY_OWNER, "ClosedOrMalformed")
        pay_out = chain.distribute(channel, entries)
        chain.refused("InvalidTreasuryTokenAccount", pay_out, signers=[chain.relay])
        chain.ok(
            create_account(chain, x402.TREASURY_OWNER), pay_out, signers=[chain.relay]
        )
        assert chain.amount(chain.ata(x402.TREASURY_OWNER)) == 100

    def test_dust_that_nobody_can_take_waits(self, chain: X402Chain) -> None:
        """A stranger's dust neither blocks what is owed nor closes the escrow over it."""
        channel = chain.opened()
        settled(chain, channel, 10_000)
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.put(
            token_data(chain.mint, channel, 10_005), TOKEN_PROGRAM, chain.ata(channel)
        )
        for owner in (x402.TREASURY_OWNER, chain.payer.pubkey()):
            spoil(chain, owner, "ClosedOrMalformed")
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        assert chain.amount(chain.ata(chain.payee.pubkey())) == 10_000
        assert chain.state(channel)["status"] == 1
        chain.refused(
            "InvalidTreasuryTokenAccount",
            chain.distribute(channel),
            signers=[chain.relay],
        )
        chain.purse(chain.payer.pubkey(), 0)
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        assert chain.amount(chain.ata(chain.payer.pubkey())) == 5
        assert chain.state(channel)["status"] == 3

    def test_the_last_distribution_leaves_the_sums(self, chain: X402Chain) -> None:
        """As the audited program does: they say what was paid before the last one."""
        channel = chain.opened()
        settled(chain, channel, 100)
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        settled(chain, channel, 250)
        chain.ok(chain.settle_and_seal(channel), signers=[chain.relay, chain.payee])
        chain.ok(chain.distribute(channel), signers=[chain.relay])
        state = chain.state(channel)
        sums = ("status", "settled", "payout_watermark", "payer_withdrawn_at")
        assert [state[name] for name in sums] == [3, 250, 100, 0]

    def test_shares_that_are_rounded_to_nothing_count_as_paid(
        self, chain: X402Chain
    ) -> None:
        one, two = Keypair().pubkey(), Keypair().pubkey()
        entries = [(one, 4_000), (two, 3_000)]
        for owner in (one, two):
            chain.purse(owner, 0)
        channel = chain.opened(recipients=entries)
        settled(chain, channel, 1)
        pay_out = chain.distribute(channel, entries)
        chain.ok(pay_out, signers=[chain.relay])
        assert chain.state(channel)["payout_watermark"] == 1
        chain.refused("NothingToDistribute", pay_out, signers=[chain.relay])


class TestManyRecipients:
    def test_thirty_two_recipients(self, chain: X402Chain) -> None:
        """The most that a channel can have. (LiteSVM takes transactions of any length; see the test below.)"""
        keys = [Keypair().pubkey() for _ in range(32)]
        for key in keys:
            chain.purse(key, 0)
        entries = [(key, 100) for key in keys]
        channel = chain.opened(recipients=entries)
        settled(chain, channel, 10_000)
        chain.ok(chain.distribute(channel, entries), signers=[chain.relay])
        assert [chain.amount(chain.ata(key)) for key in keys] == [100] * 32
        assert chain.amount(chain.ata(chain.payee.pubkey())) == 10_000 - 3_200
        more = [*entries, (Keypair().pubkey(), 100)]
        one_more = chain.open(salt=8, recipients=more)[0]
        chain.refused(
            "InvalidRecipientCount", one_more, signers=[chain.relay, chain.payer]
        )

    def test_how_many_recipients_one_transaction_carries(
        self, chain: X402Chain
    ) -> None:
        """1,232 bytes, with all accounts that do not sign in a lookup table. A channel of 28 can be opened so, but only
        a program's call can distribute it (docs/x402-program.md)."""

        def fits(
            build: Callable[[list[tuple[Pubkey, int]]], Instruction], payer: Pubkey
        ) -> int:
            most = 0
            while True:
                ix = build([(Keypair().pubkey(), 100) for _ in range(most + 1)])
                table = AddressLookupTableAccount(
                    Keypair().pubkey(),
                    [m.pubkey for m in ix.accounts if not m.is_signer],
                )
                message = MessageV0.try_compile(payer, [ix], [table], Hash.default())
                if (
                    len(bytes(message))
                    + 1
                    + 64 * message.header.num_required_signatures
                    > 1232
                ):
                    return most
                most += 1

        relay, payer = chain.relay.pubkey(), chain.payer.pubkey()
        channel = chain.opened()
        assert fits(lambda entries: chain.distribute(channel, entries), relay) == 27
        assert fits(lambda entries: chain.open(recipients=entries)[0], relay) == 25
        assert (
            fits(
                lambda entries: chain.open(recipients=entries, rent_payer=chain.payer)[
                    0
                ],
                payer,
            )
            == 28
        )


@pytest.fixture
def audited(shared_idls: Path) -> Any:
    return load(shared_idls / "codama__payment_channels.json")


class TestByTheAuditedProgramsClient:
    """The audited program's IDL (codama__payment_channels.json), loaded by our client, drives our program. Only the
    program's id differs."""

    def call(
        self, audited: Any, name: str, args: Any, accounts: Any, remaining: Any = ()
    ) -> Instruction:
        given = {
            k: v.pubkey() if isinstance(v, Keypair) else v for k, v in accounts.items()
        }
        built = audited.instruction(name).build(
            args, given, program_id=ID, remaining=list(remaining)
        )
        assert isinstance(built, Instruction)
        return built

    def test_a_whole_life(self, chain: X402Chain, audited: Any) -> None:
        friend = Keypair().pubkey()
        chain.purse(friend, 0)
        entries = [{"recipient": friend, "bps": 1_000}]
        payer, payee = chain.payer.pubkey(), chain.payee.pubkey()
        channel = x402.channel_address(payer, payee, chain.mint, payer, 1, 10_000)
        escrow, source = chain.ata(channel), chain.ata(payer)
        tokens = {"mint": chain.mint, "tokenProgram": TOKEN_PROGRAM}
        ours = {"eventAuthority": x402.event_authority(), "selfProgram": ID}
        opening = self.call(
            audited,
            "open",
            {
                "openArgs": {
                    "salt": 1,
                    "deposit": 5_000,
                    "gracePeriod": 60,
                    "openSlot": 10_000,
                    "recipients": entries,
                }
            },
            {
                "payer": payer,
                "rentPayer": chain.relay,
                "payee": payee,
                "authorizedSigner": payer,
                "channel": channel,
                "payerTokenAccount": source,
                "channelTokenAccount": escrow,
                **tokens,
                **ours,
            },
        )
        outcome = chain.ok(opening, signers=[chain.relay, chain.payer])
        [inner] = [
            bytes(i.instruction().data)
            for group in outcome.inner_instructions()
            for i in group
            if bytes(i.instruction().data)[:1] == b"\xe4"
        ]
        assert (
            audited.decode_event(inner[8:])
            == ("opened", {"channel": channel, "openSlot": 10_000})
            or audited.decode_event(inner[8:])[1]
        )
        data = chain.data(channel)
        assert data is not None
        name, state = audited.decode_account(data)
        assert name == "channel"
        assert (state["deposit"], state["payer"], state["openSlot"]) == (
            5_000,
            payer,
            10_000,
        )
        top_up = self.call(
            audited,
            "topUp",
            {"topUpArgs": {"amount": 1_000}},
            {
                "payer": payer,
                "channel": channel,
                "payerTokenAccount": source,
                "channelTokenAccount": escrow,
                **tokens,
            },
        )
        chain.ok(top_up, signers=[chain.relay, chain.payer])
        settle = self.call(
            audited,
            "settle",
            {},
            {"channel": channel, "instructionsSysvar": INSTRUCTIONS},
        )
        chain.ok(voucher(chain, channel, 3_000), settle, signers=[chain.relay])
        distribute = self.call(
            audited,
            "distribute",
            {"distributeArgs": {"recipients": entries}},
            {
                "channel": channel,
                "payer": payer,
                "rentPayer": chain.relay,
                "channelTokenAccount": escrow,
                "payerTokenAccount": source,
                "payeeTokenAccount": chain.ata(payee),
                "treasuryTokenAccount": chain.ata(x402.TREASURY_OWNER),
                **tokens,
                **ours,
            },
            [AccountMeta(chain.ata(friend), False, True)],
        )
        chain.ok(distribute, signers=[chain.relay])
        assert (chain.amount(chain.ata(friend)), chain.amount(chain.ata(payee))) == (
            300,
            2_700,
        )
        request = self.call(
            audited, "requestClose", {}, {"payer": payer, "channel": channel}
        )
        chain.ok(request, signers=[chain.relay, chain.payer])
        sealing = self.call(
            audited,
            "settleAndSeal",
            {"settleAndSealArgs": {"hasVoucher": 1}},
            {"payee": payee, "channel": channel, "instructionsSysvar": INSTRUCTIONS},
        )
        chain.ok(
            voucher(chain, channel, 4_000), sealing, signers=[chain.relay, chain.payee]
        )
        withdraw = self.call(
            audited,
            "withdrawPayer",
            {},
            {
                "payer": payer,
                "channel": channel,
                "channelTokenAccount": escrow,
                "payerTokenAccount": source,
                **tokens,
            },
        )
        chain.ok(withdraw, signers=[chain.relay, chain.payer])
        assert chain.amount(source) == 1_000_000 - 4_000
        chain.ok(distribute, signers=[chain.relay])
        assert (chain.amount(chain.ata(friend)), chain.amount(chain.ata(payee))) == (
            400,
            3_600,
        )
        chain.set_time(T0, 20_000)
        reclaim = self.call(
            audited, "reclaim", {}, {"channel": channel, "rentPayer": chain.relay}
        )
        chain.ok(reclaim, signers=[chain.relay])
        assert chain.data(channel) is None

    def test_sealing_after_the_grace_period(
        self, chain: X402Chain, audited: Any
    ) -> None:
        channel = chain.opened()
        chain.ok(chain.request_close(channel), signers=[chain.relay, chain.payer])
        seal = self.call(audited, "seal", {}, {"channel": channel})
        chain.refused("SealGracePeriodNotElapsed", seal, signers=[chain.relay])
        chain.set_time(T0 + 900)
        chain.ok(seal, signers=[chain.relay])

    def test_its_instructions_have_our_bytes(self, audited: Any) -> None:
        from .x402_chain import spec

        ours = {i.name: i.discriminator.value for i in spec().model.instructions}
        for ix in audited.model.instructions:
            from mcpsol_py.names import snake

            assert ours[snake(ix.name)] == ix.discriminator.value
            mine = [
                a.name
                for a in next(
                    i for i in spec().model.instructions if i.name == snake(ix.name)
                ).accounts
            ]
            assert mine == [snake(a.name) for a in ix.accounts]

    def test_its_errors_are_ours_by_number_and_name(self, audited: Any) -> None:
        from mcpsol_py.names import pascal

        from .x402_chain import spec

        theirs = {e.code: pascal(e.name) for e in audited.model.errors}
        channel_errors = [e for e in spec().model.errors if e.code < 6000]
        assert len(channel_errors) > 40
        for e in channel_errors:
            assert theirs[e.code] == e.name
