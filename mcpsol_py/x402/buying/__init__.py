"""Paying for calls: budgets, wallets, and clients over MCP and HTTP."""
