"""Writes a scenario file to complete: a function for each instruction whose good call cannot be made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import filterfalse

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import must_sign
from mcpsol_py.items import names_of
from mcpsol_py.names import clean_text
from mcpsol_py.program import Program, ProgramInstruction

__all__ = ["skeleton_of"]

_HEAD = """\"\"\"Good calls for `idl2mcp attack`, of instructions whose bodies want more than the constraints say.\"\"\"

from mcpsol_py.attack import Call, Scene
"""


def skeleton_of(program: Program, needed: Mapping[str, str]) -> str:
    """Return the text of a scenario for the instructions *needed*, each with the error of the call that was made up."""
    functions = [
        _function(program.instruction(name), why) for name, why in needed.items()
    ]
    return "\n\n".join([_HEAD, *functions])


def _function(instruction: ProgramInstruction, why: str) -> str:
    return "\n".join(["", *_lines(instruction, why), ""]).lstrip("\n")


def _lines(instruction: ProgramInstruction, why: str) -> Iterator[str]:
    """Yield the lines of a function that makes the call with made-up values, for its author to change."""
    needed = _needed(instruction)
    signing, silent = filter(must_sign, needed), filterfalse(must_sign, needed)
    signers, others = names_of(signing), names_of(silent)
    arguments = [f"{arg.name!r}: ..." for arg in instruction.arguments if arg.required]
    given = [f"{name!r}: {_variable(name)}" for name in signers]
    yield f"def {instruction.name}(scene: Scene) -> Call:"
    yield f"    # The call that was made up failed: {clean_text(why, 200)}"
    yield "    # Prepare the chain first: scene.send, scene.mint, scene.tokens, scene.set_clock"
    for name in signers:
        yield f"    {_variable(name)} = scene.wallet({name!r})"
    if arguments:
        yield f"    # arguments that matter: {{{', '.join(arguments)}}}"
    if others:
        yield f"    # other accounts that matter: {', '.join(others)}"
    yield f"    return Call({{}}, {{{', '.join(given)}}})"


def _needed(instruction: ProgramInstruction) -> list[Leaf]:
    """Return the accounts that the author must give."""
    leaves = dict(zip(instruction.accounts, instruction.plan.leaves, strict=True))
    return [leaves[name] for name in instruction.must_give(wallet=False)]


def _variable(name: str) -> str:
    return name.replace(".", "_")
