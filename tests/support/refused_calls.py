"""What counter and vault refuse, by which error: the same for every render target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from tests.functional.canaries import svm_without_stack_gaps
from tests.support import counter_chain as counter
from tests.support import vault_chain as vault
from tests.support.counter_chain import u64

U64_MAX = 2**64 - 1


SYSTEM = counter.SYSTEM


class Counted(counter.CounterChain):
    """A counter of the wallet, and one of `other`."""

    def __init__(self, so: Path) -> None:
        super().__init__(so, svm_without_stack_gaps())
        self.other = self.new_wallet()
        self.me = self.wallet.pubkey()
        self.counter = counter.counter_of(self.me)

    def fill(self) -> Counted:
        """The wallet's counter at 5, the other's at 7."""
        self.ok(self.call("initialize", u64(5)))
        self.ok(
            counter.call("initialize", u64(7), self.other.pubkey()),
            signers=[self.other],
        )
        return self

    def call(self, name: str, data: bytes = b"", **changed: object) -> Instruction:
        return counter.call(name, data, self.me, **changed)  # type: ignore[arg-type]

    def put(self, data: bytes, owner: Pubkey = counter.PROGRAM) -> Pubkey:
        return super().put(data, owner)

    def genuine(self) -> bytes:
        found = self.svm.get_account(self.counter)
        assert found is not None
        return found.data

    def watched(self) -> list[Pubkey]:
        return [self.counter, counter.counter_of(self.other.pubkey())]


class Filled(vault.VaultChain):
    """A vault of the wallet, and `other` who has none."""

    def __init__(self, so: Path) -> None:
        super().__init__(so, svm_without_stack_gaps())
        self.other = self.new_wallet()

    def fill(self) -> Filled:
        """600 of the wallet's 1,000 tokens in the vault."""
        self.ok(self.initialize())
        self.ok(self.deposit(600))
        return self

    def genuine(self) -> bytes:
        found = self.svm.get_account(self.vault)
        assert found is not None
        return found.data


def without(instruction: Instruction, last: int) -> Instruction:
    """The same with the last accounts left out."""
    return Instruction(
        instruction.program_id,
        instruction.data,
        instruction.accounts[: len(instruction.accounts) - last],
    )


def with_data(instruction: Instruction, data: bytes) -> Instruction:
    return Instruction(instruction.program_id, data, instruction.accounts)


def unsigned(instruction: Instruction, index: int) -> Instruction:
    """The same, where the account at *index* does not sign."""
    metas = list(instruction.accounts)
    metas[index] = AccountMeta(metas[index].pubkey, False, metas[index].is_writable)
    return Instruction(instruction.program_id, instruction.data, metas)


@dataclass(frozen=True)
class Row:
    """A call that is refused: its error's name, and Anchor's own where that is another. `by`: who signs and pays."""

    what: str
    call: Callable[[Counted], Instruction] | Callable[[Filled], Instruction]
    error: str
    anchor: str = ""
    by: str = "wallet"


