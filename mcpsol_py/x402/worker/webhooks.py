"""Sending events to a merchant's addresses, signed as Standard Webhooks defines.

`webhook-signature` is "v1," and base64 of HMAC-SHA256 over "id.timestamp.body". A receiver refuses
old timestamps, and recognises a repeat by `webhook-id`. An event is sent until it is accepted
(2xx), with growing pauses. After the last attempt it is dead, and waits for an operator.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Mapping

import anyio.to_thread
import httpx

from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.store.webhooks import Delivery, Webhook, Webhooks

__all__ = ["deliver_due", "sign", "verify"]

#: Seconds by which a timestamp may be off.
TOLERANCE_S = 300


def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix("whsec_"))


def sign(secret: str, message_id: str, timestamp: int, body: str) -> str:
    """Return the `webhook-signature` of a message. *timestamp* in seconds since 1970.

    >>> secret, message_id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    >>> sign(secret, message_id, 1614265330, '{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    signed = f"{message_id}.{timestamp}.{body}".encode()
    digest = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def verify(
    secret: str, headers: Mapping[str, str], body: str, *, now: float | None = None
) -> bool:
    """Return True if the owner of *secret* sent the message, and sent it now. For receivers in
    Python.

    Header names in lower case. *now* in seconds since 1970.
    """
    message_id = headers.get("webhook-id", "")
    stamp = read_u64(headers.get("webhook-timestamp"))
    if (
        stamp is None
        or abs((time.time() if now is None else now) - stamp) > TOLERANCE_S
    ):
        return False
    wanted = sign(secret, message_id, stamp, body)
    # there are several signatures while a secret is being changed
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(wanted.encode(), one.encode()) for one in given)


async def deliver_due(
    webhooks: Webhooks,
    client: httpx.AsyncClient,
    *,
    limit: int = 20,
    timeout: float = 15.0,
    clock: Callable[[], float] = time.time,
) -> int:
    """Send the events that are due, one after the other. Return how many were accepted.

    No redirect is followed: a signed event goes to the address that was given only.
    """
    taken = 0
    for delivery, hook in await anyio.to_thread.run_sync(
        lambda: webhooks.take_due(limit)
    ):
        if hook is None:
            await anyio.to_thread.run_sync(
                webhooks.give_up, delivery, "the address was removed"
            )
            continue
        why = await _post(client, hook, delivery, timeout, clock)
        if why is None:
            await anyio.to_thread.run_sync(webhooks.delivered, delivery.id)
            taken += 1
        else:
            await anyio.to_thread.run_sync(webhooks.failed, delivery, why)
    return taken


async def _post(
    client: httpx.AsyncClient,
    hook: Webhook,
    delivery: Delivery,
    timeout: float,
    clock: Callable[[], float],
) -> str | None:
    """Send one event. Return None if it was accepted, else the reason."""
    stamp = int(clock())
    headers = {
        "content-type": "application/json",
        "webhook-id": delivery.id,
        "webhook-timestamp": str(stamp),
        "webhook-signature": sign(hook.secret, delivery.id, stamp, delivery.body),
    }
    try:
        # The answer's body is never read: only its status counts.
        async with client.stream(
            "POST",
            hook.url,
            content=delivery.body.encode(),
            headers=headers,
            timeout=timeout,
            follow_redirects=False,
        ) as answer:
            return None if answer.is_success else f"status {answer.status_code}"
    except (
        httpx.HTTPError,
        OSError,
    ) as error:  # its text may hold the URL, which may hold a key
        return type(error).__name__
