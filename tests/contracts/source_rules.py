"""Rules about source text. Each function returns the violations in one file, as "line: what"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import is_address

__all__ = [
    "foreign_private_names",
    "layout_offsets",
    "outside_references",
    "imports_of_test_modules",
]
__all__ += ["written_addresses"]

_IDS = {
    value
    for name, value in vars(ids).items()
    if name.isupper() and isinstance(value, str)
} - {ids.SYSTEM_PROGRAM}
_OUR_PACKAGES = ("mcpsol_py", "idl2mcp")


# --- the ground floor ------------------------------------------------------------------------


def written_addresses(text: str) -> list[str]:
    """Find addresses that are written out as a literal, or inside a longer one."""
    return [
        f"{node.lineno}: {address}"
        for node in _literals(ast.parse(text))
        for address in _addresses_in(node.value)
    ]


def _literals(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the string and bytes literals, without docstrings."""
    statements = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in statements:
            yield node


def _addresses_in(value: object) -> list[str]:
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if not isinstance(value, str):
        return []
    if is_address(value):
        return [value]
    return [address for address in _IDS if address in value]


#: Sizes of a mint, a token account and a multisig.
_SIZES = {82, 165, 355}
#: Slices of a token account or mint that few other layouts have.
_SLICES = {
    (36, 44),
    (64, 72),
    (72, 76),
    (76, 108),
    (109, 113),
    (121, 129),
    (129, 133),
    (133, 165),
}
#: Single bytes: a token account's state, the account type, a mint's decimals.
_BYTES = {44, 108, 165}
#: What struct.unpack_from reads: amount, delegate, rent reserve, delegated amount, close authority.
_UNPACKED = {64, 72, 109, 121, 129}


def layout_offsets(text: str) -> list[str]:
    """Find byte offsets and sizes of token accounts and mints."""
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.expr)
        and (_is_size_check(node) or _is_token_part(node) or _is_token_unpack(node))
    ]


def _is_size_check(node: ast.expr) -> bool:
    """`len(…) == 165`, and the like."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    measures = any(
        isinstance(side, ast.Call)
        and isinstance(side.func, ast.Name)
        and side.func.id == "len"
        for side in sides
    )
    return measures and any(_number(side) in _SIZES for side in sides)


def _is_token_part(node: ast.expr) -> bool:
    """`data[64:72]` or `data[108]`."""
    if not isinstance(node, ast.Subscript):
        return False
    part = node.slice
    if isinstance(part, ast.Slice):
        return (_number(part.lower), _number(part.upper)) in _SLICES
    return _number(part) in _BYTES


def _is_token_unpack(node: ast.expr) -> bool:
    """`unpack_from(form, data, 64)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "unpack_from" and any(
        _number(arg) in _UNPACKED for arg in node.args
    )


def _number(node: ast.AST | None) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


# --- private names ---------------------------------------------------------------------------


def foreign_private_names(text: str) -> list[str]:
    """Find private names (`_x`) of other modules that a module imports or reads."""
    tree = ast.parse(text)
    modules = _imported_modules(tree)
    return [
        f"{line}: {name}"
        for node in ast.walk(tree)
        for line, name in (*_private_imports(node), *_private_attributes(node, modules))
    ]


def _imported_modules(tree: ast.AST) -> set[str]:
    """Return the names under which the file knows modules and classes of our packages."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name
                for alias in node.names
                if _is_ours(alias.name)
            }
    return found


def _private_imports(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ImportFrom) and _is_ours(node.module):
        for alias in node.names:
            if _is_private(alias.name):
                yield node.lineno, f"{node.module}.{alias.name}"


def _private_attributes(node: ast.AST, modules: set[str]) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Attribute) and _is_private(node.attr):
        owner = ast.unparse(node.value)
        if owner in modules:
            yield node.lineno, f"{owner}.{node.attr}"


def _is_ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] in _OUR_PACKAGES


def _is_private(name: str) -> bool:
    # mcpsol_py._moved is a private module of the whole package, with public functions.
    return name.startswith("_") and not name.startswith("__") and name != "_moved"


# --- tests -----------------------------------------------------------------------------------


def imports_of_test_modules(text: str) -> list[str]:
    """Find imports from test modules: helpers belong in support modules."""
    return [
        f"{node.lineno}: {name}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in _imported_from(node)
        if any(part.startswith("test_") for part in name.split("."))
    ]


def _imported_from(node: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        return names
    return [f"{node.module or ''}.{name}" for name in names]


# --- references ------------------------------------------------------------------------------

#: Notes that are not in this repository. In character classes, so that this file has none of them.
_OUTSIDE = re.compile(
    r"FIELD[-]NOTES"
    r"|(?:DESIGN|X402|SBF|ORACLES|STYLE)[.]md"
    r"|[.][.]/shared"
    r"|\bseeds? 0\d\d\b"
)


def outside_references(text: str) -> list[str]:
    """Find references to notes that are not in this repository."""
    return [
        f"{number}: {found[0]}"
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _OUTSIDE.search(line))
    ]
