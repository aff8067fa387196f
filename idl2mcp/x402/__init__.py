"""The `idl2mcp x402` commands: paying, selling, storage and the worker."""
