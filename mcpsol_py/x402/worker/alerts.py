"""Alerting a wallet's owner that a limit is nearly used up, by a signed webhook (Standard
Webhooks).
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime

import httpx
import orjson

from mcpsol_py import telemetry
from mcpsol_py.client.bounded import NO_PROXY_HERE
from mcpsol_py.x402.worker.webhooks import sign

__all__ = ["webhook_alert"]

#: Seconds before each attempt after the first.
PAUSES = (1.0, 5.0, 30.0)


def webhook_alert(
    url: str,
    secret: str,
    *,
    transport: httpx.BaseTransport | None = None,
    pauses: tuple[float, ...] = PAUSES,
    timeout: float = 10.0,
) -> Callable[[str, int, int, str], None]:
    """Return an alert for Budget(alert=…) that posts to *url*.

    The body is {"type": "budget.nearly_used_up", "data": {asset, spent, limit, kind}}. *secret*:
    "whsec_" and base64. A separate thread sends it, so that no payment waits for it. If it cannot
    be delivered, that is logged.
    """

    def alert(asset: str, spent: int, limit: int, kind: str) -> None:
        data = {"asset": asset, "spent": str(spent), "limit": str(limit), "kind": kind}
        when = datetime.now(UTC).isoformat(timespec="seconds")
        body = orjson.dumps(
            {"type": "budget.nearly_used_up", "timestamp": when, "data": data}
        ).decode()
        threading.Thread(
            target=_send, args=(f"msg_{uuid.uuid4().hex}", body), daemon=True
        ).start()

    def _send(message_id: str, body: str) -> None:
        for pause in (0.0, *pauses):
            time.sleep(pause)
            stamp = int(time.time())
            headers = {
                "content-type": "application/json",
                "webhook-id": message_id,
                "webhook-timestamp": str(stamp),
                "webhook-signature": sign(secret, message_id, stamp, body),
            }
            try:
                with (
                    httpx.Client(
                        transport=transport,
                        mounts=NO_PROXY_HERE,
                        timeout=timeout,
                        follow_redirects=False,
                    ) as client,
                    client.stream("POST", url, content=body, headers=headers) as answer,
                ):
                    if answer.is_success:  # its body is never read
                        return
            except httpx.HTTPError:
                continue
        telemetry.event("alert not delivered", level="warning")

    return alert
