"""Good calls of the instructions whose rules the spec alone does not say, for `idl2mcp attack programs/x402`.

What they need was made by the program itself, as clients make it: a channel was opened, a plan was subscribed to. The
other instructions' calls are made up.
"""

from dataclasses import dataclass
from typing import Any

from solders.instruction import AccountMeta
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.attack import Call, Scene
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.x402.chain import program as x402

_DEPOSIT = 10_000
_GRACE = 900
_TERMS = {"price": 100, "period": 1_000, "trial": 0, "grace": 300}


# --- channels: of a payer, to a payee and one recipient, paid for by a sponsor ----------------------------------------


@dataclass(frozen=True)
class _Channel:
    scene: Scene
    address: Pubkey
    payer: Keypair
    payee: Keypair
    sponsor: Keypair
    session: Keypair
    mint: Pubkey
    recipient: Pubkey

    def purse(self, owner: Pubkey) -> Pubkey:
        """The associated token account of *owner*."""
        return associated_token(owner, self.mint, self.scene.token_program)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Who gets which part of what the payee earns."""
        return [{"recipient": self.recipient, "bps": 2_500}]

    @property
    def opening(self) -> Call:
        """The call that opens it."""
        args = {
            "salt": 7,
            "deposit": _DEPOSIT,
            "grace_period": _GRACE,
            "open_slot": self.scene.slot,
        }
        accounts = {
            "payer": self.payer,
            "rent_payer": self.sponsor,
            "payee": self.payee,
            "mint": self.mint,
            "authorized_signer": self.session,
            "channel": self.address,
            "channel_token_account": self.purse(self.address),  # not there yet
        }
        return Call(args | {"recipients": self.entries}, accounts)

    @property
    def holding(self) -> dict[str, Any]:
        """The accounts of calls that move the payer's tokens."""
        return {"payer": self.payer, "channel": self.address, "mint": self.mint}

    @property
    def distribution(self) -> Call:
        """The call that pays out."""
        tail = [AccountMeta(self.purse(self.recipient), False, True)]
        return Call(
            {"recipients": self.entries},
            {**self.holding, "rent_payer": self.sponsor},
            tail,
        )

    def settled(self, cumulative: int) -> None:
        """A voucher was settled."""
        voucher = x402.signed_voucher(self.session, self.address, cumulative)
        self.scene.send("settle", {}, {"channel": self.address}, before=[voucher])

    def sealed(self) -> None:
        """No voucher counts any more."""
        self.scene.send(
            "settle_and_seal",
            {"has_voucher": 0},
            {"payee": self.payee, "channel": self.address},
        )


def _to_open(scene: Scene) -> _Channel:
    payer, payee, sponsor, session = (
        scene.wallet(name) for name in ("payer", "payee", "sponsor", "session key")
    )
    recipient = scene.wallet("recipient").pubkey()
    mint = scene.mint()
    scene.tokens(mint, payer)
    for owner in (payee.pubkey(), recipient, x402.TREASURY_OWNER):
        scene.tokens(mint, owner, 0)
    parties = (payer.pubkey(), payee.pubkey(), mint, session.pubkey())
    address = x402.channel_address(*parties, 7, scene.slot, scene.program_id)
    return _Channel(scene, address, payer, payee, sponsor, session, mint, recipient)


def _opened(scene: Scene) -> _Channel:
    channel = _to_open(scene)
    call = channel.opening
    scene.send("open", call.args, call.accounts)
    return channel


def open(scene: Scene) -> Call:  # named as the instruction
    return _to_open(scene).opening


def settle(scene: Scene) -> Call:
    channel = _opened(scene)
    voucher = x402.signed_voucher(channel.session, channel.address, 400)
    return Call({}, {"channel": channel.address}, before=[voucher])


def top_up(scene: Scene) -> Call:
    return Call({"amount": 500}, _opened(scene).holding)


def settle_and_seal(scene: Scene) -> Call:
    channel = _opened(scene)
    voucher = x402.signed_voucher(channel.session, channel.address, 400)
    return Call(
        {"has_voucher": 1},
        {"payee": channel.payee, "channel": channel.address},
        before=[voucher],
    )


def request_close(scene: Scene) -> Call:
    channel = _opened(scene)
    return Call({}, {"payer": channel.payer, "channel": channel.address})


def seal(scene: Scene) -> Call:
    channel = _opened(scene)
    scene.send(
        "request_close", {}, {"payer": channel.payer, "channel": channel.address}
    )
    scene.set_clock(scene.now + _GRACE)
    return Call({}, {"channel": channel.address})


def distribute(scene: Scene) -> Call:
    channel = _opened(scene)
    channel.settled(4_000)
    channel.sealed()
    return channel.distribution


def withdraw_payer(scene: Scene) -> Call:
    channel = _opened(scene)
    channel.settled(4_000)
    channel.sealed()
    return Call({}, channel.holding)


