"""Every call that a test makes of a program on LiteSVM, made once more by the program's bodies in Python.

The simulator begins with the accounts as they were before the call, so each call is compared by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from solders.account import Account
from solders.instruction import Instruction
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from mcpsol_py.errors import DecodeError
from mcpsol_py.solana import tokens
from mcpsol_py.solana.addresses import ED25519_PROGRAM, SYSTEM_PROGRAM
from mcpsol_py.solana.ids import TOKEN_PROGRAMS
from mcpsol_py.testing import Simulator
from mcpsol_py.testing.reached import recording
from tests.support.oracle import Oracle

Sent = TransactionMetadata | FailedTransactionMetadata

FEE = 5000
#: Refusals that concern how the call is written: flags, data and the number of accounts, which the simulator has not.
NOT_SIMULATED = {
    "ConstraintMut",
    "InstructionDidNotDeserialize",
    "AccountNotEnoughKeys",
    "TooManyAccounts",
}


@dataclass
class _Call:
    """One call of the program in a transaction."""

    name: str
    args: dict[str, Any]
    accounts: dict[str, Any]
    ix: Instruction
    signers: list[Pubkey]
    before: list[tuple[Pubkey, bytes]]


class Shadow(Oracle):
    """Follows the calls of one program on any LiteSVM."""

    def start(self) -> None:
        """Have no accounts: they come with each call."""
        self.simulator = Simulator(self.spec)
        #: Records the lines of bodies that the calls run.
        self.recording = recording([self.spec])

    def send(
        self,
        svm: LiteSVM,
        instructions: Sequence[Instruction],
        signers: Sequence[Pubkey],
        send: Callable[[], Sent],
    ) -> Sent:
        """Send a transaction, and compare its call of the program if that is its last instruction."""
        call = self._call_in(instructions, signers)
        if call is None:
            return send()
        self.svm = svm
        self.simulator.clear()
        found = {meta.pubkey: svm.get_account(meta.pubkey) for meta in call.ix.accounts}
        for key, account in found.items():
            self._load(key, account)
        self._take_fee(signers[0], _fee(instructions, signers))
        clock = svm.get_clock()
        self.simulator.set_clock(
            unix_timestamp=clock.unix_timestamp, slot=clock.slot, epoch=clock.epoch
        )
        outcome = send()
        if self._is_comparable(outcome, len(instructions) - 1):
            self._follow(call, outcome)
        return outcome

    def _call_in(
        self, instructions: Sequence[Instruction], signers: Sequence[Pubkey]
    ) -> _Call | None:
        *before, ix = instructions
        if ix.program_id != self.address or any(
            other.program_id != ED25519_PROGRAM for other in before
        ):
            return None
        try:
            name, args = self.program.decode_instruction(bytes(ix.data))
        except DecodeError:
            return None
        known = self.program.instruction(name)
        if name not in self.simulator.spec.bodies or len(ix.accounts) < len(
            known.plan.leaves
        ):
            return None
        keys = [meta.pubkey for meta in ix.accounts]
        accounts: dict[str, Any] = {
            leaf.name: key for leaf, key in zip(known.plan.leaves, keys, strict=False)
        }
        for rest in known.model.remaining:
            accounts[rest.name] = keys[len(known.plan.leaves) :]
        others = [(other.program_id, bytes(other.data)) for other in before]
        signed = [key for key in signers if key in keys]
        return _Call(name, args, accounts, ix, signed, others)

    def _is_comparable(self, outcome: Sent, index: int) -> bool:
        """Did the call itself run, and end with something that the simulator can give?"""
        if not isinstance(outcome, FailedTransactionMetadata):
            return True
        if getattr(outcome.err(), "index", None) != index:
            return False
        logs = "\n".join(outcome.meta().logs())
        return not any(f"log: {name} (" in logs for name in NOT_SIMULATED)

    def _follow(self, call: _Call, outcome: Sent) -> None:
        with self.recording:
            here = self.simulator.call(
                call.name,
                accounts=call.accounts,
                args=call.args,
                signers=call.signers,
                before=call.before,
            )
        self.compare(call.ix, call.name, call.args, here, outcome)

    # --- accounts

    def _take_fee(self, payer: Pubkey, fee: int) -> None:
        left = self.simulator.lamports(payer)
        if left:
            self.simulator.put_wallet(payer, left - fee)

    def _load(self, key: Pubkey, account: Account | None) -> None:
        """Put an account of the chain into the simulator."""
        if account is None or account.executable:
            return
        data = bytes(account.data)
        self.simulator.put_wallet(key, account.lamports)
        if account.owner == self.address and self._load_state(key, data):
            return
        is_tokens = str(account.owner) in TOKEN_PROGRAMS and not _is_odd_mint(data)
        if is_tokens and self._load_tokens(key, account):
            return
        if data or account.owner != SYSTEM_PROGRAM:
            self.simulator.put_data(key, program=account.owner, data=data)

    def _load_state(self, key: Pubkey, data: bytes) -> bool:
        try:
            name, fields = self.program.decode_account(data)
        except DecodeError:
            return False
        state = self.simulator.new_state(name)
        self.simulator.set_fields(state, fields)
        self.simulator.put_state(key, state)
        return True

    def _load_tokens(self, key: Pubkey, account: Account) -> bool:
        data, program = bytes(account.data), account.owner
        held = tokens.parse_token_account(data)
        if held is not None:
            self.simulator.put_tokens(
                key,
                mint=held.mint,
                owner=held.owner,
                amount=held.amount,
                delegate=held.delegate,
                delegated_amount=held.delegated_amount,
                is_frozen=held.state == tokens.TokenAccountState.FROZEN,
                program=program,
                extensions=data[166:],
            )
            return True
        mint = tokens.parse_mint(data)
        if mint is None:
            return False
        self.simulator.put_mint(
            key,
            authority=mint.mint_authority,
            supply=mint.supply,
            decimals=mint.decimals,
            program=program,
            extensions=data[166:],
        )
        return True


def _is_odd_mint(data: bytes) -> bool:
    """Is this a mint with bytes between its parts, which the simulator does not keep?"""
    is_mint = tokens.parse_mint(data) is not None
    return is_mint and any(data[tokens.MINT_SIZE : tokens.TOKEN_ACCOUNT_SIZE])


def _fee(instructions: Sequence[Instruction], signers: Sequence[Pubkey]) -> int:
    """Return the fee of a transaction without a priority fee. Signatures that a precompile checks cost as much."""
    checked = sum(
        bytes(ix.data)[0] for ix in instructions if ix.program_id == ED25519_PROGRAM
    )
    return FEE * (len(set(signers)) + checked)
