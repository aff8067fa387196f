"""The chain on which a program is attacked: a LiteSVM with the program, and helpers to put accounts on it.

A scenario file (attack.py beside the spec) has a function for each instruction whose good call cannot be made up. It
takes a `Scene` and returns a `Call`:

    def withdraw(scene: Scene) -> Call:
        owner, mint = scene.wallet("owner"), scene.mint()
        scene.send("initialize", {}, {"mint": mint, "authority": owner})
        return Call({"amount": 5}, {"mint": mint, "authority": owner})

Keys are made from names alone, so that each run has the same addresses and the same results.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import MissingSigner, SourceError
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.lamports import existing
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import Mint, TokenAccount

if TYPE_CHECKING:
    from solders.transaction_metadata import (
        FailedTransactionMetadata,
        TransactionMetadata,
    )

    from mcpsol_py.program import Program

__all__ = [
    "TOKEN_2022_PROGRAM",
    "TOKEN_PROGRAM",
    "Call",
    "Outcome",
    "Scene",
    "Snapshot",
]

#: 14 November 2023. Every run starts at this time.
NOW = 1_700_000_000
SLOT = 10_000
_RICH = 10**12
_FUNDED = 10**10


@dataclass(frozen=True, slots=True)
class Call:
    """A good call of one instruction. Arguments and accounts that are not given are made up.

    `args` and `accounts` by name. An account is a Keypair, a Pubkey or base58 text, and is used as it is on the chain;
    None leaves an optional account out. `remaining`: accounts after the named ones. `before`: instructions before this
    one in the same transaction.
    """

    args: Mapping[str, Any] = field(default_factory=dict)
    accounts: Mapping[str, Any] = field(default_factory=dict)
    remaining: Sequence[AccountMeta] = ()
    before: Sequence[Instruction] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a transaction ended. `error` is the SVM's own (None for success), `logs` has all lines."""

    error: Any
    logs: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """The transaction succeeded."""
        return self.error is None


#: Address -> the account, or None for no account.
Snapshot = dict[Pubkey, "Account | None"]


