"""The chain that a program is attacked on: a LiteSVM with the program, and what good calls of it need.

A scenario file (attack.py beside the spec) has a function for each instruction whose good call cannot be made up; it
gets a `Scene` and returns a `Call`:

    def withdraw(scene: Scene) -> Call:
        owner, mint = scene.wallet("owner"), scene.mint()
        scene.send("initialize", {}, {"mint": mint, "authority": owner})
        return Call({"amount": 5}, {"mint": mint, "authority": owner})

Keys are made from names alone, so that a run gives the same addresses, and the same answers, as the one before.
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
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.solana.tokens import Mint, TokenAccount

if TYPE_CHECKING:
    from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

    from mcpsol_py.program import Program

__all__ = ["TOKEN_2022_PROGRAM", "TOKEN_PROGRAM", "Call", "Outcome", "Scene", "Snapshot"]

#: 14 November 2023: a time after everything's beginning, and the same in each run.
NOW = 1_700_000_000
SLOT = 10_000
_RICH = 10**12
_FUNDED = 10**10


@dataclass(frozen=True, slots=True)
class Call:
    """A good call of one instruction: what is not given is made up.

    `args` and `accounts` by name. An account is a Keypair, a Pubkey or base58 text, and stands as the scene has it;
    None leaves an optional one out. `remaining`: accounts behind the named ones. `before`: instructions that stand
    before it in the same transaction.
    """

    args: Mapping[str, Any] = field(default_factory=dict)
    accounts: Mapping[str, Any] = field(default_factory=dict)
    remaining: Sequence[AccountMeta] = ()
    before: Sequence[Instruction] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a transaction. `error` is the SVM's own ("" for success), `logs` all lines."""

    error: Any
    logs: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """It went through."""
        return self.error is None


#: address -> the account, None where there is none
Snapshot = dict[Pubkey, "Account | None"]


class Scene:
    """A chain of its own with the program on it. `svm` is the LiteSVM itself, for what is not offered here.

    Transactions are paid by a wallet of the scene's own, which is no party to any instruction.
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
        #: whose mints and token accounts are made, where the program takes either
        self.token_program = token_program
        self.transport = SvmTransport(features=features)
        self.svm = self.transport.svm
        self.transport.add_program(program_id, elf)
        #: every key pair that was handed out, by its address: who can sign
        self.keys: dict[Pubkey, Keypair] = {}
        self.payer = self.wallet("fee payer", _RICH)
        self.set_clock(NOW, SLOT)

    # --- keys, wallets ------------------------------------------------------------------------------------------------

    def key(self, name: str) -> Keypair:
        """The key pair of that name, with nothing at its address yet."""
        made = Keypair.from_seed(sha256(b"mcpsol attack: " + name.encode()).digest())
        self.keys[made.pubkey()] = made
        return made

    def wallet(self, name: str, lamports: int = _FUNDED) -> Keypair:
        """A wallet of that name, with lamports."""
        made = self.key(name)
        if not self.svm.get_balance(made.pubkey()):
            self.put(made.pubkey(), b"", SYSTEM_PROGRAM, lamports)
        return made

    # --- accounts -----------------------------------------------------------------------------------------------------

    def put(self, at: object, data: bytes, owner: Pubkey, lamports: int | None = None) -> Pubkey:
        """Puts an account in place, as no transaction could; its address. Lamports: the rent, if not given."""
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
        """A mint with a supply of 10**15 base units, of the scene's token program; `authority` may mint more."""
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
        """A token account; at the owner's associated address, if no other is given. Its token program is the mint's."""
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
        """State of the program: an account of type *name* with these fields, its discriminator before them."""
        return self.put(at, self.program.encode_account(name, values), self.program_id)

    def pda(self, *seeds: bytes, program: Pubkey | None = None) -> Pubkey:
        """The address that the program (or another one) derives from seeds."""
        return Pubkey.find_program_address(list(seeds), program or self.program_id)[0]

    def account(self, at: object) -> Account | None:
        """What stands at an address; None where nothing does, or a closed account was left."""
        found = self.svm.get_account(_address(at))
        return None if found is None or (found.lamports == 0 and not found.data) else found

    def read(self, at: object) -> dict[str, Any]:
        """The fields of an account of the program's state. Raises DecodeError."""
        found = self.account(at)
        return dict(self.program.decode_account(b"" if found is None else bytes(found.data))[1])

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
        """Sets the clock: seconds since 1970, and the slot."""
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
        """An instruction of the program, built as a client builds it: addresses that the spec settles are filled in,
        also those that fields of state on this chain settle."""
        from mcpsol_py.program_client import ProgramClient
        from mcpsol_py.sync_client import SyncProgramClient

        client = SyncProgramClient(ProgramClient(self.program, self.transport, self.program_id))
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
        """Calls an instruction for good, to set the scene. Raises SourceError with the log's end where it fails."""
        outcome = self.run([*before, self.build(name, args, accounts, remaining)])
        if not outcome.ok:
            raise SourceError(
                f"the call of {name} failed: {outcome.error}. {' | '.join(outcome.logs[-4:])}"
            )
        return outcome

    def transaction(self, instructions: Sequence[Instruction]) -> VersionedTransaction:
        """A transaction, signed by all whose signature it needs. Raises MissingSigner for a key that is not the
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
        """Sends a transaction; a block passes before it, so that the same one may be sent again."""
        self.svm.expire_blockhash()
        result: TransactionMetadata | FailedTransactionMetadata
        result = self.svm.send_transaction(self.transaction(instructions))
        return _outcome(result)

    def rehearse(self, instructions: Sequence[Instruction]) -> Outcome:
        """What `run` would give; nothing is kept."""
        return _outcome(self.svm.simulate_transaction(self.transaction(instructions)))

    # --- before and after ---------------------------------------------------------------------------------------------

    def snapshot(self, keys: Iterable[Pubkey]) -> Snapshot:
        """The accounts at these addresses, whole. The fee payer is left out: the fee is paid in any case."""
        return {key: self.account(key) for key in keys if key != self.payer.pubkey()}

    def restore(self, snapshot: Snapshot) -> None:
        """Puts back what has changed since the snapshot."""
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
        raise SourceError(f"{value!r} is no address: give a Keypair, a Pubkey or base58 text")
    return found
