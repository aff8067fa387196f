"""The programs in examples/: random lives, in the simulator and in LiteSVM at once, and what must hold in them."""

from __future__ import annotations

import random
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.build import build_program
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.render import render
from mcpsol_py.sources.spec import read_spec
from mcpsol_py.testing.reached import missed, recording
from tests.functional.targets import REPO
from tests.support.oracle import Oracle

CALLS = 2_000
pytestmark = [pytest.mark.slow, pytest.mark.rust]


def built(name: str, folder: Path) -> Oracle:
    spec = REPO / "examples" / f"{name}.py"
    render(read_spec(spec), out=folder, source=spec.name)
    return Oracle(spec, build_program(folder).so.read_bytes())


def compare(oracle: Oracle, life: Callable[[Oracle, random.Random], None]) -> None:
    """Run lives until enough calls were compared: they reach every error of the spec, and every line of its bodies."""
    r = random.Random(7)
    with recording([oracle.spec]) as reached:
        while oracle.calls < CALLS:
            oracle.start()
            life(oracle, r)
    assert missed(oracle.spec, reached)[0] == []
    assert {error.name for error in oracle.program.model.errors} <= set(oracle.errors)


def at(oracle: Oracle, *seeds: bytes) -> Pubkey:
    return Pubkey.find_program_address(list(seeds), oracle.address)[0]


def held(oracle: Oracle, key: Pubkey) -> int:
    """The tokens in an account, 0 if there is none."""
    try:
        return oracle.simulator.tokens(key)
    except KeyError:
        return 0


# --- escrow ---------------------------------------------------------------------------------------