class Scene:
    """A chain with the program on it. `svm` is the LiteSVM itself, for everything else.

    The scene's own wallet pays for transactions. It takes no part in the instructions.
    """

    def __init__(
        self,
        program: Program,
        program_id: Pubkey,
        elf: bytes,
        *,
        features: str = "default",
        token_program: Pubkey = TOKEN_PROGRAM,
    ) -> None:
        self.program = program
        self.program_id = program_id
        self.elf = elf
        #: the program of new mints and token accounts, if the attacked program takes either
        self.token_program = token_program
        self.transport = SvmTransport(features=features)
        self.svm = self.transport.svm
        self.transport.add_program(program_id, elf)
        #: all key pairs that can sign, by address
        self.keys: dict[Pubkey, Keypair] = {}
        self.payer = self.wallet("fee payer", _RICH)
        self.set_clock(NOW, SLOT)

    # --- keys, wallets ------------------------------------------------------------------------------------------------

    def key(self, name: str) -> Keypair:
        """Return the key pair of that name, without an account."""
        made = Keypair.from_seed(sha256(b"mcpsol attack: " + name.encode()).digest())
        self.keys[made.pubkey()] = made
        return made

    def wallet(self, name: str, lamports: int = _FUNDED) -> Keypair:
        """Return the wallet of that name, with lamports."""
        made = self.key(name)
        if not self.svm.get_balance(made.pubkey()):
            self.put(made.pubkey(), b"", SYSTEM_PROGRAM, lamports)
        return made

    # --- accounts -----------------------------------------------------------------------------------------------------

    def put(
        self, at: object, data: bytes, owner: Pubkey, lamports: int | None = None
    ) -> Pubkey:
        """Put any account on the chain and return its address. *lamports* defaults to the rent."""
        key = _address(at)
        if lamports is None:
            lamports = self.svm.minimum_balance_for_rent_exemption(len(data))
        self.svm.set_account(key, Account(lamports, data, owner))
        return key

    def mint(
        self,
        name: str = "mint",
        *,
        decimals: int = 6,
        authority: object = None,
        token_program: Pubkey | None = None,
        at: object = None,
    ) -> Pubkey:
        """Put a mint with a supply of 10**15 base units on the chain. *authority* may mint more."""
        owner = None if authority is None else _address(authority)
        return self.put(
            at or self.key(f"mint {name}"),
            Mint(owner, supply=10**15, decimals=decimals).to_bytes(),
            token_program or self.token_program,
        )

    def tokens(
        self,
        mint: object,
        owner: object,
        amount: int = 10**9,
        *,
        at: object = None,
        token_program: Pubkey | None = None,
    ) -> Pubkey:
        """Put a token account on the chain, by default at the owner's associated address. Its token program is the
        mint's."""
        of, wallet = _address(mint), _address(owner)
        if token_program is None:
            there = self.account(of)
            token_program = self.token_program if there is None else there.owner
        return self.put(
            at or associated_token(wallet, of, token_program),
            TokenAccount(of, wallet, amount).to_bytes(),
            token_program,
        )

    def state(self, name: str, values: Mapping[str, Any], at: object) -> Pubkey:
        """Put state of the program on the chain: an account of type *name* with these fields."""
        return self.put(at, self.program.encode_account(name, values), self.program_id)

    def pda(self, *seeds: bytes, program: Pubkey | None = None) -> Pubkey:
        """Return the address that the program, or another one, derives from seeds."""
        return Pubkey.find_program_address(list(seeds), program or self.program_id)[0]

    def account(self, at: object) -> Account | None:
        """Return the account at an address; None if it does not exist or was closed."""
        return existing(self.svm.get_account(_address(at)))

    def read(self, at: object) -> dict[str, Any]:
        """Decode an account of the program's state to its fields. Raises DecodeError."""
        found = self.account(at)
        return dict(
            self.program.decode_account(b"" if found is None else bytes(found.data))[1]
        )

    # --- time ---------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The clock's time, in seconds since 1970."""
        return int(self.svm.get_clock().unix_timestamp)

    @property
    def slot(self) -> int:
        """The clock's slot."""
        return int(self.svm.get_clock().slot)

    def set_clock(self, now: int | None = None, slot: int | None = None) -> None:
        """Set the clock: seconds since 1970, and the slot."""
        clock = self.svm.get_clock()
        if now is not None:
            clock.unix_timestamp = now
        if slot is not None:
            clock.slot = slot
        self.svm.set_clock(clock)

    # --- calling ------------------------------------------------------------------------------------------------------

    def build(
        self,
        name: str,
        args: Mapping[str, Any],
        accounts: Mapping[str, Any],
        remaining: Sequence[AccountMeta] = (),
    ) -> Instruction:
        """Build an instruction as a client does. Addresses that follow from the spec or from state on this chain are
        filled in."""
        from mcpsol_py.program_client import ProgramClient
        from mcpsol_py.sync_client import SyncProgramClient

        client = SyncProgramClient(
            ProgramClient(self.program, self.transport, self.program_id)
        )
        built = client.build(name, args, accounts, remaining=list(remaining))
        assert isinstance(built, Instruction)
        return built

    def send(
        self,
        name: str,
        args: Mapping[str, Any],
        accounts: Mapping[str, Any],
        *,
        remaining: Sequence[AccountMeta] = (),
        before: Sequence[Instruction] = (),
    ) -> Outcome:
        """Call an instruction and keep its effects, to set the scene. Raises SourceError with the end of the log."""
        outcome = self.run([*before, self.build(name, args, accounts, remaining)])
        if not outcome.ok:
            raise SourceError(
                f"the call of {name} failed: {outcome.error}. {' | '.join(outcome.logs[-4:])}"
            )
        return outcome

    def transaction(self, instructions: Sequence[Instruction]) -> VersionedTransaction:
        """Make a transaction with all signatures that it needs. Raises MissingSigner for a key that is not the
        scene's."""
        message = Message.new_with_blockhash(
            list(instructions), self.payer.pubkey(), self.svm.latest_blockhash()
        )
        wanted = message.account_keys[: message.header.num_required_signatures]
        missing = [str(key) for key in wanted if key not in self.keys]
        if missing:
            raise MissingSigner(missing)
        return VersionedTransaction(message, [self.keys[key] for key in wanted])

    def run(self, instructions: Sequence[Instruction]) -> Outcome:
        """Send a transaction with a new blockhash, so that the same one can be sent again."""
        self.svm.expire_blockhash()
        result: TransactionMetadata | FailedTransactionMetadata
        result = self.svm.send_transaction(self.transaction(instructions))
        return _outcome(result)

    def rehearse(self, instructions: Sequence[Instruction]) -> Outcome:
        """Simulate a transaction: the outcome of `run`, without its effects."""
        return _outcome(self.svm.simulate_transaction(self.transaction(instructions)))

    # --- before and after ---------------------------------------------------------------------------------------------

    def snapshot(self, keys: Iterable[Pubkey]) -> Snapshot:
        """Return the accounts at these addresses, without the fee payer, which pays in any case."""
        return {key: self.account(key) for key in keys if key != self.payer.pubkey()}

    def restore(self, snapshot: Snapshot) -> None:
        """Put the accounts of a snapshot on the chain, if they differ."""
        for key, account in snapshot.items():
            if self.account(key) != account:
                self.svm.set_account(key, account or Account(0, b"", SYSTEM_PROGRAM))


def _outcome(result: Any) -> Outcome:
    failed = hasattr(result, "err")
    return Outcome(
        result.err() if failed else None,
        tuple(result.meta().logs() if hasattr(result, "meta") else result.logs()),
    )


def _address(value: object) -> Pubkey:
    found = address_of(value)
    if found is None:
        raise SourceError(f"expected a Keypair, a Pubkey or base58 text, got {value!r}")
    return found
