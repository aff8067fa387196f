"""Reads a scenario file: functions that give good calls, expected errors, and what its author allows or leaves out."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from mcpsol_py.attack.sandbox import Call, Scene
from mcpsol_py.errors import SourceError, UnknownName
from mcpsol_py.program import Program
from mcpsol_py.sources.execution import check_may_run

__all__ = ["Scenario", "read_scenario"]


@dataclass(frozen=True)
class Scenario:
    """The content of a scenario file.

    `calls`: functions that give good calls, by instruction. `expect`: errors of the handlers that may refuse an attack
    ({"pay re-init": "AlreadyPaid"}). `skip`: instructions to leave out, with the reason. `allow`: what strangers may do
    with an account that nobody who signs is bound to, with the reason ({"sweep unbound order": "expired orders"}).
    """

    calls: Mapping[str, Callable[[Scene], Call]] = field(default_factory=dict)
    expect: Mapping[str, str | Collection[str]] = field(default_factory=dict)
    skip: Mapping[str, str] = field(default_factory=dict)
    allow: Mapping[str, str] = field(default_factory=dict)

    def expected(self, instruction: str, kind: str, target: str) -> set[str]:
        """Return the names of errors that `expect` adds for one attack."""
        names: set[str] = set()
        for key in (f"{instruction} {kind}", f"{instruction} {kind} {target}"):
            value = self.expect.get(key, ())
            names.update({value} if isinstance(value, str) else value)
        return names

    def allows(self, instruction: str, kind: str, target: str) -> bool:
        """Does the author allow strangers to do this?"""
        return f"{instruction} {kind} {target}" in self.allow


def read_scenario(path: Path, program: Program) -> Scenario:
    """Read a Python module whose public functions have the names of instructions. EXPECT, SKIP and ALLOW are dicts.

    Raises SourceError, also for a function or a key that names an unknown instruction, and for a key of ALLOW that is
    not of the kind "unbound".
    """
    module = _import(path)
    calls = {
        name: value
        for name, value in vars(module).items()
        if _is_call(module, name, value)
    }
    expect = dict(getattr(module, "EXPECT", {}))
    skip = dict(getattr(module, "SKIP", {}))
    allow = dict(getattr(module, "ALLOW", {}))
    _check_allowed(allow, path)
    keyed = [key.split()[0] for key in [*expect, *allow] if key.split()]
    for name in [*calls, *keyed, *skip]:
        if name not in program.instructions:
            error = UnknownName("instruction", name, program.instructions)
            raise SourceError(
                f"{error} Helpers begin with an underscore.", origin=str(path)
            )
    return Scenario(calls, expect, skip, allow)


def _check_allowed(allow: Mapping[str, str], path: Path) -> None:
    """Refuse to allow attacks that break a constraint. Raises SourceError."""
    for key in allow:
        words = key.split(" ")
        if len(words) != 3 or words[1] != "unbound":
            text = (
                f'expected keys "INSTRUCTION unbound ACCOUNT" in ALLOW; got {key!r}. '
                "Only these attacks break no constraint: mend the program for others"
            )
            raise SourceError(text, origin=str(path))


def _is_call(module: ModuleType, name: str, value: object) -> bool:
    """Is this a public function that the module itself defines?"""
    if name.startswith("_") or isinstance(value, type) or not callable(value):
        return False
    return getattr(value, "__module__", None) == module.__name__


def _import(path: Path) -> ModuleType:
    name = f"mcpsol_attack_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or not path.is_file():
        raise SourceError("this Python file does not exist", origin=str(path))
    check_may_run(str(path))
    module = importlib.util.module_from_spec(spec)
    with _registered(module):
        _execute(spec, module, path)
    return module


def _execute(spec: ModuleSpec, module: ModuleType, path: Path) -> None:
    assert spec.loader is not None
    try:
        spec.loader.exec_module(module)
    except SourceError:
        raise
    except Exception as error:  # a scenario is the user's code: it may raise anything
        text = f"the scenario raised {type(error).__name__}: {error}"
        raise SourceError(text, origin=str(path)) from error


@contextmanager
def _registered(module: ModuleType) -> Iterator[None]:
    """List the module in `sys.modules`, where its dataclasses look it up, and write no bytecode."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.dont_write_bytecode = before
        sys.modules.pop(module.__name__, None)