COUNTER = [
    Row(
        "made twice",
        lambda c: c.call("initialize", u64(1)),
        "AccountDiscriminatorAlreadySet",
        "already in use",
    ),
    Row(
        "made at another address",
        lambda c: c.call("initialize", u64(1), counter=Pubkey.new_unique()),
        "ConstraintSeeds",
    ),
    Row(
        "made for who does not sign",
        lambda c: c.call("initialize", u64(1), signs=False),
        "AccountNotSigner",
        by="other",
    ),
    Row(
        "no signature",
        lambda c: c.call("increment", u64(1), signs=False),
        "AccountNotSigner",
        by="other",
    ),
    Row(
        "not writable",
        lambda c: c.call("increment", u64(1), writable=False),
        "ConstraintMut",
    ),
    Row(
        "another's counter",
        lambda c: c.call(
            "increment", u64(1), counter=counter.counter_of(c.other.pubkey())
        ),
        "ConstraintHasOne",
        "ConstraintSeeds",
    ),
    Row(
        "no counter there",
        lambda c: c.call("increment", u64(1), counter=Pubkey.new_unique()),
        "AccountNotInitialized",
    ),
    Row(
        "owned by another program",
        lambda c: c.call("increment", u64(1), counter=c.put(c.genuine(), vault.TOKEN)),
        "AccountOwnedByWrongProgram",
    ),
    Row(
        "another type of account",
        lambda c: c.call(
            "increment", u64(1), counter=c.put(b"\1" * 8 + c.genuine()[8:])
        ),
        "AccountDiscriminatorMismatch",
    ),
    Row(
        "no room for a discriminator",
        lambda c: c.call("increment", u64(1), counter=c.put(b"\1" * 4)),
        "AccountDiscriminatorNotFound",
    ),
    Row(
        "state cut short",
        lambda c: c.call("increment", u64(1), counter=c.put(c.genuine()[:-1])),
        "AccountDidNotDeserialize",
    ),
    Row(
        "the same state elsewhere",
        lambda c: c.call("increment", u64(1), counter=c.put(c.genuine())),
        "ConstraintSeeds",
    ),
    Row(
        "a counter that names another",
        lambda c: forged_counter(c).call("increment", u64(1)),
        "ConstraintHasOne",
    ),
    Row(
        "too few accounts",
        lambda c: without(c.call("increment", u64(1)), 1),
        "AccountNotEnoughKeys",
    ),
    Row(
        "no accounts",
        lambda c: without(c.call("increment", u64(1)), 2),
        "AccountNotEnoughKeys",
    ),
    Row("no arguments", lambda c: c.call("increment"), "InstructionDidNotDeserialize"),
    Row(
        "arguments cut short",
        lambda c: c.call("increment", u64(1)[:7]),
        "InstructionDidNotDeserialize",
    ),
    Row(
        "a byte too many",
        lambda c: c.call("increment", u64(1) + b"\0"),
        "InstructionDidNotDeserialize",
    ),
    Row(
        "data behind no arguments",
        lambda c: c.call("close", b"\0"),
        "InstructionDidNotDeserialize",
    ),
    Row("over the top", lambda c: c.call("increment", u64(U64_MAX)), "Overflow"),
    Row("below zero", lambda c: c.call("decrement", u64(6)), "Underflow"),
    Row("closed while it counts", lambda c: c.call("close"), "NotZero"),
    Row(
        "no such instruction",
        lambda c: with_data(c.call("close"), b"\7" * 8),
        "InstructionFallbackNotFound",
    ),
    Row(
        "half a discriminator",
        lambda c: with_data(c.call("close"), b"\7" * 4),
        "InstructionFallbackNotFound",
    ),
    Row(
        "no data at all",
        lambda c: with_data(c.call("close"), b""),
        "InstructionFallbackNotFound",
    ),
    Row(
        "another system program",
        lambda c: Instruction(
            counter.PROGRAM,
            c.call("initialize", u64(1)).data,
            [
                AccountMeta(counter.counter_of(c.wallet.pubkey()), False, True),
                AccountMeta(c.me, True, True),
                AccountMeta(vault.TOKEN, False, False),
            ],
        ),
        "InvalidProgramId",
    ),
]


def forged_counter(c: Counted) -> Counted:
    """At the counter's own address stands one that names somebody else, which no call can bring about."""
    data = c.genuine()
    c.svm.set_account(
        c.counter,
        Account(10**9, data[:8] + bytes(c.other.pubkey()) + data[40:], counter.PROGRAM),
    )
    return c


def forged_vault(c: Filled) -> Filled:
    """The same of a vault."""
    data = c.genuine()
    c.svm.set_account(
        c.vault,
        Account(10**9, data[:8] + bytes(c.other.pubkey()) + data[40:], vault.PROGRAM),
    )
    return c


def stolen(c: Filled) -> Instruction:
    """A withdrawal by somebody else, into their own pocket."""
    pocket = c.new_tokens(c.mint, c.other.pubkey(), 0)
    return c.withdraw(1, authority=c.other.pubkey(), destination=pocket)


