"""The same forecast over HTTP, with FastAPI: `uvicorn examples.own_tools.web:app`."""

import os

from fastapi import FastAPI

from mcpsol_py.x402 import paid, sell

PAY_TO = os.environ.get("PAY_TO", "FmaYHz5Yistb71xv2jyaCrbHVQZSv9LWe7TMX52jeSqu")
FACILITATOR = os.environ.get("FACILITATOR", "http://127.0.0.1:8402")
app = FastAPI()


@app.get("/forecast/{city}")
@paid("$0.001")
def forecast(city: str) -> dict[str, str]:
    """Tomorrow's weather in a city."""
    return {"city": city, "weather": "sunny"}


sell(app, pay_to=PAY_TO, url=f"{FACILITATOR}/rpc", facilitators=[FACILITATOR])
