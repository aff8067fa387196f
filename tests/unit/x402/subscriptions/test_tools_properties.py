"""The six properties that every paid and subscribed call keeps, each under its name in the design they come from."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from x402.schemas import PaymentRequired, ResourceInfo

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.mcp_wire import payment_required_result, read_demand
from mcpsol_py.x402.protocol.networks import DEFAULT_ASSETS, DEVNET, MAINNET
from mcpsol_py.x402.protocol.offer import Offer, PaymentRequiredReply
from mcpsol_py.x402.protocol.older_names import ERROR_META
from mcpsol_py.x402.protocol.price import format_amount, parse_price
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
from mcpsol_py.x402.subscriptions.tools import ERROR_CODES, TOOLS
from tests.support.machines import run_machine
from tests.support.x402_shop import Shop
from tests.unit.x402.payments import USDC, keypair
from tests.unit.x402.subscriptions.merchant import DAY, Merchant, paying

QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck)
)


@contextmanager
def a_merchant() -> Iterator[Merchant]:
    with TemporaryDirectory() as folder:
        merchant = Merchant(Shop(Path(folder) / "payments.db"))
        try:
            yield merchant
        finally:
            merchant.shop.database.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Merchant]:
    """One merchant for all examples that leave no trace."""
    with a_merchant() as merchant:
        yield merchant


# -- Property 1 -------------------------------------------------------------------------------------------------------


@QUICK
@given(
    amount=st.integers(1, 2**64 - 1),
    name=st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=30),
    description=st.text(max_size=40),
    plans=st.lists(st.text("abc", min_size=1), max_size=2),
)
def test_property_1_402_response_structure(
    shared: Merchant, amount: int, name: str, description: str, plans: list[str]
) -> None:
    """Any paid tool, called without a payment, answers with all that a payment needs, in every place peers look."""
    terms = shared.world.requirements(amount)
    about = ResourceInfo(url=f"mcp://tool/{name}", description=description)
    offer = Offer(about, (terms,), plans=tuple(plans), domain="d.example")
    reply = asyncio.run(shared.paid_calls().call(offer, None, {}, shared.run))
    assert isinstance(reply, PaymentRequiredReply)
    result = payment_required_result(reply.required)
    assert result["isError"]
    demand = read_demand(result)
    assert demand is not None
    assert isinstance(demand.required, PaymentRequired)
    (asked,) = demand.required.accepts
    # version, network, paymentAddress, amount, token
    assert demand.required.x402_version == 2
    assert (asked.network, asked.pay_to, asked.amount, asked.asset) == (
        DEVNET,
        str(shared.world.payee.pubkey()),
        str(amount),
        str(USDC),
    )
    assert shared.shop.runs == []


def test_property_1_402_response_structure_of_the_tool_subscribe(
    shared: Merchant,
) -> None:
    """The same with the names that the design gives, in `_meta`."""
    shared.plan("p1", price=77)
    asked = asyncio.run(
        shared.tools().call(
            "subscribe", {"planId": "p1", "walletAddress": shared.address}, {}
        )
    )
    told = asked["_meta"][ERROR_META]["paymentRequired"]
    assert told == {
        "version": "1.0",
        "network": DEVNET,
        "paymentAddress": str(shared.world.payee.pubkey()),
        "amount": "77",
        "token": str(USDC),
    }


# -- Property 2 -------------------------------------------------------------------------------------------------------

ALLOWED = {
    ("pending", "active"),
    ("pending", "past_due"),
    ("pending", "expired"),
    ("pending", "cancelled"),
    ("active", "past_due"),
    ("active", "expired"),
    ("active", "cancelled"),
    ("past_due", "active"),
    ("past_due", "expired"),
    ("past_due", "cancelled"),
}


class StatusTransitions(RuleBasedStateMachine):
    """Any order of payments, cancellations, changes, calls and time, over several plans."""

    @initialize(
        trial=st.sampled_from([0, DAY]),
        grace=st.sampled_from([0, DAY // 2]),
        most=st.sampled_from([None, 2]),
    )
    def start(self, trial: int, grace: int, most: int | None) -> None:
        self.folder = TemporaryDirectory()
        self.merchant = Merchant(Shop(Path(self.folder.name) / "payments.db"))
        for plan in ("one", "two"):
            self.merchant.plan(
                plan, trial_ms=trial, grace_ms=grace, max_charges=most, quota=2
            )
        self.states: dict[str, str] = {}
        self.payments = 0
        self.since: dict[str, int] = {}  # payments when the subscription was first seen
        self.proofs = 0

    def all(self) -> list[Any]:
        return self.merchant.book.of(self.merchant.address)

    def refused_as(self, codes: tuple[str, ...], act: Callable[[], object]) -> bool:
        """Whether *act* went through; what refuses it does so with one of these codes."""
        try:
            act()
        except PaymentError as error:
            if error.code not in codes:
                raise
            return False
        return True

    def look(self, *, paid: bool = False) -> None:
        """Every change since the last look must be an edge of the machine; into "active" only by a payment."""
        now = self.merchant.clock.ms
        for found in self.all():
            state, before = found.state(now), self.states.get(found.id)
            if before is None:
                assert state in ("pending", "active")
                assert state == "pending" or paid
            elif before != state:
                assert (before, state) in ALLOWED, (before, state)
                assert state != "active" or paid
            self.states[found.id] = state

    @rule(plan=st.sampled_from(["one", "two"]))
    def pay(self, plan: str) -> None:
        self.payments += 1
        self.merchant.book.pay(
            plan, self.merchant.address, f"pay_{self.payments}", "sig"
        )
        self.look(paid=True)

    @rule(plan=st.sampled_from(["one", "two"]))
    def try_out(self, plan: str) -> None:
        self.proofs += 1
        self.refused_as(
            ("INVALID_PARAMETERS",),
            lambda: self.merchant.book.try_out(
                plan, self.merchant.address, f"siwx_{self.proofs}"
            ),
        )
        self.look()

    @rule(n=st.integers(0, 3))
    def cancel(self, n: int) -> None:
        found = self.all()
        if not found:
            return
        one = found[n % len(found)]
        live = one.state(self.merchant.clock.ms) != "expired"
        done = self.refused_as(
            ("SUBSCRIPTION_EXPIRED",),
            lambda: self.merchant.book.cancel(one.id, "subscriber"),
        )
        assert done == live
        self.look()

    @rule(n=st.integers(0, 3), plan=st.sampled_from(["one", "two"]))
    def change(self, n: int, plan: str) -> None:
        found = self.all()
        if not found:
            return
        one = found[n % len(found)]
        live = one.state(self.merchant.clock.ms) in ("pending", "active", "past_due")
        assert (
            self.refused_as(
                ("SUBSCRIPTION_EXPIRED",),
                lambda: self.merchant.book.change(one.id, plan),
            )
            == live
        )
        self.look()

    @rule(hours=st.integers(1, 40))
    def later(self, hours: int) -> None:
        # in small steps, so that no state is jumped over
        for _ in range(hours):
            self.merchant.clock.ms += DAY // 24
            self.look()

    @rule(times=st.integers(1, 3))
    def use(self, times: int) -> None:
        book, now = self.merchant.book, self.merchant.clock.ms
        for _ in range(times):
            for found in self.all():
                counted = book.run(lambda c, _, i=found.id: book.use(c, i))  # type: ignore[misc]  # bound now
                assert counted is None or found.grants(now)
                assert counted is None or counted[1] <= 2

    @invariant()
    def ended_is_for_ever(self) -> None:
        if not hasattr(self, "merchant"):
            return
        for found in self.all():
            if self.states.get(found.id) in ("cancelled", "expired"):
                assert found.state(self.merchant.clock.ms + 100 * DAY) in (
                    "cancelled",
                    "expired",
                )
                assert not found.grants(self.merchant.clock.ms + 100 * DAY)

    def teardown(self) -> None:
        if hasattr(self, "merchant"):
            self.merchant.shop.database.close()
            self.folder.cleanup()


def test_property_2_subscription_status_transitions() -> None:
    run_machine(StatusTransitions, steps=300, length=25)


# -- Property 3 -------------------------------------------------------------------------------------------------------


@settings(QUICK, max_examples=20)
@given(price=st.integers(2, 10_000), short=st.integers(1, 10_000), lies=st.booleans())
def test_property_3_payment_amount_verification(
    price: int, short: int, lies: bool
) -> None:
    """Whoever pays less than the price gets a demand, whatever the payment says of itself; the price itself does."""
    with a_merchant() as merchant:
        merchant.plan("p", price=price)
        arguments = {"planId": "p", "walletAddress": merchant.address}
        paid = max(price - short, 1)
        payment = merchant.payment(paid)
        if lies:
            payment = payment.model_copy(
                update={"accepted": merchant.world.requirements(price)}
            )
        refused = asyncio.run(
            merchant.tools().call("subscribe", arguments, paying(payment))
        )
        assert refused["_meta"][ERROR_META]["code"] == "PAYMENT_INSUFFICIENT"
        assert read_demand(refused) is not None
        assert (merchant.shop.paid, merchant.book.of(merchant.address)) == (0, [])
        taken = asyncio.run(
            merchant.tools().call(
                "subscribe", arguments, paying(merchant.payment(price))
            )
        )
        assert not taken.get("isError")
        assert merchant.shop.paid == price


# -- Property 4 -------------------------------------------------------------------------------------------------------


@given(
    units=st.integers(0, 10**9),
    places=st.integers(0, 6),
    form=st.sampled_from(["${}", "{} USDC", "{}", "$ {}", "{}USDC"]),
    network=st.sampled_from([DEVNET, MAINNET]),
)
def test_property_4_price_conversion_accuracy(
    units: int, places: int, form: str, network: str
) -> None:
    """What a person writes and the base units are the same number, and read back as such."""
    value = Decimal(units).scaleb(-places)
    text = form.format(f"{value:f}")
    if not units:
        with pytest.raises(PaymentError):
            parse_price(text, network)
        return
    price = parse_price(text, network)
    usdc = DEFAULT_ASSETS[network][0]
    assert Decimal(price.amount) == value * 10**usdc.decimals
    assert price.mint == usdc.mint
    shown = format_amount(price.amount, network, price.mint)
    assert Decimal(shown.removesuffix(" USDC")) == value
    assert parse_price(shown, network) == price


# -- Property 5 -------------------------------------------------------------------------------------------------------

WRONG = st.one_of(
    st.none(),
    st.integers(),
    st.just(""),
    st.text(max_size=30),
    st.lists(st.text(max_size=3), max_size=2),
    st.just("x" * 201),
    st.just(str(keypair(1).pubkey())[:40]),  # 30 bytes at most
)


@settings(QUICK, max_examples=60)
@given(
    tool=st.sampled_from([t["name"] for t in TOOLS if t["inputSchema"]["required"]]),
    values=st.dictionaries(
        st.sampled_from(["planId", "walletAddress", "subscriptionId", "more"]),
        WRONG,
        max_size=4,
    ),
)
def test_property_5_input_validation(
    shared: Merchant, tool: str, values: dict[str, Any]
) -> None:
    """Invalid parameters get a structured error, and the tool does nothing."""
    shared.plan("valid")
    before = (
        shared.book.plans(),
        len(shared.book.of(shared.address)),
        shared.shop.paid,
    )
    schema = next(t["inputSchema"] for t in TOOLS if t["name"] == tool)
    wanted = schema["required"]
    result = asyncio.run(shared.tools().call(tool, values, {}))
    assert result["isError"]
    body = result["structuredContent"]
    assert body["error"] is True
    assert body["code"] in ERROR_CODES
    named = set(values) == set(wanted)
    texts = all(
        isinstance(v, str) and 0 < len(v) <= 200 and v.isprintable()
        for v in values.values()
    )
    if not named or not texts:
        assert body["code"] == "INVALID_PARAMETERS"
    else:
        missing = {
            "subscribe": "INVALID_WALLET_ADDRESS",
            "get_subscription_info": "PLAN_NOT_FOUND",
        }
        assert body["code"] == missing.get(tool, "SUBSCRIPTION_NOT_FOUND")
    assert (
        shared.book.plans(),
        len(shared.book.of(shared.address)),
        shared.shop.paid,
    ) == before


# -- Property 6 -------------------------------------------------------------------------------------------------------


@settings(QUICK, max_examples=8)
@given(
    seed=st.binary(min_size=32, max_size=32),
    what=st.sampled_from(["paid", "short", "spoilt", "twice"]),
)
def test_property_6_sensitive_data_protection(seed: bytes, what: str) -> None:
    """No log line of a whole subscription, well or badly paid, holds a key, a signature or a payment."""
    from solders.keypair import Keypair

    from tests.unit.x402.payments import World

    lines: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    keep, root = Keep(logging.DEBUG), logging.getLogger()
    before = root.level
    root.addHandler(keep)
    root.setLevel(logging.DEBUG)
    try:
        with TemporaryDirectory() as folder:
            payer = Keypair.from_seed(seed)
            merchant = Merchant(
                Shop(Path(folder) / "payments.db", world=World(payer=payer))
            )
            merchant.plan()
            arguments = {"planId": "pro", "walletAddress": merchant.address}
            payment = paying(merchant.payment(1 if what == "short" else 10_000))
            if what == "spoilt":
                payment["x402/payment"]["payload"]["transaction"] = "AAAA" + "B" * 400
            for _ in range(2 if what == "twice" else 1):
                asyncio.run(merchant.tools().call("subscribe", arguments, payment))
            signed = merchant.signed("cancel_subscription", {"subscriptionId": "sub_x"})
            asyncio.run(
                merchant.tools().call(
                    "cancel_subscription", {"subscriptionId": "sub_x"}, signed
                )
            )
            logging.getLogger("mcpsol_py.test").debug("the handler listens")
            merchant.shop.database.close()
    finally:
        root.removeHandler(keep)
        root.setLevel(before)
    told = "\n".join(lines)
    assert "the handler listens" in told
    secrets = [
        seed.hex(),
        str(payer),
        payment["x402/payment"]["payload"]["transaction"],
    ]
    secrets.append(signed["x402/sign-in-with-x"]["signature"])
    for secret in secrets:
        assert secret not in told


def test_a_plan_shows_nothing_secret() -> None:
    assert "whsec" not in repr(
        SubscriptionPlan("p", "n", DEVNET, "a", "m", 1, "monthly")
    )
