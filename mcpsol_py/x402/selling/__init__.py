"""Selling calls: paid calls over MCP and HTTP, and the facilitators that settle for them."""
