"""A weather server that charges $0.001 for a forecast: docs/selling-your-own.md says how to run it, with play money."""

import os

from mcp.server.mcpserver import MCPServer

from mcpsol_py.x402 import paid, sell

#: The merchant of the play-money chain. On a real cluster: your own address.
PAY_TO = os.environ.get("PAY_TO", "FmaYHz5Yistb71xv2jyaCrbHVQZSv9LWe7TMX52jeSqu")
FACILITATOR = os.environ.get("FACILITATOR", "http://127.0.0.1:8402")
server = MCPServer("weather")


@server.tool()
@paid("$0.001")
def forecast(city: str) -> str:
    """Tomorrow's weather in a city."""
    return f"Tomorrow in {city}: sunny, 21 °C"


@server.tool()
def cities() -> list[str]:
    """The cities that this server knows. Costs nothing."""
    return ["Bern", "Thun"]


if __name__ == "__main__":
    sell(server, pay_to=PAY_TO, url=f"{FACILITATOR}/rpc", facilitators=[FACILITATOR])
    server.run("streamable-http", port=int(os.environ.get("PORT", "8000")))
