"""Writes a scenario file to complete: a function for each instruction whose good call cannot be made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mcpsol_py.attack.derivation import must_sign
from mcpsol_py.names import clean_text
from mcpsol_py.program import Program, ProgramInstruction

__all__ = ["skeleton_of"]

_HEAD = """\"\"\"Good calls for `idl2mcp attack`, of instructions whose bodies want more than the constraints say.\"\"\"

from mcpsol_py.attack import Call, Scene
"""


def skeleton_of(program: Program, needed: Mapping[str, str]) -> str:
    """Return the text of a scenario for the instructions *needed*, each with the error of the call that was made up."""
    functions = [_function(program.instruction(name), why) for name, why in needed.items()]
    return "\n\n".join([_HEAD, *functions])


def _function(instruction: ProgramInstruction, why: str) -> str:
    return "\n".join(["", *_lines(instruction, why), ""]).lstrip("\n")


def _lines(instruction: ProgramInstruction, why: str) -> Iterator[str]:
    """Yield the lines of a function that makes the call with made-up values, for its author to change."""
    leaves = dict(zip(instruction.accounts, instruction.plan.leaves, strict=True))
    needed = [leaves[name] for name in instruction.must_give(wallet=False)]
    signers = [leaf for leaf in needed if must_sign(leaf)]
    yield f"def {instruction.name}(scene: Scene) -> Call:"
    yield f"    # The call that was made up failed: {clean_text(why, 200)}"
    yield "    # Prepare the chain first: scene.send, scene.mint, scene.tokens, scene.set_clock"
    for leaf in signers:
        yield f"    {_variable(leaf.name)} = scene.wallet({leaf.name!r})"
    given = ", ".join(f"{leaf.name!r}: {_variable(leaf.name)}" for leaf in signers)
    arguments = ", ".join(f"{arg.name!r}: ..." for arg in instruction.arguments if arg.required)
    if arguments:
        yield f"    # arguments that matter: {{{arguments}}}"
    others = [leaf.name for leaf in needed if not must_sign(leaf)]
    if others:
        yield f"    # other accounts that matter: {', '.join(others)}"
    yield f"    return Call({{}}, {{{given}}})"


def _variable(name: str) -> str:
    return name.replace(".", "_")
