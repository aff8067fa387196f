"""Which of clippy's lints speak of odd lines of a body. They are right, and only the spec can change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.checker import leaves
from mcpsol_py.bodies.tree import Expression, Function, find
from mcpsol_py.names import rust_ident

__all__ = ["allowed_lints"]


def allowed_lints(function: Function) -> list[str]:
    """The attribute at the head of a function that has odd lines; no line for others."""
    nodes = list(tree.walk(function.body))
    found = [f"clippy::{lint}" for lint, is_odd in _LINTS if any(map(is_odd, nodes))]
    if _exchanges(nodes):
        found.append("clippy::almost_swapped")
    return [f"#![allow({', '.join(found)})]"] if found else []


def _exchanges(nodes: Iterable[object]) -> bool:
    """Return whether two variables get each other's value, one after the other."""
    made = [node for node in nodes if isinstance(node, tree.Assign)]
    pairs = [(one.name, getattr(one.value, "name", None)) for one in made]
    return any(one == other[::-1] for one, other in pairwise(pairs))


def _has_no_letter(node: object) -> bool:
    """Return whether a variable that is read has no letter in its name, such as `_`: in Rust it begins with `_`."""
    if not isinstance(node, (tree.LocalName, tree.Argument)):
        return False
    return rust_ident(node.name).startswith("_")


def _never_repeats(node: object) -> bool:
    return isinstance(node, tree.For) and leaves(node.body)


def _is_empty(node: object) -> bool:
    return (
        isinstance(node, tree.Range)
        and isinstance(node.start, tree.NumberValue)
        and isinstance(node.stop, tree.NumberValue)
        and node.start.value >= node.stop.value
    )


def _changes_its_bounds(node: object) -> bool:
    if not isinstance(node, tree.For):
        return False
    bounds = {local.name for local in find([node.over], tree.LocalName)}
    return any(made.name in bounds for made in find(node.body, tree.Assign))


def _is_within_another(node: object) -> bool:
    parts = (node.left, node.right) if isinstance(node, tree.MinMax) else ()
    return any(isinstance(part, tree.MinMax) for part in parts)


def _compares_bits(node: object) -> bool:
    parts = (node.left, node.right) if isinstance(node, tree.Compare) else ()
    return any(isinstance(part, tree.Bits) for part in parts)


def _asks_again(node: object) -> bool:
    if not isinstance(node, tree.If):
        return False
    later = [other.test for other in find(node.other, tree.If)]
    return node.test in later or (_is_known(node.test) and any(map(_is_known, later)))


def _is_known(test: Expression) -> bool:
    """Return whether clippy works out a condition, in which all is written out."""
    return all(isinstance(node, _WRITTEN) for node in tree.walk([test]))


def _compares_twice(node: object) -> bool:
    if not isinstance(node, tree.Logic) or node.sign == "||":
        return False
    bounded = [value for value in map(_bounded, node.parts) if value is not None]
    return any(value in bounded[:i] for i, value in enumerate(bounded))


def _bounded(part: object) -> object:
    """What is above or below a number that is written out; None for other conditions."""
    if not isinstance(part, tree.Compare) or part.sign in ("==", "!="):
        return None
    if isinstance(part.right, tree.NumberValue):
        return part.left
    return part.right if isinstance(part.left, tree.NumberValue) else None


_WRITTEN = (
    tree.NumberValue,
    tree.Flag,
    tree.Compare,
    tree.Logic,
    tree.Not,
    tree.Bits,
    tree.Choice,
)
_LINTS: tuple[tuple[str, Callable[[object], bool]], ...] = (
    ("used_underscore_binding", _has_no_letter),
    ("never_loop", _never_repeats),
    ("reversed_empty_ranges", _is_empty),
    ("mut_range_bound", _changes_its_bounds),
    ("min_max", _is_within_another),
    ("bad_bit_mask", _compares_bits),
    ("ineffective_bit_mask", _compares_bits),
    ("ifs_same_cond", _asks_again),
    ("redundant_comparisons", _compares_twice),
)
