"""Type stubs of programs: `stub(program)` returns a `.pyi`, as `idl2mcp stubs` writes it."""

from mcpsol_py.stubs.protocols import stub

__all__ = ["stub"]