VAULT = [
    Row(
        "made twice",
        lambda c: c.initialize(),
        "AccountDiscriminatorAlreadySet",
        "already in use",
    ),
    Row(
        "made at another address",
        lambda c: c.initialize(vault=Pubkey.new_unique()),
        "ConstraintSeeds",
    ),
    Row(
        "no mint",
        lambda c: c.initialize(mint=c.purse),
        "AccountDidNotDeserialize",
        "InvalidAccountData",
    ),
    Row("nothing put in", lambda c: c.deposit(0), "ZeroAmount"),
    Row("nothing taken out", lambda c: c.withdraw(0), "ZeroAmount"),
    Row("more than there is", lambda c: c.withdraw(601), "NotEnoughTokens"),
    Row("another authority", stolen, "WrongAuthority", "ConstraintSeeds", by="other"),
    Row(
        "no signature",
        lambda c: c.withdraw(1, signs=False),
        "AccountNotSigner",
        by="other",
    ),
    Row(
        "no signature to deposit",
        lambda c: unsigned(c.deposit(1), 4),
        "AccountNotSigner",
        by="other",
    ),
    Row(
        "another mint",
        lambda c: c.withdraw(1, mint=c.new_mint()),
        "ConstraintHasOne",
        "ConstraintSeeds",
    ),
    Row(
        "a vault that names another authority",
        lambda c: forged_vault(c).withdraw(1),
        "WrongAuthority",
    ),
    Row(
        "tokens of another mint out",
        lambda c: c.withdraw(1, destination=c.new_tokens(c.new_mint(), c.me, 1)),
        "ConstraintTokenMint",
    ),
    Row(
        "tokens of another mint in",
        lambda c: c.deposit(1, source=c.new_tokens(c.new_mint(), c.me, 1)),
        "ConstraintTokenMint",
    ),
    Row(
        "somebody else's tokens in",
        lambda c: c.deposit(1, source=c.new_tokens(c.mint, c.other.pubkey(), 1)),
        "ConstraintTokenOwner",
    ),
    Row(
        "another token account of the vault's",
        lambda c: c.withdraw(1, tokens=c.new_tokens(c.mint, c.vault, 9)),
        "ConstraintSeeds",
    ),
    Row(
        "tokens that no token program knows",
        lambda c: c.withdraw(
            1, tokens=c.put(vault.token_data(c.mint, c.vault, 9), SYSTEM)
        ),
        "AccountOwnedByWrongProgram",
    ),
    Row(
        "a token account that is not initialized",
        lambda c: c.withdraw(
            1, tokens=c.put(vault.token_data(c.mint, c.vault, 9, state=0))
        ),
        "AccountDidNotDeserialize",
        "UninitializedAccount",
    ),
    Row(
        "out and in the same",
        lambda c: c.withdraw(1, destination=c.tokens),
        "ConstraintDuplicateMutableAccount",
    ),
    Row(
        "in and out the same",
        lambda c: c.deposit(1, source=c.tokens),
        "ConstraintDuplicateMutableAccount",
    ),
    Row(
        "another token program",
        lambda c: c.withdraw(1, token_program=vault.PROGRAM),
        "InvalidProgramId",
    ),
    Row(
        "a vault elsewhere",
        lambda c: c.deposit(1, vault=c.put(c.genuine(), vault.PROGRAM)),
        "ConstraintTokenOwner",
        "ConstraintSeeds",
    ),
    Row(
        "a vault that the system program owns",
        lambda c: c.withdraw(1, vault=c.put(c.genuine(), SYSTEM)),
        "AccountOwnedByWrongProgram",
    ),
    Row(
        "another type of account",
        lambda c: c.withdraw(
            1, vault=c.put(b"\1" * 8 + c.genuine()[8:], vault.PROGRAM)
        ),
        "AccountDiscriminatorMismatch",
    ),
    Row(
        "too few accounts", lambda c: without(c.withdraw(1), 1), "AccountNotEnoughKeys"
    ),
    Row(
        "arguments cut short",
        lambda c: with_data(c.withdraw(1), c.withdraw(1).data[:-1]),
        "InstructionDidNotDeserialize",
    ),
    Row(
        "a byte too many",
        lambda c: with_data(c.withdraw(1), c.withdraw(1).data + b"\0"),
        "InstructionDidNotDeserialize",
    ),
]
