"""A LiteSVM with the committed x402 program, mints of both token programs, and wallets with tokens; calls are built by
our own client from the program's spec."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from mcpsol_py import Program, load
from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.x402.chain import program as x402
from tests.support.chains import Chain, Outcome
from tests.support.shadow import Shadow

REPO = Path(__file__).resolve().parents[2]
ID = x402.PROGRAM_ID
T0 = 1_700_000_000


@cache
def spec() -> Program:
    return load(REPO / "programs/x402/spec.py")


@cache
def shadow() -> Shadow:
    """The simulator that follows the calls of all chains of a process."""
    return Shadow(REPO / "programs/x402/spec.py", elf())


@cache
def elf() -> bytes:
    return (REPO / "programs/x402/x402.so").read_bytes()


def mint_data(supply: int = 10**18, decimals: int = 6) -> bytes:
    """82 bytes: no authority, supply, decimals, initialized, no freeze authority."""
    return struct.pack("<I32sQBBI32s", 0, bytes(32), supply, decimals, 1, 0, bytes(32))


def token_data(
    mint: Pubkey,
    owner: Pubkey,
    amount: int,
    *,
    state: int = 1,
    delegate: Pubkey | None = None,
    delegated: int = 0,
) -> bytes:
    """165 bytes of a token account."""
    key = bytes(32) if delegate is None else bytes(delegate)
    given = (bytes(mint), bytes(owner), amount, int(delegate is not None), key)
    return struct.pack(
        "<32s32sQI32sBIQQI32s", *given, state, 0, 0, delegated, 0, bytes(32)
    )


def extended(base: bytes, kind: int, extensions: Sequence[tuple[int, bytes]]) -> bytes:
    """A Token-2022 mint (kind 1) or account (kind 2) with these extensions."""
    listed = b"".join(
        struct.pack("<HH", number, len(value)) + value for number, value in extensions
    )
    return base.ljust(165, b"\0") + bytes([kind]) + listed


def named(logs: str) -> list[str]:
    """The errors that programs of ours logged by name."""
    return re.findall(r"Program log: (\w+) \(\d+\)", logs)


class Failed(AssertionError):
    """A call that should have gone through did not; the text is its log."""


class X402Chain(Chain):
    """Everything that a test of the program needs. `token_program`: of the default mint.

    `is_followed`: the bodies make each call too. They cannot follow another program at this address.
    """

    def __init__(
        self, token_program: Pubkey = TOKEN_PROGRAM, *, is_followed: bool = True
    ) -> None:
        super().__init__()
        self.is_followed = is_followed
        self.svm.add_program(ID, elf())
        self.token_program = token_program
        self.set_time(T0)
        self.payer, self.payee = self.new_wallet(), self.new_wallet()
        self.relay = self.wallet
        self.mint = self.put(mint_data(), token_program)
        self.spent = 0  # compute units of the last transaction
        for owner, amount in ((self.payer, 1_000_000), (self.payee, 0)):
            self.purse(owner.pubkey(), amount)
        self.purse(x402.TREASURY_OWNER, 0)

    # setting the scene

    def set_time(self, seconds: int, slot: int | None = None) -> None:
        clock = self.svm.get_clock()
        clock.unix_timestamp = seconds
        if slot is not None:
            clock.slot = slot
        self.svm.set_clock(clock)

    @property
    def now(self) -> int:
        return self.svm.get_clock().unix_timestamp

    @property
    def slot(self) -> int:
        return self.svm.get_clock().slot

    def put(self, data: bytes, owner: Pubkey, key: Pubkey | None = None) -> Pubkey:
        key = key or Keypair().pubkey()
        self.svm.set_account(key, Account(10**7, data, owner))
        return key

    def remove(self, key: Pubkey) -> None:
        """Leave no account at this address."""
        self.svm.set_account(key, Account(0, b"", Pubkey.default()))

    def ata(
        self,
        owner: Pubkey,
        mint: Pubkey | None = None,
        token_program: Pubkey | None = None,
    ) -> Pubkey:
        return associated_token(
            owner, mint or self.mint, token_program or self.token_program
        )

    def purse(
        self, owner: Pubkey, amount: int, mint: Pubkey | None = None, **more: Any
    ) -> Pubkey:
        """The associated token account of *owner*, holding *amount*."""
        key = self.ata(owner, mint)
        return self.put(
            token_data(mint or self.mint, owner, amount, **more),
            self.token_program,
            key,
        )

    # reading

    def data(self, key: Pubkey) -> bytes | None:
        found = self.svm.get_account(key)
        return None if found is None or found.lamports == 0 else bytes(found.data)

    def amount(self, key: Pubkey) -> int:
        data = self.data(key)
        if not data:
            return 0
        [amount] = struct.unpack_from("<Q", data, 64)
        return int(amount)

    def delegated(self, key: Pubkey) -> tuple[Pubkey | None, int]:
        data = self.data(key)
        assert data is not None
        if data[72:76] != b"\1\0\0\0":
            return None, 0
        return Pubkey(data[76:108]), struct.unpack_from("<Q", data, 121)[0]

    def state(self, key: Pubkey) -> dict[str, Any]:
        data = self.data(key)
        assert data
        return dict(spec().decode_account(data)[1])

    # calling

    def run(
        self, *instructions: Instruction, signers: Sequence[Keypair] = ()
    ) -> Outcome:
        """Run a transaction. A call of the program is made by its bodies in Python too, and compared."""
        if not self.is_followed:
            return super().run(*instructions, signers=signers)
        given = list(signers) or [self.wallet]
        keys = [signer.pubkey() for signer in given]
        run = partial(super().run, *instructions, signers=given)
        return shadow().send(self.svm, instructions, keys, run)

    def ix(
        self,
        name: str,
        args: Mapping[str, Any],
        accounts: Mapping[str, Any],
        remaining: Sequence[AccountMeta] = (),
    ) -> Instruction:
        given = {
            k: v.pubkey() if isinstance(v, Keypair) else v for k, v in accounts.items()
        }
        built = (
            spec()
            .instruction(name)
            .build(args, given, program_id=ID, remaining=list(remaining))
        )
        assert isinstance(built, Instruction)
        return built

    def ok(
        self, *instructions: Instruction, signers: Sequence[Keypair] = ()
    ) -> TransactionMetadata:
        outcome = self.run(*instructions, signers=signers)
        if isinstance(outcome, FailedTransactionMetadata):
            raise Failed("\n".join([str(outcome.err()), *outcome.meta().logs()]))
        assert isinstance(outcome, TransactionMetadata)
        assert named("\n".join(outcome.logs())) == [], (
            "an error was logged though nothing failed"
        )
        self.spent = outcome.compute_units_consumed()
        return outcome

    def refused(
        self,
        name: str,
        *instructions: Instruction,
        signers: Sequence[Keypair],
        watch: Sequence[Pubkey] = (),
    ) -> FailedTransactionMetadata:
        """The transaction fails, its log names the error, and none of the accounts of any instruction changed (but the
        fee payer's lamports)."""
        touched = {meta.pubkey for ix in instructions for meta in ix.accounts} | set(
            watch
        )
        touched.discard(signers[0].pubkey())
        before = {key: self.svm.get_account(key) for key in touched}
        outcome = self.run(*instructions, signers=signers)
        assert isinstance(outcome, FailedTransactionMetadata), (
            f"{name}: it went through"
        )
        logs = "\n".join(outcome.meta().logs())
        assert named(logs) == [name], f"{name}: {logs}"
        for key in touched:
            assert self.svm.get_account(key) == before[key], f"{name}: {key} changed"
        return outcome

    def view(
        self, name: str, args: Mapping[str, Any], accounts: Mapping[str, Any]
    ) -> Any:
        outcome = self.ok(self.ix(name, args, accounts), signers=[self.relay])
        return spec().instruction(name).decode_return(bytes(outcome.return_data().data))

    def events(self, outcome: TransactionMetadata) -> list[tuple[str, Any]]:
        """Events in the log and by CPI, in that order."""
        found: list[tuple[str, Any]] = []
        lines = [
            line.removeprefix("Program data: ")
            for line in outcome.logs()
            if line.startswith("Program data: ")
        ]
        found += [spec().decode_event(base64.b64decode(line)) for line in lines]
        for group in outcome.inner_instructions():
            for inner in group:
                data = bytes(inner.instruction().data)
                if data[:8] == bytes.fromhex("e445a52e51cb9a1d"):
                    found.append(spec().decode_event(data[8:]))
        return found

    # exact payments

    def receipt(self, ident: bytes) -> Pubkey:
        """The address of the receipt of a payment from payer to payee."""
        return x402.receipt_address(
            self.payer.pubkey(), self.payee.pubkey(), self.mint, ident
        )

    def pay(self, *, signer: Keypair | None = None, **changed: Any) -> Instruction:
        """`pay` of 1,000 from payer to payee; arguments and accounts by name may be others."""
        expires = changed.pop("expires_at", self.now + 60)
        ident = changed.pop("payment_id", x402.payment_id(expires, "invoice 1"))
        args = {
            "payment_id": ident,
            "call_hash": changed.pop("call_hash", bytes(range(32))),
            "amount": changed.pop("amount", 1000),
            "expires_at": expires,
        }
        payer, payee = (
            changed.pop("payer", self.payer.pubkey()),
            changed.pop("payee", self.payee.pubkey()),
        )
        mint = changed.pop("mint", self.mint)
        program = changed.pop("token_program", self.token_program)
        accounts = {
            "authority": signer or self.payer,
            "rent_payer": self.relay,
            "payer": payer,
            "payee": payee,
            "mint": mint,
            "source": self.ata(payer, mint, program),
            "destination": self.ata(payee, mint, program),
            "receipt": x402.receipt_address(payer, payee, mint, ident),
            "token_program": program,
        }
        return self.ix("pay", args, accounts | changed)

    # channels

    def open(self, **changed: Any) -> tuple[Instruction, Pubkey]:
        """`open` of a channel with 10,000 and a grace period of 900 s; its address."""
        mint = changed.pop("mint", self.mint)
        program = changed.pop("token_program", self.token_program)
        payer = changed.pop("payer", self.payer.pubkey())
        payee = changed.pop("payee", self.payee.pubkey())
        signer = changed.pop("authorized_signer", self.payer.pubkey())
        entries = changed.pop("recipients", [])
        args = {
            "salt": changed.pop("salt", 7),
            "deposit": changed.pop("deposit", 10_000),
            "grace_period": changed.pop("grace_period", 900),
            "open_slot": changed.pop("open_slot", self.slot),
            "recipients": [{"recipient": key, "bps": bps} for key, bps in entries],
        }
        channel = x402.channel_address(
            payer, payee, mint, signer, args["salt"], args["open_slot"]
        )
        accounts = {
            "payer": payer,
            "rent_payer": self.relay,
            "payee": payee,
            "mint": mint,
            "authorized_signer": signer,
            "channel": channel,
            "payer_token_account": self.ata(payer, mint, program),
            "channel_token_account": self.ata(channel, mint, program),
            "token_program": program,
        }
        return self.ix("open", args, accounts | changed), channel

    def opened(self, **changed: Any) -> Pubkey:
        """A channel that was opened."""
        ix, channel = self.open(**changed)
        self.ok(ix, signers=[self.relay, self.payer])
        return channel

    def settle(self, channel: Pubkey, **changed: Any) -> Instruction:
        return self.ix("settle", {}, {"channel": channel} | changed)

    def top_up(self, channel: Pubkey, amount: int, **changed: Any) -> Instruction:
        accounts = {
            "payer": self.payer,
            "channel": channel,
            "payer_token_account": self.ata(self.payer.pubkey()),
            "channel_token_account": self.ata(channel),
            "mint": self.mint,
            "token_program": self.token_program,
        }
        return self.ix("top_up", {"amount": amount}, accounts | changed)

    def settle_and_seal(
        self, channel: Pubkey, has_voucher: int = 0, **changed: Any
    ) -> Instruction:
        return self.ix(
            "settle_and_seal",
            {"has_voucher": has_voucher},
            {"payee": self.payee, "channel": channel} | changed,
        )

    def request_close(self, channel: Pubkey, **changed: Any) -> Instruction:
        return self.ix(
            "request_close", {}, {"payer": self.payer, "channel": channel} | changed
        )

    def seal(self, channel: Pubkey) -> Instruction:
        return self.ix("seal", {}, {"channel": channel})

    def distribute(
        self,
        channel: Pubkey,
        entries: Sequence[tuple[Pubkey, int]] = (),
        *,
        tails: Sequence[Pubkey] | None = None,
        **changed: Any,
    ) -> Instruction:
        payee = changed.pop("payee", self.payee.pubkey())
        accounts = {
            "channel": channel,
            "payer": self.payer,
            "rent_payer": self.relay,
            "channel_token_account": self.ata(channel),
            "payer_token_account": self.ata(self.payer.pubkey()),
            "payee_token_account": self.ata(payee),
            "treasury_token_account": self.ata(x402.TREASURY_OWNER),
            "mint": self.mint,
            "token_program": self.token_program,
        }
        listed = [self.ata(key) for key, _ in entries] if tails is None else tails
        args = {"recipients": [{"recipient": key, "bps": bps} for key, bps in entries]}
        return self.ix(
            "distribute",
            args,
            accounts | changed,
            [AccountMeta(key, False, True) for key in listed],
        )

    def withdraw_payer(self, channel: Pubkey, **changed: Any) -> Instruction:
        accounts = {
            "payer": self.payer,
            "channel": channel,
            "channel_token_account": self.ata(channel),
            "payer_token_account": self.ata(self.payer.pubkey()),
            "mint": self.mint,
            "token_program": self.token_program,
        }
        return self.ix("withdraw_payer", {}, accounts | changed)

    def reclaim(self, channel: Pubkey, **changed: Any) -> Instruction:
        return self.ix(
            "reclaim", {}, {"channel": channel, "rent_payer": self.relay} | changed
        )

    # subscriptions: the payer subscribes to plans of the payee

    def create_plan(
        self, plan_id: int = 1, **changed: Any
    ) -> tuple[Instruction, Pubkey]:
        """A plan of 100 tokens for each 1,000 s, 300 s of grace, up to 12 charges, without a trial; its address."""
        terms = {
            "price": 100,
            "period": 1_000,
            "trial": 0,
            "grace": 300,
            "max_charges": 12,
        }
        terms |= {k: changed.pop(k) for k in list(changed) if k in terms}
        plan = x402.plan_address(self.payee.pubkey(), plan_id)
        accounts = {
            "plan": plan,
            "merchant": self.payee,
            "mint": self.mint,
            "token_program": self.token_program,
        }
        return self.ix(
            "create_plan", {"plan_id": plan_id, **terms}, accounts | changed
        ), plan

    def plan(self, plan_id: int = 1, **changed: Any) -> Pubkey:
        ix, plan = self.create_plan(plan_id, **changed)
        self.ok(ix, signers=[self.payee])
        return plan

    def parties(self) -> dict[str, Any]:
        return {
            "subscriber": self.payer,
            "merchant": self.payee,
            "mint": self.mint,
            "source": self.ata(self.payer.pubkey()),
            "destination": self.ata(self.payee.pubkey()),
            "delegate": x402.delegate_address(self.payer.pubkey()),
            "token_program": self.token_program,
        }

    def subscribe(
        self,
        plan: Pubkey,
        periods: int = 3,
        price: int = 100,
        period: int = 1_000,
        **changed: Any,
    ) -> Instruction:
        """The trial and grace period that are agreed to are the plan's, if no others are given."""
        terms = self.terms(plan, changed)
        accounts = {
            **self.parties(),
            "subscription": x402.subscription_address(plan, self.payer.pubkey()),
            "plan": plan,
            "rent_payer": self.relay,
        }
        args = {"price": price, "period": period, **terms, "periods": periods}
        return self.ix("subscribe", args, accounts | changed)

    def terms(self, plan: Pubkey, changed: dict[str, Any]) -> dict[str, int]:
        """Trial and grace period: those in *changed*, which lose them, else the plan's."""
        data = self.data(plan)
        there = (
            spec().decode_account(data, "Plan")[1] if data else {"trial": 0, "grace": 0}
        )
        return {name: changed.pop(name, there[name]) for name in ("trial", "grace")}

    def subscribed(self, plan: Pubkey, periods: int = 3, **changed: Any) -> Pubkey:
        self.ok(
            self.subscribe(plan, periods, **changed), signers=[self.relay, self.payer]
        )
        return x402.subscription_address(plan, self.payer.pubkey())

    def charge(self, subscription: Pubkey, **changed: Any) -> Instruction:
        return self.ix(
            "charge", {}, {**self.parties(), "subscription": subscription} | changed
        )

    def change_plan(
        self,
        subscription: Pubkey,
        plan: Pubkey,
        periods: int,
        price: int = 100,
        period: int = 1_000,
        **changed: Any,
    ) -> Instruction:
        accounts = {**self.parties(), "subscription": subscription, "plan": plan}
        accounts.pop("destination")
        args = {
            "price": price,
            "period": period,
            "grace": self.terms(plan, changed)["grace"],
            "periods": periods,
        }
        return self.ix("change_plan", args, accounts | changed)

    def cancel(self, subscription: Pubkey, **changed: Any) -> Instruction:
        accounts = {**self.parties(), "subscription": subscription}
        for name in ("destination", "merchant"):
            accounts.pop(name)
        return self.ix("cancel", {}, accounts | changed)

    def merchant_cancel(self, subscription: Pubkey, **changed: Any) -> Instruction:
        accounts = {**self.parties(), "subscription": subscription}
        accounts["source"], accounts["destination"] = (
            accounts["destination"],
            accounts["source"],
        )
        return self.ix("merchant_cancel", {}, accounts | changed)

    def close_subscription(
        self, subscription: Pubkey, others: Sequence[Pubkey] = (), **changed: Any
    ) -> Instruction:
        """*others*: other ended subscriptions of the payer, in the order of their addresses."""
        accounts = {
            **self.parties(),
            "subscription": subscription,
            "rent_payer": self.relay,
        }
        for name in ("destination", "merchant"):
            accounts.pop(name)
        tail = [AccountMeta(key, False, False) for key in others]
        return self.ix("close_subscription", {}, accounts | changed, tail)

    def status(self, subscription: Pubkey) -> dict[str, Any]:
        return dict(
            self.view("subscription_status", {}, {"subscription": subscription})
        )
