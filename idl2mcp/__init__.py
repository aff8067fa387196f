"""The command line: `idl2mcp` (see docs/cli.md)."""
