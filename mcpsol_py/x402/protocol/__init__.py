"""The x402 protocol: payloads over MCP and HTTP, prices, offers, receipts and extensions."""
