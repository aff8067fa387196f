"""The x402 program on chain: compute units of every instruction, its size and rent, and `pay` against the same written
by hand in plain pinocchio (benchmarks/plain_pay), both in LiteSVM under the same addresses."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from benchmarks import by_hand
from benchmarks.yardstick import Limit, NotMeasured, Row, Yardstick
from mcpsol_py.build import build_program
from mcpsol_py.build.report import measure_list_tools
from mcpsol_py.errors import BuildError, ToolchainMissing
from mcpsol_py.solana.addresses import ASSOCIATED_TOKEN_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.pda import find_pda
from mcpsol_py.x402.chain import program as x402
from tests.functional.x402_chain import ID, REPO, T0, X402Chain, mint_data, spec

SO = REPO / "programs/x402/x402.so"
PLAIN = Path(__file__).parent / "plain_pay"
#: `pay` may cost this much more than the hand-written one (the program's issue).
PAY_RATIO = 1.15
#: Half of what the default limit for one instruction (200,000) allows.
SETTLE_UNITS = 100_000
#: The compute limit that clients set on a transaction that opens a channel.
OPEN_UNITS = 400_000
ROUNDS = 25


def measure() -> list[Row]:
    """Raises NotMeasured where the peer cannot be built."""
    ours, peer = _pays()
    note = f"hand-written in plain pinocchio, median of {ROUNDS} payments under the same addresses"
    rows: list[Row] = [
        Yardstick("pay", ours, peer, "CU", needed=1 / PAY_RATIO, note=note)
    ]
    limits = {
        "settle": SETTLE_UNITS,
        "settle_and_seal": SETTLE_UNITS,
        "open": OPEN_UNITS,
    }
    for call in life():
        made = (
            f"makes {call.makes} bytes, {_rent(call.makes):,} lamports of rent"
            if call.makes
            else ""
        )
        rows.append(
            Limit(
                call.what,
                call.units,
                limits.get(call.instruction, 200_000),
                "CU",
                note=made,
            )
        )
    pages = measure_list_tools(SO)
    if pages is not None:
        rows.append(
            Limit("list_tools, first page, above the syscall", pages.first, 15, "CU")
        )
        rows.append(
            Limit(
                "list_tools, other pages, above the syscall",
                pages.others or 0,
                22,
                "CU",
            )
        )
    size = SO.stat().st_size
    rows.append(
        Limit(
            "program",
            size,
            256 * 1024,
            "bytes",
            note=f"{_rent(size):,} lamports of rent",
        )
    )
    return [*rows, *by_hand.rows_of_x402(life), *by_hand.rows_of_sizes(["x402"])]


def _rent(size: int) -> int:
    return X402Chain().svm.minimum_balance_for_rent_exemption(size)


def _pays() -> tuple[float, float]:
    """Median units of `pay` and of its peer, each payment by both under one address."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            plain = build_program(PLAIN, out=Path(folder)).so.read_bytes()
        except (BuildError, ToolchainMissing) as error:
            raise NotMeasured(str(error)) from error
    ours: list[int] = []
    peer: list[int] = []
    for i in range(ROUNDS):
        chain = X402Chain()
        other = X402Chain(is_followed=False)
        other.svm.add_program(ID, plain)
        other.payer, other.payee, other.relay, other.mint = (
            chain.payer,
            chain.payee,
            chain.relay,
            chain.mint,
        )
        keys = [chain.relay.pubkey(), chain.payer.pubkey(), chain.mint]
        keys += [chain.ata(chain.payer.pubkey()), chain.ata(chain.payee.pubkey())]
        for key in keys:
            found = chain.svm.get_account(key)
            assert found is not None
            other.svm.set_account(key, found)
        ix = chain.pay(payment_id=x402.payment_id(T0 + 60, str(i)))
        for side, units in ((chain, ours), (other, peer)):
            side.ok(ix, signers=[chain.relay, chain.payer])
            units.append(side.spent)
        assert chain.data(ix.accounts[7].pubkey) == other.data(ix.accounts[7].pubkey), (
            "the receipts differ"
        )
    return statistics.median(ours), statistics.median(peer)


@dataclass(frozen=True, slots=True)
class Called:
    """A good call: its units, the bytes of the account that it makes, and the names of the events that it emits."""

    what: str
    units: int
    makes: int
    events: tuple[str, ...]

    @property
    def instruction(self) -> str:
        """The name in the spec; *what* may say more behind it."""
        return self.what.split(" ")[0]


