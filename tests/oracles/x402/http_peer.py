"""The official Python SDK as buyer, seller and facilitator over HTTP: httpx, requests, FastAPI and Flask.

Run in the environment x402peer. It is asked as tests/support/x402_peer.py says: one JSON request a line on stdin, one
JSON answer a line on stdout.
"""

# mypy: ignore-errors
# Another environment's x402: the types seen here are not those that it runs with.

import asyncio
import base64
import json
import logging
import sys
import threading
import time
from wsgiref.simple_server import WSGIRequestHandler, make_server

import requests
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from flask import Flask
from solders.keypair import Keypair
from x402 import (
    x402Client,
    x402ClientSync,
    x402FacilitatorSync,
    x402ResourceServer,
    x402ResourceServerSync,
)
from x402.http import (
    FacilitatorConfig,
    HTTPFacilitatorClient,
    HTTPFacilitatorClientSync,
    PaymentOption,
)
from x402.http.clients.httpx import x402HttpxClient
from x402.http.clients.requests import wrapRequestsWithPayment
from x402.http.middleware.fastapi import payment_middleware as fastapi_middleware
from x402.http.middleware.flask import payment_middleware as flask_middleware
from x402.http.types import RouteConfig
from x402.mechanisms.svm import FacilitatorKeypairSigner, KeypairSigner
from x402.mechanisms.svm.exact import (
    ExactSvmServerScheme,
    register_exact_svm_client,
    register_exact_svm_facilitator,
)
from x402.schemas import AssetAmount, PaymentPayload, PaymentRequirements
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

NETWORK = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
USDC = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"


def keypair(asked):
    return Keypair.from_seed(bytes.fromhex(asked["seed"]))


# ------------------------------------------------------------------------------------------------------------- buyers


def paying(kind, asked):
    client = kind()
    client.set_spend_controls(False)  # else it pays in USDC alone
    register_exact_svm_client(
        client, KeypairSigner(keypair(asked)), rpc_url=asked["rpc"]
    )
    return client


def buy_with_httpx(asked):
    async def get():
        async with x402HttpxClient(paying(x402Client, asked), timeout=30) as client:
            return await client.get(asked["url"])

    return asyncio.run(get())


def buy_with_requests(asked):
    session = wrapRequestsWithPayment(requests.Session(), paying(x402ClientSync, asked))
    return session.get(asked["url"], timeout=30)


BUYERS = {"x402[httpx]": buy_with_httpx, "x402[requests]": buy_with_requests}


def buy(asked):
    response = BUYERS[asked["package"]](asked)

    def header(name):
        text = response.headers.get(name)
        return None if text is None else json.loads(base64.b64decode(text))

    receipt = header("payment-response") or header("x-payment-response")
    return {
        "status": response.status_code,
        "receipt": receipt,
        "demand": header("payment-required"),
        "body": response.text,
    }


# ------------------------------------------------------------------------------------------------------------ sellers


def core(kind, client, asked):
    server = kind(client(FacilitatorConfig(url=asked["facilitator"])))
    server.register("solana:*", ExactSvmServerScheme())
    price = AssetAmount(amount="1000", asset=USDC)
    option = PaymentOption(
        scheme="exact", network=NETWORK, pay_to=asked["pay_to"], price=price
    )
    return {"GET /forecast": RouteConfig(accepts=option)}, server


def sell_with_fastapi(asked):
    app = FastAPI()
    middleware = fastapi_middleware(
        *core(x402ResourceServer, HTTPFacilitatorClient, asked)
    )

    @app.middleware("http")
    async def paid(request: Request, call_next):
        return await middleware(request, call_next)

    @app.get("/forecast")
    def forecast():
        return PlainTextResponse("sunny")

    return served(app)


def sell_with_flask(asked):
    app = Flask("forecast")
    flask_middleware(
        app, *core(x402ResourceServerSync, HTTPFacilitatorClientSync, asked)
    )
    app.add_url_rule("/forecast", view_func=lambda: "sunny")

    class Silent(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    server = make_server("127.0.0.1", 0, app, handler_class=Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


SELLERS = {"x402[fastapi]": sell_with_fastapi, "x402[flask]": sell_with_flask}


# ------------------------------------------------------------------------------------------------------- facilitators


def facilitate(asked):
    """The package has no server of its own: its facilitator behind the three endpoints."""
    facilitator = x402FacilitatorSync()
    signer = FacilitatorKeypairSigner(keypair(asked), rpc_url=asked["rpc"])
    register_exact_svm_facilitator(facilitator, signer, networks=NETWORK)
    app = FastAPI()

    def both(body):
        if body["paymentPayload"]["x402Version"] == 1:
            kinds = PaymentPayloadV1, PaymentRequirementsV1
        else:
            kinds = PaymentPayload, PaymentRequirements
        parts = body["paymentPayload"], body["paymentRequirements"]
        return [
            kind.model_validate(part) for kind, part in zip(kinds, parts, strict=True)
        ]

    def wire(model):
        return model.model_dump(by_alias=True, exclude_none=True)

    @app.get("/supported")
    def supported():
        return wire(facilitator.get_supported())

    @app.post("/verify")
    def verify(body: dict):
        return wire(facilitator.verify(*both(body)))

    @app.post("/settle")
    def settle(body: dict):
        return wire(facilitator.settle(*both(body)))

    return served(app)


def served(app):
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical")
    )
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"


OPS = {
    "buy": buy,
    "sell": lambda asked: SELLERS[asked["package"]](asked),
    "facilitate": facilitate,
}


def main():
    logging.disable(logging.CRITICAL)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {"ok": OPS[asked["op"]](asked)}
        except Exception as error:  # noqa: BLE001  # what it raises is its answer
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
