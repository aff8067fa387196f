"""mcpsol-py: a Solana program's own MCP schema, from one source to its on-chain pages, its client and its MCP tools."""