def reclaim(scene: Scene) -> Call:
    channel = _opened(scene)
    channel.settled(4_000)
    channel.sealed()
    scene.send(
        "distribute",
        channel.distribution.args,
        channel.distribution.accounts,
        remaining=channel.distribution.remaining,
    )
    scene.set_clock(slot=scene.slot + 1_501)
    return Call({}, {"channel": channel.address, "rent_payer": channel.sponsor})


# --- exact payments ---------------------------------------------------------------------------------------------------


def pay(scene: Scene) -> Call:
    payer, payee, sponsor = (
        scene.wallet(name) for name in ("payer", "payee", "sponsor")
    )
    mint = scene.mint()
    expires = scene.now + 60
    args = {
        "payment_id": x402.payment_id(expires, "invoice 1"),
        "call_hash": bytes(range(32)),
        "amount": 1_000,
        "expires_at": expires,
    }
    accounts = {
        "authority": payer,
        "rent_payer": sponsor,
        "payer": payer.pubkey(),
        "payee": payee.pubkey(),
        "mint": mint,
        "source": scene.tokens(mint, payer),
        "destination": scene.tokens(mint, payee, 0),
    }
    return Call(args, accounts)


def close_receipt(scene: Scene) -> Call:
    call = pay(scene)
    scene.send("pay", call.args, call.accounts)
    scene.set_clock(scene.now + 60 + 7 * 86_400)
    payer, payee = call.accounts["payer"], call.accounts["payee"]
    mint, ident = call.accounts["mint"], call.args["payment_id"]
    receipt = x402.receipt_address(payer, payee, mint, ident, scene.program_id)
    return Call({}, {"receipt": receipt, "rent_payer": call.accounts["rent_payer"]})


# --- subscriptions ----------------------------------------------------------------------------------------------------


def _parties(scene: Scene) -> dict[str, Any]:
    """A merchant with a plan, and a subscriber with tokens."""
    merchant, subscriber = scene.wallet("merchant"), scene.wallet("subscriber")
    mint = scene.mint()
    scene.tokens(mint, subscriber)
    scene.tokens(mint, merchant, 0)
    plan = x402.plan_address(merchant.pubkey(), 1, scene.program_id)
    terms = {"plan_id": 1, **_TERMS, "max_charges": 12}
    scene.send("create_plan", terms, {"plan": plan, "merchant": merchant, "mint": mint})
    return {"plan": plan, "merchant": merchant, "subscriber": subscriber, "mint": mint}


def _subscribed(scene: Scene) -> dict[str, Any]:
    """The same with a subscription, whose first period is paid."""
    parties = _parties(scene)
    scene.send(
        "subscribe",
        {**_TERMS, "periods": 3},
        parties | {"rent_payer": scene.wallet("sponsor")},
    )
    subscription = x402.subscription_address(
        parties["plan"], parties["subscriber"].pubkey(), scene.program_id
    )
    del parties["plan"]
    return parties | {"subscription": subscription}


def subscribe(scene: Scene) -> Call:
    return Call(
        {**_TERMS, "periods": 3},
        _parties(scene) | {"rent_payer": scene.wallet("sponsor")},
    )


def charge(scene: Scene) -> Call:
    parties = _subscribed(scene)
    scene.set_clock(scene.now + 1_000)
    return Call({}, parties)


def change_plan(scene: Scene) -> Call:
    parties = _subscribed(scene)
    other = x402.plan_address(parties["merchant"].pubkey(), 2, scene.program_id)
    terms = {
        "plan_id": 2,
        "price": 50,
        "period": 2_000,
        "trial": 0,
        "grace": 300,
        "max_charges": 12,
    }
    scene.send(
        "create_plan",
        terms,
        {"plan": other, "merchant": parties["merchant"], "mint": parties["mint"]},
    )
    return Call(
        {"price": 50, "period": 2_000, "grace": 300, "periods": 4},
        parties | {"plan": other},
    )


def cancel(scene: Scene) -> Call:
    parties = _subscribed(scene)
    return Call(
        {}, {name: parties[name] for name in ("subscription", "subscriber", "mint")}
    )


def merchant_cancel(scene: Scene) -> Call:
    parties = _subscribed(scene)
    scene.tokens(parties["mint"], parties["merchant"], 1_000)
    scene.set_clock(scene.now + 500)
    return Call({}, parties)


def close_subscription(scene: Scene) -> Call:
    parties = _subscribed(scene)
    scene.send(
        "cancel",
        {},
        {name: parties[name] for name in ("subscription", "subscriber", "mint")},
    )
    scene.set_clock(scene.now + 1_000)
    names = ("subscription", "subscriber", "mint")
    given = {name: parties[name] for name in names}
    given["subscriber"] = parties["subscriber"].pubkey()
    return Call({}, {**given, "rent_payer": scene.wallet("sponsor")})
