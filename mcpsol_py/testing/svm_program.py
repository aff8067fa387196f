"""The compiled program in an SVM, set up and called as the simulator is.

The SVM checks no signatures, since every key of a test is known; a program still sees who signs. So a call takes less
time than a signed transaction.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import DecodeError
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.lamports import existing, lamports_of
from mcpsol_py.solana.tokens import Mint, TokenAccount, read_token_account
from mcpsol_py.testing.failures import failure_name
from mcpsol_py.testing.keys import address, key_pair

__all__ = ["Event", "SvmOutcome", "SvmProgram"]

_EVENT = "Program data: "


@dataclass(frozen=True, slots=True)
class Event:
    """An event that a program logged: its name, and its fields as Python values."""

    name: str
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SvmOutcome:
    """How a call ended in the SVM. `error`: the name of the error that refused it, "" if it succeeded.

    `units`: the compute units of the whole transaction. A refused call has no events and returns nothing. `carried`:
    the bytes that come with the program's error.
    """

    error: str
    events: tuple[Event, ...]
    returned: Any
    units: int
    logs: tuple[str, ...]
    accounts: dict[str, Pubkey | None]
    carried: bytes = b""


class SvmProgram:
    """A compiled program in an SVM of its own. `svm` is the LiteSVM, for everything else."""

    def __init__(
        self,
        program: Program,
        elf: bytes | str | PathLike[str],
        *,
        at: object = None,
        features: str = "default",
    ) -> None:
        """`elf`: the compiled program or its path. `at`: its address, the source's if not given.

        `features`: "all" for a program that was built with the standard library. Raises TransportError for bytes that
        the SVM cannot load.
        """
        self.program = program
        self.program_id = address(at or program.address or key_pair(program.name))
        plain = SvmTransport(features=features)
        plain.svm = plain.svm.with_sigverify(False).with_blockhash_check(False)
        plain.svm = plain.svm.with_transaction_history(0)
        plain.add_program(self.program_id, elf if isinstance(elf, bytes) else Path(elf))
        self.svm: LiteSVM = plain.svm
        self.payer = key_pair("fee payer").pubkey()
        self.put_wallet(self.payer, 10**15)
        self._blockhash = self.svm.latest_blockhash()

    # --- what is there before a call

    def set_clock(
        self, *, unix_timestamp: int | None = None, slot: int | None = None
    ) -> None:
        """Set what the clock shows."""
        clock = self.svm.get_clock()
        clock.unix_timestamp = (
            clock.unix_timestamp if unix_timestamp is None else unix_timestamp
        )
        clock.slot = clock.slot if slot is None else slot
        self.svm.set_clock(clock)

    def put_wallet(self, at: object, lamports: int) -> None:
        """Give a wallet lamports."""
        self.put(at, b"", SYSTEM_PROGRAM, lamports)

    def put_state(self, at: object, kind: str, fields: Mapping[str, Any]) -> None:
        """Put state of the program at an address: an account of type *kind*, with the rent of its size."""
        self.put(at, self.program.encode_account(kind, fields), self.program_id)

    def put_tokens(
        self,
        at: object,
        *,
        mint: object,
        owner: object,
        amount: int,
        delegate: object = None,
    ) -> None:
        """Put a token account of SPL Token at an address."""
        held = TokenAccount(address(mint), address(owner), amount)
        self.put(at, held.to_bytes(), TOKEN_PROGRAM)

    def put_mint(
        self,
        at: object,
        *,
        authority: object = None,
        supply: int = 0,
        decimals: int = 0,
    ) -> None:
        """Put a mint of SPL Token at an address."""
        owner = None if authority is None else address(authority)
        data = Mint(owner, supply=supply, decimals=decimals).to_bytes()
        self.put(at, data, TOKEN_PROGRAM)

    def put(
        self, at: object, data: bytes, owner: object, lamports: int | None = None
    ) -> None:
        """Put any account at an address. `lamports`: the rent of its data, if not given."""
        if lamports is None:
            lamports = self.svm.minimum_balance_for_rent_exemption(len(data))
        self.svm.set_account(address(at), Account(lamports, data, address(owner)))

    # --- what is there after it

    def account(self, at: object) -> Account | None:
        """Return the account at an address, None without one."""
        return existing(self.svm.get_account(address(at)))

    def state(self, at: object) -> dict[str, Any]:
        """Return the fields of the state at an address. Raises DecodeError."""
        found = self.account(at)
        return dict(
            self.program.decode_account(b"" if found is None else found.data)[1]
        )

    def tokens(self, at: object) -> int:
        """Return the tokens in a token account. Raises DecodeError."""
        found = read_token_account(self.account(at))
        if found is None:
            raise DecodeError(
                f"there is no token account at {address(at)}", path="tokens"
            )
        return found.amount

    def lamports(self, at: object) -> int:
        """Return the lamports of an account, 0 without one."""
        return lamports_of(self.account(at))

    # --- calls

    def call(
        self,
        instruction: str,
        *,
        accounts: Mapping[str, Any] | None = None,
        args: Mapping[str, Any] | None = None,
        signers: Iterable[object] | None = None,
        remaining: Iterable[AccountMeta] = (),
    ) -> SvmOutcome:
        """Call an instruction, and return how it ended. Accounts that follow from the others may be left out.

        `signers`: by default, every account that has to sign. Raises MissingAccount, UnknownName and EncodeError for a
        call that cannot be made.
        """
        known = self.program.instruction(instruction)
        built = self.build(known, accounts or {}, args or {}, remaining)
        if signers is not None:
            built = _signed_by(built, {address(signer) for signer in signers})
        return self.send(known, built)

    def build(
        self,
        known: ProgramInstruction,
        accounts: Mapping[str, Any],
        args: Mapping[str, Any],
        remaining: Iterable[AccountMeta] = (),
    ) -> Instruction:
        """Build an instruction, with the accounts that follow from the given ones. Raises as `call` does."""
        given = {name: _account(value) for name, value in accounts.items()}
        if len(given) == len(known.plan.leaves) and not known.model.arg_values:
            return known.build(args, given, self.program_id, remaining=tuple(remaining))
        resolution = known.plan.resolve(
            args,
            given,
            program_id=self.program_id,
            remaining=tuple(remaining),
            online=True,
        )
        while wanted := resolution.wanted():
            resolution.supply((key, self.account(key)) for key in wanted)
        data = known.encode(resolution.complete_args())
        return Instruction(self.program_id, data, resolution.metas())

    def send(self, known: ProgramInstruction, built: Instruction) -> SvmOutcome:
        """Send a call of the instruction *known*, and return how it ended."""
        message = Message.new_with_blockhash([built], self.payer, self._blockhash)
        unsigned = [Signature.default()] * message.header.num_required_signatures
        result = self.svm.send_transaction(
            VersionedTransaction.populate(message, unsigned)
        )
        accounts = _by_name(known, built)
        if isinstance(result, FailedTransactionMetadata):
            meta = result.meta()
            logs = tuple(meta.logs())
            error = failure_name(self.program, result.err(), logs)
            units, data = meta.compute_units_consumed(), meta.return_data()
            # A transaction that leaves too little rent fails after the program has returned.
            failed = any(
                line.startswith(f"Program {self.program_id} failed") for line in logs
            )
            is_own = failed and data.program_id == self.program_id
            carried = bytes(data.data) if is_own else b""
            return SvmOutcome(error, (), None, units, logs, accounts, carried)
        logs = tuple(result.logs())
        events = tuple(self._event(line) for line in logs if line.startswith(_EVENT))
        returned = _returned(known, result)
        units = result.compute_units_consumed()
        return SvmOutcome("", events, returned, units, logs, accounts)

    def _event(self, line: str) -> Event:
        return Event(
            *self.program.decode_event(base64.b64decode(line.removeprefix(_EVENT)))
        )


def _account(value: Any) -> Any:
    """Return an account of a call as a solders address. None and groups stay as they are."""
    return (
        value
        if value is None or isinstance(value, (Pubkey, Mapping))
        else address(value)
    )


def _signed_by(built: Instruction, signers: set[Pubkey]) -> Instruction:
    metas = [
        AccountMeta(meta.pubkey, meta.pubkey in signers, meta.is_writable)
        for meta in built.accounts
    ]
    return Instruction(built.program_id, built.data, metas)


def _by_name(known: ProgramInstruction, built: Instruction) -> dict[str, Pubkey | None]:
    """Return the accounts of a call by name."""
    keys = (meta.pubkey for meta in built.accounts)
    return dict(zip(known.accounts, keys, strict=False))


def _returned(known: ProgramInstruction, result: Any) -> Any:
    if known.model.returns is None:
        return None
    return known.decode_return(bytes(result.return_data().data))
