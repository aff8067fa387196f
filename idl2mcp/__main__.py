"""`python -m idl2mcp` is `idl2mcp`."""

from idl2mcp.cli import main

main()