class Swap:
    """A maker and a taker, each with tokens of one mint, and up to three offers."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        self.maker, self.taker = oracle.wallet(), oracle.wallet()
        self.given, self.wanted = oracle.mint(), oracle.mint()
        owners, mints = (self.maker, self.taker), (self.given, self.wanted)
        self.accounts = {
            (owner.pubkey(), mint): oracle.tokens(mint, owner.pubkey(), 100)
            for owner in owners
            for mint in mints
        }

    def step(self) -> None:
        r, number = self.r, self.r.randrange(3)
        offer = at(
            self.oracle,
            b"offer",
            bytes(self.maker.pubkey()),
            number.to_bytes(8, "little"),
        )
        vault = at(self.oracle, b"vault", bytes(offer))
        common = {"offer": offer, "vault": vault, "maker": self.maker.pubkey()}
        name = r.choice(["make", "make", "take", "take", "take", "cancel"])
        vars(Swap)[name](self, common, number)
        assert self.total(self.given) == self.total(self.wanted) == 200

    def total(self, mint: Pubkey) -> int:
        """The tokens of a mint, in all accounts."""
        ledger = self.oracle.simulator.ledger
        return sum(
            int(each.amount)
            for each in ledger.tokens.values()
            if str(each.mint) == str(mint)
        )

    def mine(self, owner: Keypair, mint: Pubkey) -> Pubkey:
        return self.accounts[owner.pubkey(), mint]

    def make(self, common: dict[str, Pubkey], number: int) -> None:
        wanted = self.r.choice([self.wanted, self.wanted, self.wanted, self.given])
        accounts = common | {"source": self.mine(self.maker, self.given)}
        accounts |= {"given_mint": self.given, "wanted_mint": wanted}
        args = {
            "offer_id": number,
            "given": self.r.choice([0, 5, 30, 101]),
            "wanted": self.r.choice([0, 7, 40]),
        }
        self.oracle.call("make", accounts, args, self.maker)

    def take(self, common: dict[str, Pubkey], number: int) -> None:
        wanted = self.r.choice([self.wanted, self.wanted, self.wanted, self.given])
        accounts = common | {
            "payment": self.mine(self.taker, wanted),
            "income": self.mine(self.maker, wanted),
            "destination": self.mine(self.taker, self.given),
            "taker": self.taker.pubkey(),
            "given_mint": self.given,
            "wanted_mint": wanted,
        }
        args = {
            "most": self.r.choice([6, 50, 2**64 - 1]),
            "least": self.r.choice([0, 5, 31]),
        }
        self.oracle.call("take", accounts, args, self.taker)

    def cancel(self, common: dict[str, Pubkey], number: int) -> None:
        who = self.r.choice([self.maker, self.maker, self.taker])
        accounts = common | {"maker": who.pubkey(), "given_mint": self.given}
        accounts["destination"] = self.mine(self.maker, self.given)
        self.oracle.call("cancel", accounts, {}, who)


def test_the_escrow_is_its_spec(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    def life(oracle: Oracle, r: random.Random) -> None:
        swap = Swap(oracle, r)
        for _ in range(40):
            swap.step()

    compare(built("escrow", tmp_path), life)


# --- vesting --------------------------------------------------------------------------------------


class Granting:
    """A grantor and a beneficiary, and a clock that goes on."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        self.grantor, self.beneficiary = oracle.wallet(), oracle.wallet()
        self.mint = oracle.mint()
        self.source = oracle.tokens(self.mint, self.grantor.pubkey(), 2**62)
        self.purse = oracle.tokens(self.mint, self.beneficiary.pubkey(), 0)
        who, mint = bytes(self.beneficiary.pubkey()), bytes(self.mint)
        self.grant = at(oracle, b"grant", who, mint)
        self.vault = at(oracle, b"vault", bytes(self.grant))
        self.now = 0
        self.common = {"grant": self.grant, "vault": self.vault, "mint": self.mint}

    def step(self) -> None:
        r = self.r
        self.now += r.choice([0, 1, 10, 40, 2**62 if r.random() < 0.03 else 3])
        self.now = min(self.now, 2**63 - 1)
        self.oracle.set_clock(unix_timestamp=self.now, slot=5)
        name = r.choice(["give", "release", "release", "finish", "status"])
        vars(Granting)[name](self)
        tokens = (
            held(self.oracle, key) for key in (self.source, self.vault, self.purse)
        )
        assert sum(tokens) == 2**62

    def give(self) -> None:
        r = self.r
        start = r.choice([0, self.now, -(2**63), self.now + 5])
        args: dict[str, Any] = {
            "total": r.choice([0, 1, 7, 1000, 2**61]),
            "start": start,
        }
        args |= {
            "cliff": start + r.choice([0, 5, 20]),
            "end": start + r.choice([-1, 0, 20, 100]),
        }
        if r.random() < 0.3:
            args |= {"cliff": self.now, "end": 2**63 - 1}
        args["end"] = max(args["end"], -(2**63))
        accounts = self.common | {
            "source": self.source,
            "grantor": self.grantor.pubkey(),
        }
        accounts["beneficiary"] = self.beneficiary.pubkey()
        self.oracle.call("give", accounts, args, self.grantor)

    def release(self) -> None:
        before = held(self.oracle, self.purse)
        who = self.r.choice([self.beneficiary, self.beneficiary, self.grantor])
        accounts = self.common | {
            "destination": self.purse,
            "beneficiary": who.pubkey(),
        }
        error = self.oracle.call("release", accounts, {}, who)
        assert who is self.beneficiary or error
        assert held(self.oracle, self.purse) >= before

    def finish(self) -> None:
        who = self.r.choice([self.grantor, self.grantor, self.beneficiary])
        accounts = self.common | {"spare": self.source, "grantor": who.pubkey()}
        self.oracle.call("finish", accounts, {}, who)

    def status(self) -> None:
        self.oracle.call("status", {"grant": self.grant}, {})