def _renew_mint(chain: X402Chain) -> None:
    """Give *chain* a mint for which every token account is found at the first bump. Each other bump costs units."""
    purses = {
        chain.payer.pubkey(): 1_000_000,
        chain.payee.pubkey(): 0,
        x402.TREASURY_OWNER: 0,
    }
    mint = next(
        m for m in _new_keys() if all(_has_first_bump(owner, m) for owner in purses)
    )
    chain.mint = chain.put(mint_data(), chain.token_program, mint)
    for owner, amount in purses.items():
        chain.purse(owner, amount)


def _new_keys() -> Iterator[Pubkey]:
    while True:
        yield Keypair().pubkey()


def _has_first_bump(owner: Pubkey, mint: Pubkey) -> bool:
    seeds = [bytes(owner), bytes(TOKEN_PROGRAM), bytes(mint)]
    return find_pda(seeds, ASSOCIATED_TOKEN_PROGRAM)[1] == 255


def life() -> list[Called]:
    """Each instruction that anyone may call, once or twice, in one life of everything."""
    out: list[Called] = []
    sizes = {a.name: a.size or 0 for a in spec().model.accounts}
    chain = X402Chain()
    _renew_mint(chain)
    chain.set_time(T0, 10_000)
    relay, payer, payee = chain.relay, chain.payer, chain.payee

    def run(
        name: str,
        *instructions: Instruction,
        signers: list[Keypair] | None = None,
        makes: str = "",
    ) -> None:
        events = chain.events(
            chain.ok(*instructions, signers=[relay, *(signers or [])])
        )
        out.append(
            Called(
                name,
                chain.spent,
                sizes.get(makes, 0),
                tuple(event for event, _ in events),
            )
        )

    friend = next(key for key in _new_keys() if _has_first_bump(key, chain.mint))
    chain.purse(friend, 0)
    entries: list[tuple[Pubkey, int]] = [(friend, 1_000)]
    opening, channel = chain.open(recipients=entries)
    run("open", opening, signers=[payer], makes="Channel")
    run("settle", x402.signed_voucher(payer, channel, 1_000), chain.settle(channel))
    run("top_up", chain.top_up(channel, 5), signers=[payer])
    run("distribute (open)", chain.distribute(channel, entries))
    run("channel_status", chain.ix("channel_status", {}, {"channel": channel}))
    run("request_close", chain.request_close(channel), signers=[payer])
    proof = x402.signed_voucher(payer, channel, 2_000)
    run("settle_and_seal", proof, chain.settle_and_seal(channel, 1), signers=[payee])
    run("withdraw_payer", chain.withdraw_payer(channel), signers=[payer])
    run("distribute (sealed)", chain.distribute(channel, entries))
    chain.set_time(T0, 20_000)
    run("reclaim", chain.reclaim(channel))
    second = chain.opened(salt=8)
    chain.ok(chain.request_close(second), signers=[relay, payer])
    chain.set_time(T0 + 900)
    run("seal", chain.seal(second))
    paying = chain.pay()
    run("pay", paying, signers=[payer], makes="Receipt")
    receipt = paying.accounts[7].pubkey
    chain.set_time(T0 + 10_000_000)
    run(
        "close_receipt",
        chain.ix("close_receipt", {}, {"receipt": receipt, "rent_payer": relay}),
    )
    creating, plan = chain.create_plan()
    run("create_plan", creating, signers=[payee], makes="Plan")
    run("quote", chain.ix("quote", {"periods": 3}, {"plan": plan}))
    run("subscribe", chain.subscribe(plan), signers=[payer], makes="Subscription")
    subscription = x402.subscription_address(plan, payer.pubkey())
    run(
        "subscription_status",
        chain.ix("subscription_status", {}, {"subscription": subscription}),
    )
    chain.set_time(chain.now + 1_000)
    run("charge", chain.charge(subscription))
    run("change_plan", chain.change_plan(subscription, plan, 5), signers=[payer])
    run("merchant_cancel", chain.merchant_cancel(subscription), signers=[payee])
    run("close_subscription", chain.close_subscription(subscription))
    again = chain.subscribed(plan)
    run("cancel", chain.cancel(again), signers=[payer])
    mine = {"plan": plan, "merchant": payee}
    run(
        "set_plan_open",
        chain.ix("set_plan_open", {"open": False}, mine),
        signers=[payee],
    )
    run("close_plan", chain.ix("close_plan", {}, mine), signers=[payee])
    return out
