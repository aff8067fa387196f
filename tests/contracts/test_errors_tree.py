"""The tree drawn at the top of mcpsol_py/errors.py is the tree of its classes."""

import re

from mcpsol_py import errors

CLASSES = {
    name: cls
    for name, cls in vars(errors).items()
    if isinstance(cls, type) and issubclass(cls, errors.McpsolError)
}


def drawn() -> dict[str, str]:
    """Class -> its parent, read from the drawing; the root's parent is ""."""
    parents: dict[str, str] = {}
    stack: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^([│├└─ ]*)([A-Z][A-Za-z]+)  ", line)
        if not found:
            continue
        depth = len(found[1]) // 3
        del stack[depth:]
        parents[found[2]] = stack[-1] if stack else ""
        stack.append(found[2])
    return parents


def test_the_drawing_is_the_tree() -> None:
    real = {
        name: "" if name == "McpsolError" else cls.__bases__[0].__name__
        for name, cls in CLASSES.items()
    }
    assert drawn() == real


def test_every_error_is_public() -> None:
    assert set(CLASSES) <= set(errors.__all__)


def test_every_class_has_a_reason_of_its_own() -> None:
    # PaymentError's reason is the protocol's own and set for each instance.
    reasons = {name: cls.reason for name, cls in CLASSES.items()}
    assert len(set(reasons.values())) == len(reasons), sorted(
        reasons.items(), key=lambda item: item[1]
    )
