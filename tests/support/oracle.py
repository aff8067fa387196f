"""One call made twice, in the simulator and in LiteSVM, and everything that must be the same compared."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from mcpsol_py.bodies.addresses import Pubkey as Address
from mcpsol_py.bodies.numbers import Number
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.program import load
from mcpsol_py.solana.ids import EVENT_CPI_TAG, SYSTEM_PROGRAM
from mcpsol_py.sources import spec_words as words
from mcpsol_py.testing import Outcome, Simulator
from mcpsol_py.testing.spec_program import read_program
from tests.functional.targets import failure
from tests.support.vault_chain import TOKEN, mint_data, token_data

#: Errors of SPL Token, by the number in a failed transaction.
TOKEN_ERRORS = {
    1: "InsufficientFunds",
    2: "InvalidMint",
    3: "MintMismatch",
    4: "OwnerMismatch",
    11: "NonNativeHasBalance",
    14: "Overflow",
    17: "AccountFrozen",
    18: "MintDecimalsMismatch",
    31: "MintRequiredForTransfer",
    36: "NoMemo",
    37: "NonTransferable",
    67: "MintPaused",
}
SOL = 10**9
#: The tokens of each mint: at least what its accounts hold.
SUPPLY = 2**63


def with_extensions(base: bytes, kind: int, listed: bytes) -> bytes:
    """A mint (kind 1) or token account (kind 2) with these extensions of Token-2022."""
    return base.ljust(165, b"\0") + bytes([kind]) + listed if listed else base


def plain(value: object) -> object:
    """A value of either side in one form: addresses and variants as text, numbers as ints, structs as dicts."""
    if isinstance(value, words.Struct):
        value = vars(value)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, bytes) and not isinstance(value, Address):
        return bytes(value)
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (Number, int)):
        return int(value)
    return str(value)


@dataclass
class Oracle:
    """A program in the simulator and in LiteSVM, with the same accounts. `calls` counts, `errors` by name."""

    spec: Path
    so: bytes
    features: str = "default"
    calls: int = 0
    #: how many events the last call recorded by calls of the program to itself
    events_by_calls: int = 0
    errors: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program = load(self.spec)
        self.address = Pubkey.from_string(self.program.model.address or "")
        self.spec_class = read_program(self.spec).cls
        self.start()

    def start(self) -> None:
        """Begin with no accounts."""
        self.simulator = Simulator(self.spec_class)
        self.svm = SvmTransport(features=self.features).svm
        self.svm.with_log_bytes_limit(None)  # so that no event is cut off
        self.svm.add_program(self.address, self.so)
        self.payer = Keypair()  # pays the fees, which the simulator leaves out
        self.svm.airdrop(self.payer.pubkey(), 1000 * SOL)

    # --- accounts on both sides

    def wallet(self, lamports: int = 10 * SOL) -> Keypair:
        key = Keypair()
        self.svm.airdrop(key.pubkey(), lamports)
        self.simulator.put_wallet(key.pubkey(), lamports)
        return key

    def mint(
        self,
        authority: Pubkey | None = None,
        key: Pubkey | None = None,
        *,
        program: Pubkey = TOKEN,
        extensions: bytes = b"",
    ) -> Pubkey:
        key = key or Pubkey.new_unique()
        authority = authority or Pubkey.new_unique()
        made = bytearray(mint_data(authority))
        made[36:44] = SUPPLY.to_bytes(8, "little")
        data = with_extensions(bytes(made), 1, extensions)
        self.svm.set_account(key, Account(SOL, data, program))
        more: dict[str, Any] = {"program": program, "extensions": extensions}
        self.simulator.put_mint(
            key, authority=authority, supply=SUPPLY, decimals=6, **more
        )
        self.simulator.put_wallet(key, SOL)
        return key

    def tokens(
        self,
        mint: Pubkey,
        owner: Pubkey,
        amount: int,
        key: Pubkey | None = None,
        *,
        program: Pubkey = TOKEN,
        delegate: Pubkey | None = None,
        delegated_amount: int = 0,
        is_frozen: bool = False,
        extensions: bytes = b"",
    ) -> Pubkey:
        key = key or Pubkey.new_unique()
        data = bytearray(token_data(mint, owner, amount, state=2 if is_frozen else 1))
        if delegate is not None:
            data[72:108] = b"\1\0\0\0" + bytes(delegate)
            data[121:129] = delegated_amount.to_bytes(8, "little")
        made = with_extensions(bytes(data), 2, extensions)
        self.svm.set_account(key, Account(SOL, made, program))
        self.simulator.put_tokens(
            key,
            mint=mint,
            owner=owner,
            amount=amount,
            delegate=delegate,
            delegated_amount=delegated_amount,
            is_frozen=is_frozen,
            program=program,
            extensions=extensions,
        )
        self.simulator.put_wallet(key, SOL)
        return key

    def put_data(self, key: Pubkey, program: Pubkey, data: bytes) -> None:
        self.svm.set_account(key, Account(SOL, data, program))
        self.simulator.put_data(key, program=program, data=data)
        self.simulator.put_wallet(key, SOL)

    def put_state(self, key: Pubkey, name: str, **fields: Any) -> None:
        """State with these fields; others are zero."""
        state = self.simulator.new_state(name)
        self.simulator.set_fields(state, fields)
        self.simulator.put_state(key, state)
        self.simulator.put_wallet(key, SOL)
        given = {n: plain(v) for n, v in vars(state).items()}
        data = self.program.encode_account(name, given)
        self.svm.set_account(key, Account(SOL, data, self.address))

    def set_clock(self, *, unix_timestamp: int, slot: int) -> None:
        clock = self.svm.get_clock()
        clock.unix_timestamp, clock.slot = unix_timestamp, slot
        self.svm.set_clock(clock)
        self.simulator.set_clock(unix_timestamp=unix_timestamp, slot=slot)

    # --- calls

    def call(
        self,
        name: str,
        accounts: dict[str, Any],
        args: dict[str, Any],
        *signers: Keypair,
        before: tuple[Instruction, ...] = (),
    ) -> str:
        """Make one call on both sides and compare all that it did. Returns the name of its error.

        `before`: instructions before it in its transaction.
        """
        shown = {key: plain(value) for key, value in args.items()}
        ix = self.program.instruction(name).build(
            shown, accounts, program_id=self.address
        )
        self.svm.expire_blockhash()
        ixs = [*before, ix]
        message = Message.new_with_blockhash(
            ixs, self.payer.pubkey(), self.svm.latest_blockhash()
        )
        chain = self.svm.send_transaction(
            VersionedTransaction(message, [self.payer, *signers])
        )
        signed = [key.pubkey() for key in signers]
        others = [(other.program_id, bytes(other.data)) for other in before]
        here = self.simulator.call(
            name, accounts=accounts, args=args, signers=signed, before=others
        )
        self.compare(ix, name, args, here, chain)
        return here.error

    def compare(
        self,
        ix: Instruction,
        name: str,
        args: dict[str, Any],
        here: Outcome,
        chain: TransactionMetadata | FailedTransactionMetadata,
    ) -> None:
        """Compare what one call did on both sides: its error, its events, what it returned, and its accounts."""
        self.calls += 1
        self.errors[here.error] = self.errors.get(here.error, 0) + 1
        self._compare(f"{name}({args})", here, chain)
        known = self.program.instruction(name)
        if known.model.returns is not None and isinstance(chain, TransactionMetadata):
            found = known.decode_return(bytes(chain.return_data().data))
            assert plain(here.returned) == plain(found), (
                f"{name}: {here.returned}, {found}"
            )
        for key in {meta.pubkey for meta in ix.accounts}:
            self._compare_account(name, key)

    def _compare(
        self,
        what: str,
        here: Outcome,
        chain: TransactionMetadata | FailedTransactionMetadata,
    ) -> None:
        meta = chain.meta() if isinstance(chain, FailedTransactionMetadata) else chain
        error = error_name(chain)
        assert here.error == error, (
            f"{what}: {here} in Python, {error!r} on chain: {meta.logs()}"
        )
        logged = [line for line in meta.logs() if line.startswith("Program data: ")]
        events = [] if error else [self._event(line[14:]) for line in logged]
        called = [] if error else list(self._by_calls(meta))
        self.events_by_calls = len(called)
        mine = [
            (type(e).__name__, {k: plain(v) for k, v in vars(e).items()})
            for e in here.events
        ]
        if called:  # nothing says when they came, between those that were logged
            mine, events = (
                sorted(mine, key=_text),
                sorted([*events, *called], key=_text),
            )
        assert mine == events, f"{what}: {mine} in Python, {events} on chain"
        returned = bytes(meta.return_data().data)
        by_runtime = error == "InsufficientFundsForRent"  # after the program's end
        if by_runtime:
            assert here.carried == b""
        elif error and meta.return_data().program_id == self.address:
            assert here.carried == returned, f"{what}: {here.carried!r}, {returned!r}"

    def _by_calls(
        self, meta: TransactionMetadata
    ) -> Iterator[tuple[str, dict[str, object]]]:
        """The events of the program's calls of itself."""
        for inner in (call for calls in meta.inner_instructions() for call in calls):
            data = bytes(inner.instruction().data)
            if data.startswith(EVENT_CPI_TAG):
                yield self._event(base64.b64encode(data[len(EVENT_CPI_TAG) :]).decode())

    def _event(self, text: str) -> tuple[str, dict[str, object]]:
        name, fields = self.program.decode_event(base64.b64decode(text))
        return name, {key: plain(value) for key, value in fields.items()}

    def _compare_account(self, what: str, key: Pubkey) -> None:
        found, ledger = self.svm.get_account(key), self.simulator.ledger
        address = Address(key)
        lamports = 0 if found is None else found.lamports
        if found is None or not found.executable:
            assert lamports == self.simulator.lamports(key), (
                f"{what}: lamports of {key}"
            )
        if address in ledger.states:
            assert found is not None
            name, fields = self.program.decode_account(found.data)
            state = ledger.states[address]
            assert name == type(state).__name__
            mine = {k: plain(v) for k, v in vars(state).items()}
            assert mine == {k: plain(v) for k, v in fields.items()}, what
        if address in ledger.mints:
            assert found is not None
            assert (
                int.from_bytes(found.data[36:44], "little")
                == ledger.mints[address].supply
            ), what
        if address in ledger.tokens:
            assert found is not None
            assert int.from_bytes(found.data[64:72], "little") == self.simulator.tokens(
                key
            ), what
            held = ledger.tokens[address]
            delegate = Address(found.data[76:108]) if found.data[72] else None
            assert delegate == held.delegate, what
            delegated = int.from_bytes(found.data[121:129], "little")
            assert delegated == int(held.delegated_amount), what


def _text(event: tuple[str, dict[str, object]]) -> str:
    """An event as text, the same whatever the order of its fields."""
    return json.dumps(event, sort_keys=True, default=repr)


def error_name(chain: TransactionMetadata | FailedTransactionMetadata) -> str:
    """The name of the error by which a transaction failed, SPL Token's too; "" if it did not."""
    name = failure(chain)
    if "InsufficientFundsForRent" in name:
        return "InsufficientFundsForRent"
    logs = chain.meta().logs() if isinstance(chain, FailedTransactionMetadata) else []
    if f"Program {SYSTEM_PROGRAM} failed: custom program error: 0x1" in logs:
        return "ResultWithNegativeLamports"
    number, builtin = (
        re.search(r"Custom\((\d+)\)", name),
        re.search(r"Fieldless\((\w+)\)", name),
    )
    if builtin:
        return builtin[1]
    return TOKEN_ERRORS.get(int(number[1]), name) if number else name