def test_vesting_is_its_spec(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    def life(oracle: Oracle, r: random.Random) -> None:
        granting = Granting(oracle, r)
        for _ in range(40):
            granting.step()

    compare(built("vesting", tmp_path), life)


# --- pool -----------------------------------------------------------------------------------------


class Trading:
    """A pool of two mints, and two wallets that put tokens in, take them out and swap."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        self.wallets = (oracle.wallet(), oracle.wallet())
        self.mints = (oracle.mint(), oracle.mint())
        self.market = at(oracle, b"market", *map(bytes, self.mints))
        self.vaults = [
            at(oracle, b"vault", bytes(self.market), bytes(mint)) for mint in self.mints
        ]
        self.purses = {
            (owner.pubkey(), i): oracle.tokens(mint, owner.pubkey(), 2**60)
            for owner in self.wallets
            for i, mint in enumerate(self.mints)
        }
        self.create(dict(zip(("mint_a", "mint_b"), self.mints, strict=True)))
        for owner in self.wallets:
            accounts = {"position": self.position(owner), "market": self.market}
            oracle.call(
                "open_position", accounts | {"owner": owner.pubkey()}, {}, owner
            )

    def create(self, mints: dict[str, Pubkey]) -> None:
        payer = self.wallets[0]
        market = at(self.oracle, b"market", *map(bytes, mints.values()))
        vaults = [
            at(self.oracle, b"vault", bytes(market), bytes(mint))
            for mint in mints.values()
        ]
        accounts = mints | {"market": market, "payer": payer.pubkey()}
        accounts |= dict(zip(("vault_a", "vault_b"), vaults, strict=True))
        fee = self.r.choice([0, 30, 1_000])
        self.oracle.call("create", accounts, {"fee_bps": fee}, payer)

    def position(self, owner: Keypair) -> Pubkey:
        return at(self.oracle, b"position", bytes(self.market), bytes(owner.pubkey()))

    def amount(self) -> int:
        return self.r.choice(
            [0, 1, 2, 10, 1000, self.r.randrange(2**40), 2**61, 2**64 - 1]
        )

    def reserves(self) -> tuple[int, int]:
        return held(self.oracle, self.vaults[0]), held(self.oracle, self.vaults[1])

    def step(self) -> None:
        owner, other = self.r.sample(self.wallets, 2)
        name = self.r.choice(
            ["join", "join", "leave", "swap", "swap", "swap", "refused"]
        )
        before, shares = self.reserves(), self.shares()
        vars(Trading)[name](self, owner, other)
        after, left = self.reserves(), self.shares()
        if shares and left:  # nobody's share is worth less than before
            assert after[0] * after[1] * shares**2 >= before[0] * before[1] * left**2

    def shares(self) -> int:
        return int(self.oracle.simulator.state(self.market).shares)

    def held_by(self, owner: Keypair, names: tuple[str, str]) -> dict[str, Pubkey]:
        """The accounts of the pool, and the purses of a wallet under these names."""
        purses = [self.purses[owner.pubkey(), i] for i in (0, 1)]
        return {
            "market": self.market,
            "vault_a": self.vaults[0],
            "vault_b": self.vaults[1],
            "mint_a": self.mints[0],
            "mint_b": self.mints[1],
            "position": self.position(owner),
            "owner": owner.pubkey(),
            **dict(zip(names, purses, strict=True)),
        }

    def join(self, owner: Keypair, other: Keypair) -> None:
        accounts = self.held_by(owner, ("source_a", "source_b"))
        args = {
            "shares": self.amount(),
            "most_a": self.amount(),
            "most_b": self.amount(),
        }
        self.oracle.call("join", accounts, args, owner)

    def leave(self, owner: Keypair, other: Keypair) -> None:
        accounts = self.held_by(owner, ("to_a", "to_b"))
        least = self.r.choice([0, 0, 0, 5])
        args = {"shares": self.amount(), "least_a": least, "least_b": least}
        self.oracle.call("leave", accounts, args, owner)

    def swap(self, owner: Keypair, other: Keypair) -> None:
        i = self.r.randrange(2)
        accounts = {
            "market": self.market,
            "vault_in": self.vaults[i],
            "vault_out": self.vaults[1 - i],
            "source": self.purses[owner.pubkey(), i],
            "destination": self.purses[owner.pubkey(), 1 - i],
            "mint_in": self.mints[i],
            "mint_out": self.mints[1 - i],
            "owner": owner.pubkey(),
        }
        args = {"amount": self.amount(), "least": self.r.choice([0, 0, 3])}
        self.oracle.call("swap", accounts, args, owner)

    def refused(self, owner: Keypair, other: Keypair) -> None:
        """Somebody else's position, and pools that cannot be."""
        accounts = self.held_by(owner, ("to_a", "to_b")) | {
            "position": self.position(other)
        }
        args = {"shares": 1, "least_a": 0, "least_b": 0}
        assert self.oracle.call("leave", accounts, args, owner) == "WrongAccount"
        new = self.oracle.mint()
        payer = self.wallets[0]
        market = at(self.oracle, b"market", bytes(new), bytes(self.mints[0]))
        common = {
            "market": market,
            "payer": payer.pubkey(),
            "mint_a": new,
            "mint_b": self.mints[0],
        }
        for name, mint in (("vault_a", new), ("vault_b", self.mints[0])):
            common[name] = at(self.oracle, b"vault", bytes(market), bytes(mint))
        assert (
            self.oracle.call("create", common, {"fee_bps": 1_001}, payer)
            == "FeeTooHigh"
        )


def test_the_pool_is_its_spec(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    def life(oracle: Oracle, r: random.Random) -> None:
        trading = Trading(oracle, r)
        for _ in range(50):
            trading.step()

    compare(built("pool", tmp_path), life)


# --- staking --------------------------------------------------------------------------------------


class Staked:
    """A pool with an authority and two stakers, and a clock that goes on."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        self.authority, *self.stakers = (oracle.wallet() for _ in range(3))
        self.mints = {"stake_mint": oracle.mint(), "reward_mint": oracle.mint()}
        stake_mint, reward_mint = self.mints.values()
        seeds = [bytes(self.authority.pubkey()), bytes(stake_mint), bytes(reward_mint)]
        self.pool = at(oracle, b"pool", *seeds)
        self.vaults = {
            "stake_vault": at(oracle, b"staked", bytes(self.pool)),
            "reward_vault": at(oracle, b"rewards", bytes(self.pool)),
        }
        self.source = oracle.tokens(reward_mint, self.authority.pubkey(), 2**62)
        self.purses = {
            (who.pubkey(), mint): oracle.tokens(mint, who.pubkey(), 2**40)
            for who in self.stakers
            for mint in self.mints.values()
        }
        self.now = 1_000
        oracle.set_clock(unix_timestamp=self.now, slot=5)
        accounts = self.mints | self.vaults | {"pool": self.pool}
        accounts |= {"authority": self.authority.pubkey()}
        oracle.call("create", accounts, {}, self.authority)
        self.fund()

    def step(self) -> None:
        self.now += self.r.choice([0, 1, 3, 60, 1_000])
        self.oracle.set_clock(unix_timestamp=self.now, slot=5)
        names = [
            "fund",
            "open_stake",
            "deposit",
            "deposit",
            "withdraw",
            "claim",
            "close_stake",
        ]
        vars(Staked)[self.r.choice(names)](self)
        self.check()

    def check(self) -> None:
        """The vaults hold what is staked, and all that the stakers have earned."""
        simulator = self.oracle.simulator
        stakes: list[Any] = [
            state
            for state in simulator.ledger.states.values()
            if type(state).__name__ == "Stake"
        ]
        pool = simulator.state(self.pool)
        assert sum(int(s.amount) for s in stakes) == int(pool.staked)
        assert held(self.oracle, self.vaults["stake_vault"]) == int(pool.staked)
        parts = 10**12
        owed = sum(
            int(s.reward) + int(s.amount) * (int(pool.earned) - int(s.counted)) // parts
            for s in stakes
        )
        left = int(pool.rate) * max(0, int(pool.until) - int(pool.settled))
        reserve = owed + left + int(pool.spare)
        assert held(self.oracle, self.vaults["reward_vault"]) >= reserve

    def stake(self, who: Keypair) -> Pubkey:
        return at(self.oracle, b"stake", bytes(self.pool), bytes(who.pubkey()))

    def fund(self) -> None:
        r = self.r
        who = r.choice([*[self.authority] * 8, self.stakers[0]])
        mint = self.mints["reward_mint"]
        source = (
            self.source if who is self.authority else self.purses[who.pubkey(), mint]
        )
        accounts = {"pool": self.pool, "reward_vault": self.vaults["reward_vault"]}
        accounts |= {"source": source, "authority": who.pubkey(), "reward_mint": mint}
        args = {
            "amount": r.choice([0, 1, 100, 12_345, 2**40, 2**59]),
            "seconds": r.choice([0, 1, 7, 50, 3_600, 2**63 - 5, 2**64 - 1]),
        }
        self.oracle.call("fund", accounts, args, who)

    def open_stake(self) -> None:
        who = self.r.choice(self.stakers)
        accounts = {"stake": self.stake(who), "pool": self.pool, "owner": who.pubkey()}
        self.oracle.call("open_stake", accounts, {}, who)

    def with_tokens(
        self, name: str, kind: str, role: str, args: dict[str, Any]
    ) -> None:
        """Call an instruction of a stake, sometimes somebody else's."""
        who, other = self.r.sample(self.stakers, 2)
        mint = self.mints[f"{kind}_mint"]
        stake = self.stake(self.r.choice([who] * 9 + [other]))
        accounts = {"stake": stake, "pool": self.pool, "owner": who.pubkey()}
        accounts |= {
            f"{kind}_vault": self.vaults[f"{kind}_vault"],
            f"{kind}_mint": mint,
        }
        accounts |= {role: self.purses[who.pubkey(), mint]}
        self.oracle.call(name, accounts, args, who)

    def deposit(self) -> None:
        self.with_tokens("deposit", "stake", "source", {"amount": self.amount()})

    def withdraw(self) -> None:
        self.with_tokens("withdraw", "stake", "destination", {"amount": self.amount()})

    def claim(self) -> None:
        self.with_tokens("claim", "reward", "destination", {})

    def amount(self) -> int:
        return self.r.choice([0, 1, 2, 1_000, 2**20, 2**39, 2**63])

    def close_stake(self) -> None:
        who = self.r.choice(self.stakers)
        accounts = {"stake": self.stake(who), "owner": who.pubkey()}
        self.oracle.call("close_stake", accounts, {}, who)


def test_staking_is_its_spec(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    def life(oracle: Oracle, r: random.Random) -> None:
        staked = Staked(oracle, r)
        for _ in range(60):
            staked.step()

    compare(built("staking", tmp_path), life)


# --- multisig -------------------------------------------------------------------------------------

SEND, ADD, REMOVE, CHANGE = range(4)


class Voting:
    """A safe, three wallets that are members at times, and their proposals."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        self.wallets = [oracle.wallet() for _ in range(3)]
        creator = self.wallets[0]
        number = r.randrange(2**64)
        self.safe = at(
            oracle, b"safe", bytes(creator.pubkey()), number.to_bytes(8, "little")
        )
        accounts = {
            "safe": self.safe,
            "member": self.member(creator),
            "creator": creator.pubkey(),
        }
        oracle.call("create", accounts, {"safe_id": number}, creator)
        self.mint = oracle.mint()
        self.tokens = oracle.tokens(self.mint, self.safe, 1_000)
        self.purse = oracle.tokens(self.mint, creator.pubkey(), 0)
        self.other = oracle.tokens(self.mint, self.wallets[1].pubkey(), 0)
        self.proposals: list[tuple[Pubkey, int, Pubkey]] = []

    def member(self, who: Keypair) -> Pubkey:
        return at(self.oracle, b"member", bytes(self.safe), bytes(who.pubkey()))

    def step(self) -> None:
        names = [
            "propose",
            "approve",
            "approve",
            "approve",
            "revoke",
            "carry_out",
            "carry_out",
        ]
        before = held(self.oracle, self.tokens)
        vars(Voting)[self.r.choice(names)](self)
        assert held(self.oracle, self.tokens) <= before
        safe = self.oracle.simulator.state(self.safe)
        states = self.oracle.simulator.ledger.states.values()
        members = [state for state in states if type(state).__name__ == "Member"]
        assert len(members) == int(safe.members)
        assert 1 <= int(safe.threshold) <= int(safe.members) <= 100

    def propose(self) -> None:
        r, who = self.r, self.r.choice(self.wallets)
        action = r.choice([SEND, ADD, ADD, REMOVE, CHANGE, r.randrange(6)])
        wallet = r.choice(self.wallets).pubkey()
        target = self.purse if action == SEND else wallet
        number = int(self.oracle.simulator.state(self.safe).proposals).to_bytes(
            8, "little"
        )
        proposal = at(self.oracle, b"proposal", bytes(self.safe), number)
        accounts = {"proposal": proposal, "safe": self.safe, "member": self.member(who)}
        args = {
            "action": action,
            "target": target,
            "amount": r.choice([0, 1, 2, 3, 2_000, 2**63]),
        }
        if not self.oracle.call(
            "propose", accounts | {"wallet": who.pubkey()}, args, who
        ):
            self.proposals = [*self.proposals[-3:], (proposal, action, target)]

    def vote(self) -> tuple[Keypair, dict[str, Pubkey]] | None:
        """A wallet, and the accounts of its vote on a proposal."""
        if not self.proposals:
            return None
        who = self.r.choice(self.wallets)
        proposal = self.r.choice(self.proposals)[0]
        approval = at(self.oracle, b"approval", bytes(proposal), bytes(who.pubkey()))
        return who, {"approval": approval, "proposal": proposal, "wallet": who.pubkey()}

    def approve(self) -> None:
        vote = self.vote()
        if vote is not None:
            who, accounts = vote
            member = self.member(self.r.choice([who, who, who, self.wallets[0]]))
            self.oracle.call(
                "approve", accounts | {"safe": self.safe, "member": member}, {}, who
            )

    def revoke(self) -> None:
        vote = self.vote()
        if vote is not None:
            who, accounts = vote
            self.oracle.call("revoke", accounts, {}, who)

    def carry_out(self) -> None:
        if not self.proposals:
            return
        r, payer = self.r, self.wallets[0]
        proposal, action, target = r.choice(self.proposals)
        if r.random() < 0.1:
            action = r.randrange(4)
        name = ["send", "add_member", "remove_member", "change_threshold"][action % 4]
        accounts = {"proposal": proposal, "safe": self.safe}
        member = at(self.oracle, b"member", bytes(self.safe), bytes(target))
        if name == "send":
            destination = r.choice([self.purse, self.purse, self.other])
            accounts |= {
                "source": self.tokens,
                "destination": destination,
                "mint": self.mint,
            }
        elif name == "add_member":
            accounts |= {"member": member, "payer": payer.pubkey()}
        elif name == "remove_member":
            member = r.choice([member, member, self.member(r.choice(self.wallets))])
            accounts |= {"member": member, "receiver": payer.pubkey()}
        signers = [] if name in ("send", "change_threshold") else [payer]
        self.oracle.call(name, accounts, {}, *signers)


def test_the_multisig_is_its_spec(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    def full(oracle: Oracle, r: random.Random) -> None:
        """A safe with as many members as it can have takes no other."""
        voting = Voting(oracle, r)
        state = oracle.simulator.state(voting.safe)
        fields = {
            name: value for name, value in vars(state).items() if name != "members"
        }
        oracle.put_state(voting.safe, "Safe", members=100, **fields)
        creator, other = voting.wallets[0], voting.wallets[1]
        proposal = at(oracle, b"proposal", bytes(voting.safe), bytes(8))
        common = {"safe": voting.safe, "proposal": proposal}
        mine = {"member": voting.member(creator), "wallet": creator.pubkey()}
        args = {"action": ADD, "target": other.pubkey(), "amount": 0}
        assert not oracle.call("propose", common | mine, args, creator)
        approval = at(oracle, b"approval", bytes(proposal), bytes(creator.pubkey()))
        assert not oracle.call(
            "approve", common | mine | {"approval": approval}, {}, creator
        )
        new = {"member": voting.member(other), "payer": creator.pubkey()}
        assert oracle.call("add_member", common | new, {}, creator) == "TooManyMembers"

    def life(oracle: Oracle, r: random.Random) -> None:
        full(oracle, r)
        oracle.start()
        voting = Voting(oracle, r)
        for _ in range(80):
            voting.step()

    compare(built("multisig", tmp_path), life)


# --- auction --------------------------------------------------------------------------------------


class Bidding:
    """A sale with three wallets that bid, and a clock that goes on. `bids`: what each sealed."""

    def __init__(self, oracle: Oracle, r: random.Random) -> None:
        self.oracle, self.r = oracle, r
        self.seller, *self.bidders = (oracle.wallet() for _ in range(4))
        self.item_mint, self.price_mint = oracle.mint(), oracle.mint()
        self.bids: dict[Pubkey, tuple[int, bytes]] = {}
        self.purses = {
            (who.pubkey(), mint): oracle.tokens(mint, who.pubkey(), 2**40)
            for who in (self.seller, *self.bidders)
            for mint in (self.item_mint, self.price_mint)
        }
        self.now = 1_000
        oracle.set_clock(unix_timestamp=self.now, slot=5)
        self.deposit, self.reserve = (
            r.choice([1, 50, 1_000, 2**41]),
            r.choice([0, 1, 40]),
        )
        while self.open({"deposit": self.deposit, "reserve": self.reserve, "lot": 77}):
            self.deposit, self.reserve = 1_000, r.choice([0, 40])

    def open(self, terms: dict[str, int]) -> str:
        seller, sale_id = self.seller.pubkey(), self.r.randrange(2**64)
        self.sale = at(
            self.oracle, b"sale", bytes(seller), sale_id.to_bytes(8, "little")
        )
        self.vaults = {
            "item_vault": at(self.oracle, b"items", bytes(self.sale)),
            "price_vault": at(self.oracle, b"prices", bytes(self.sale)),
        }
        mints = {"item_mint": self.item_mint, "price_mint": self.price_mint}
        accounts = {"sale": self.sale, "seller": seller, **self.vaults, **mints}
        accounts["source"] = self.purses[seller, self.item_mint]
        times = self.r.choice([(1_100, 1_200)] * 8 + [(1_000, 1_200), (1_100, 1_100)])
        args = terms | {
            "sale_id": sale_id,
            "bids_until": times[0],
            "shown_until": times[1],
        }
        return self.oracle.call("open", accounts, args, self.seller)

    def step(self) -> None:
        self.now += self.r.choice([0, 1, 3, 20, 40])
        self.oracle.set_clock(unix_timestamp=self.now, slot=5)
        names = ["bid", "bid", "show", "show", "settle", "leave"]
        vars(Bidding)[self.r.choice(names)](self)
        self.check()

    def check(self) -> None:
        """The vault holds what the seller and the bidders can still take."""
        simulator = self.oracle.simulator
        sale = simulator.state(self.sale)
        bids: list[Any] = [
            state
            for state in simulator.ledger.states.values()
            if type(state).__name__ == "Bid"
        ]
        deposit = int(sale.deposit)
        owed = sum(deposit for bid in bids if bid.shown)
        highest = int(sale.highest)
        won = any(bid.shown and bid.bidder == sale.winner for bid in bids)
        owed += (
            0 if sale.settled else highest + deposit * int(sale.hidden)
        ) - highest * won
        assert held(self.oracle, self.vaults["price_vault"]) == owed
        assert held(self.oracle, self.vaults["item_vault"]) == (
            0 if sale.settled else 77
        )

    def bid_of(self, who: Keypair) -> Pubkey:
        return at(self.oracle, b"bid", bytes(self.sale), bytes(who.pubkey()))

    def bid(self) -> None:
        who = self.r.choice(self.bidders)
        amount = self.r.choice([0, 1, 40, 41, self.deposit, self.deposit + 1, 500])
        secret = self.r.randbytes(32)
        packed = (
            bytes(self.sale)
            + bytes(who.pubkey())
            + amount.to_bytes(8, "little")
            + secret
        )
        mint = self.r.choice([self.price_mint] * 9 + [self.item_mint])
        accounts = {"bid": self.bid_of(who), "sale": self.sale, "bidder": who.pubkey()}
        accounts |= {"price_vault": self.vaults["price_vault"], "price_mint": mint}
        accounts["source"] = self.purses[who.pubkey(), mint]
        if not self.oracle.call(
            "bid", accounts, {"sealed": sha256(packed).digest()}, who
        ):
            self.bids[who.pubkey()] = amount, secret

    def show(self) -> None:
        r = self.r
        who = r.choice(self.bidders)
        amount, secret = self.bids.get(who.pubkey(), (5, bytes(32)))
        amount += r.choice([0] * 9 + [1])
        accounts = {"bid": self.bid_of(who), "sale": self.sale, "bidder": who.pubkey()}
        self.oracle.call("show", accounts, {"amount": amount, "secret": secret}, who)

    def settle(self) -> None:
        simulator, seller = self.oracle.simulator, self.seller.pubkey()
        winner = Pubkey(bytes(simulator.state(self.sale).winner))
        winner = self.r.choice([winner] * 9 + [self.bidders[0].pubkey()])
        accounts = {
            "sale": self.sale,
            **self.vaults,
            "seller": seller,
            "winner": winner,
        }
        accounts |= {"item_mint": self.item_mint, "price_mint": self.price_mint}
        accounts["to_winner"] = self.purses[winner, self.item_mint]
        accounts["to_seller"] = self.purses[seller, self.price_mint]
        self.oracle.call("settle", accounts, {}, self.seller)

    def leave(self) -> None:
        who = self.r.choice(self.bidders)
        accounts = {"bid": self.bid_of(who), "sale": self.sale, "bidder": who.pubkey()}
        accounts |= {
            "price_vault": self.vaults["price_vault"],
            "price_mint": self.price_mint,
            "destination": self.purses[who.pubkey(), self.price_mint],
        }
        self.oracle.call("leave", accounts, {}, who)


def test_the_auction_is_its_spec(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
    def life(oracle: Oracle, r: random.Random) -> None:
        bidding = Bidding(oracle, r)
        for _ in range(30):
            bidding.step()

    compare(built("auction", tmp_path), life)
