"""Lists and the accounts after the named ones, when a body runs in Python."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey as Key

from mcpsol_py.spec import (
    Array,
    Payer,
    Pubkey,
    Signer,
    Struct,
    error,
    instruction,
    program,
    require,
    u8,
    u16,
    u64,
)
from mcpsol_py.spec import sha256 as hash_of
from mcpsol_py.testing import Simulator


class Part(Struct):
    to: Pubkey
    bps: u16


def whole(parts: list[Part]) -> u64:
    total = u64(0)
    for i, part in enumerate(parts):
        for j, other in enumerate(parts):
            if j == i:
                break
            require(other.to != part.to, Votes.Twice)
        total += u64(part.bps)
    return total


@program(name="votes", address="J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")
class Votes:
    Twice = error("One is given twice")
    TooFew = error("Too few")

    @instruction
    def split(self, payer: Payer, parts: list[Part], hash: Array[u8, 32]) -> u64:
        """Return the sum of all parts, whose hash is known."""
        require(hash_of(parts) == hash, self.TooFew)
        return whole(parts)

    @instruction
    def agree(
        self, payer: Payer, *voters: Signer, flags: list[bool], shares: list[u64]
    ) -> u64:
        """Return the number of what holds: 1 for each flag, 2, 4, 8 and 16 for conditions."""
        found = u64(1) if all(flags) else u64(0)
        if any(share + 1 == 8 for share in shares):
            found += 2
        if all(
            share > 3 and voter.address != payer.address
            for voter, share in zip(voters, shares, strict=True)
        ):
            found += 4
        if all(u64(i) < share for i, share in enumerate(shares) if share != 9):
            found += 8
        if any(flags) and any(all(i != j for j in range(3)) for i in range(2, 5)):
            found += 16
        return found

    @instruction
    def vote(self, payer: Payer, *voters: Signer, least: u8, chair: Pubkey) -> u64:
        """Count the voters; the chair counts twice."""
        count = u64(len(voters))
        for voter in voters:
            if voter.address == chair:
                count += 1
        require(count >= u64(least), self.TooFew)
        return count


U64_MAX = 2**64 - 1
WHO = [Key.new_unique() for _ in range(3)]
PAYER = Keypair().pubkey()
VOTE: dict[str, Any] = {"payer": PAYER, "voters": WHO}


def split(*parts: tuple[Key, int]) -> object:
    given = [{"to": to, "bps": bps} for to, bps in parts]
    packed = b"".join(bytes(to) + bps.to_bytes(2, "little") for to, bps in parts)
    digest = sha256(len(parts).to_bytes(4, "little") + packed).digest()
    args = {"parts": given, "hash": digest}
    outcome = Simulator(Votes).call("split", accounts={"payer": PAYER}, args=args)
    return outcome.error or int(outcome.returned)


def test_a_list_is_gone_over_and_hashed_as_an_instruction_carries_it() -> None:
    assert split((WHO[0], 5), (WHO[1], 7)) == 12
    assert split() == 0
    assert split((WHO[0], 5), (WHO[1], 1), (WHO[0], 7)) == "Twice"


@pytest.mark.parametrize(
    ("signers", "outcome"), [(None, 4), (WHO, "AccountNotSigner"), ([PAYER, *WHO], 4)]
)
def test_the_accounts_after_the_named_ones_are_counted(
    signers: list[Key] | None, outcome: object
) -> None:
    simulator = Simulator(Votes)
    args = {"least": 4, "chair": WHO[1]}
    done = simulator.call("vote", accounts=VOTE, args=args, signers=signers)
    assert (done.error or int(done.returned)) == outcome


def test_each_of_them_has_to_sign() -> None:
    args = {"least": 1, "chair": WHO[1]}
    done = Simulator(Votes).call(
        "vote", accounts=VOTE, args=args, signers=[PAYER, *WHO[1:]]
    )
    assert done.error == "AccountNotSigner"


def test_there_may_be_none_of_them() -> None:
    args = {"least": 1, "chair": WHO[1]}
    done = Simulator(Votes).call("vote", accounts={"payer": PAYER}, args=args)
    assert done.error == "TooFew"


@pytest.mark.parametrize(
    ("flags", "shares", "outcome"),
    [
        ([], [5, 6, 7], 1 + 2 + 4 + 8),
        ([True, False], [5, 6, 4], 4 + 8 + 16),
        ([False], [0, 9, 8], 0),
        ([True], [9, 9, 9], 1 + 4 + 8 + 16),
        # what comes after the item that decides is not looked at
        ([True], [7, U64_MAX, 0], 1 + 2 + 16),
        ([True], [U64_MAX, 7, 0], "ArithmeticOverflow"),
        # lengths are compared first
        ([True], [7], "InvalidArgument"),
    ],
)
def test_conditions_on_all_or_any_of_them(
    flags: list[bool], shares: list[int], outcome: object
) -> None:
    args = {"flags": flags, "shares": shares}
    done = Simulator(Votes).call("agree", accounts=VOTE, args=args)
    assert (done.error or int(done.returned)) == outcome
