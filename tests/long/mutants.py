"""Mutants of the compiler of bodies: each is noticed by random bodies in an SVM, or by the unit tests.

A mutant renders the same spec as the compiler does. Handlers that differ go into one crate, a few of each mutant, which
is compiled once and compared with the simulator. What that does not notice, the unit tests of the compiler must.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import click

from mcpsol_py.build import build_program
from mcpsol_py.build.toolchain import CARGO
from tests.long.mutant_table import MUTANTS, Mutant
from tests.long.record import CACHE, REPO, Record
from tests.support import random_programs
from tests.support.oracle import Oracle
from tests.support.random_bodies import spec_text

SEED, BODIES = 101, 30
#: How many bodies of each mutant run, and the calls of each.
TAKEN, CALLS = 8, 400
#: How many handlers share a crate. The compiler's time grows faster than their number.
PER_CRATE = 60
#: The part of the mutants that must be noticed.
WANTED = 0.95
_FOLDER = CACHE / "mutants"
_TESTS = ("tests/unit/bodies", "tests/unit/render/handlers")


def run() -> bool:
    """Run all mutants, print what noticed each, and return whether enough of them were noticed."""
    record = Record("mutants")
    left = [mutant for mutant in MUTANTS if mutant.name not in record.results]
    for mutant, how in _noticed(left):
        record.add(mutant.name, how=how)
        click.echo(f"{how or 'NOT NOTICED':12} {mutant.name}")
    caught = sum(bool(result["how"]) for result in record.results.values())
    click.echo(f"{caught} of {len(MUTANTS)} mutants were noticed")
    return caught >= WANTED * len(MUTANTS)


def _noticed(mutants: list[Mutant]) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what noticed it; "" if nothing did."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    spec = _FOLDER / "spec.py"
    spec.write_text(spec_text(SEED, BODIES), encoding="utf-8")
    unchanged = _rendered(spec, _FOLDER / "base", _scratch(None))
    assert not unchanged, unchanged  # else every mutant would seem to be noticed
    base = _sources(_FOLDER / "base")
    crate = _Crate(base)
    differing: list[tuple[int, Mutant, _Crate]] = []
    with ThreadPoolExecutor(1) as cargo:  # compiles a crate while others are filled
        for number, mutant in enumerate(mutants):
            scratch = _scratch(mutant)
            out = _FOLDER / f"mutant{number}"
            refused = _rendered(spec, out, scratch)
            assert "SyntaxError" not in refused, f"{mutant.name}: {refused}"
            if refused:
                yield mutant, "refusal"
            elif crate.add(number, _sources(out)):
                differing.append((number, mutant, crate))
                if crate.is_full:
                    crate.checked = cargo.submit(crate.check)
                    crate = _Crate(base)
            else:
                yield mutant, _by_tests(scratch)
        if crate.mutants:
            crate.checked = cargo.submit(crate.check)
        for number, mutant, crate in differing:
            yield mutant, crate.noticed(number) or _by_tests(_scratch(mutant))


def _scratch(mutant: Mutant | None) -> Path:
    """A copy of the package with the edit of a mutant, if any, for as long as no other is made."""
    scratch = _FOLDER / "scratch"
    if not scratch.exists():
        no_caches = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPO / "mcpsol_py", scratch / "mcpsol_py", ignore=no_caches)
        (scratch / "templates").symlink_to(REPO / "templates")
    for name in {each.file for each in MUTANTS}:
        shutil.copyfile(REPO / "mcpsol_py" / name, scratch / "mcpsol_py" / name)
    if mutant is None:
        return scratch
    file = scratch / "mcpsol_py" / mutant.file
    text = file.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, (
        f"{mutant.name}: {mutant.file} has changed, mend the mutant"
    )
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return scratch


_RENDER = """
import sys
from mcpsol_py.render import render
from mcpsol_py.sources.spec import read_spec
render(read_spec(sys.argv[1]), out=sys.argv[2], source="spec.py")
"""


def _rendered(spec: Path, out: Path, package: Path) -> str:
    """Render a spec with another copy of this package. Returns what it refuses, "" if nothing."""
    done = subprocess.run(
        [sys.executable, "-c", _RENDER, str(spec), str(out)],
        env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=_FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr if done.returncode else ""


def _by_tests(scratch: Path) -> str:
    """Do the compiler's unit tests notice the mutant in a copy of the package?"""
    line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*line, "-o", f"pythonpath={scratch} .", *_TESTS],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=REPO,
        capture_output=True,
        check=False,
    )
    return "unit tests" if done.returncode == 1 else ""


def _sources(crate: Path) -> dict[str, str]:
    """The handlers and helpers of a crate, by file name."""
    files = [*(crate / "src/processor").glob("f*.rs"), crate / "src/helpers.rs"]
    return {
        file.stem: _without_head(file.read_text(encoding="utf-8")) for file in files
    }


def _without_head(text: str) -> str:
    """A generated file without its first line, which has a digest."""
    return text.partition("\n")[2]


def _changes(base: dict[str, str], sources: dict[str, str]) -> dict[str, int]:
    """By handler that differs: its lines that do, and its calls of helpers that do."""
    helpers = _functions(sources["helpers"])
    changed = {
        name
        for name, text in helpers.items()
        if text != _functions(base["helpers"]).get(name)
    }
    for _ in helpers:  # what calls such a helper is another one, too
        changed |= {name for name in helpers if _calls(helpers[name], changed)}
    found = {
        name: len(set(text.splitlines()) ^ set(base[name].splitlines()))
        + (text != base[name])  # the same lines in another order
        + _calls(text, changed)
        for name, text in sources.items()
        if name != "helpers"
    }
    return {name: count for name, count in found.items() if count}


def _functions(helpers: str) -> dict[str, str]:
    """The functions of the file of helpers, by name."""
    parts = re.split(r"^pub fn (\w+)", helpers, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _calls(text: str, functions: set[str]) -> int:
    return sum(name in functions for name in re.findall(r"\b(\w+)\(", text))


def _own_name(number: int, handler: str) -> str:
    """A mutant's own name for a handler. Its discriminator does not begin like that of the instruction for events."""
    names = (f"m{number}{'x' * more}_{handler}" for more in itertools.count())
    return next(
        name for name in names if sha256(f"global:{name}".encode()).digest()[0] != 0xE4
    )


@dataclass
class _Crate:
    """One crate with handlers of many mutants, each beside its own copy of the helpers."""

    base: dict[str, str]
    #: by mutant, its handlers and its helpers by file name
    mutants: dict[int, dict[str, str]] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    checked: Future[Oracle] = field(default_factory=Future)

    @property
    def is_full(self) -> bool:
        """Whether the next mutant goes into another crate."""
        return sum(map(len, self.mutants.values())) >= PER_CRATE

    def add(self, number: int, sources: dict[str, str]) -> bool:
        """Take those of a mutant's handlers that differ most, and as many others. Returns whether any differs."""
        changes = _changes(self.base, sources)
        handlers = sorted(changes, key=lambda name: int(name[1:]))
        most = sorted(handlers, key=changes.__getitem__, reverse=True)[: TAKEN // 2]
        others = [name for name in handlers if name not in most]
        few = [
            *most,
            *random.Random(number).sample(others, min(TAKEN - len(most), len(others))),
        ]
        if few:
            self.mutants[number] = {name: sources[name] for name in [*few, "helpers"]}
        return bool(few)

    def check(self) -> Oracle:
        """Write, compile and load the crate, without the mutants that rustc refuses."""
        folder = _FOLDER / f"from{min(self.mutants)}"
        spec = self._spec(folder)
        assert not _rendered(spec, folder / "crate", REPO)
        random_programs.make_workspace(folder / "crate", "pinocchio")
        for number, sources in self.mutants.items():
            self._write(folder / "crate/src", number, sources)
        while found := self._refused_by_rustc(folder / "crate"):
            self.refused |= found
            for number in found:
                self._write(
                    folder / "crate/src",
                    number,
                    dict.fromkeys(self.mutants[number], ""),
                )
        os.environ["CARGO_TARGET_DIR"] = str(CACHE / "cargo-pinocchio")
        return Oracle(spec, build_program(folder / "crate").so.read_bytes())

    def _spec(self, folder: Path) -> Path:
        """The spec with the chosen bodies of each mutant, under names of their own."""
        text = (_FOLDER / "spec.py").read_text(encoding="utf-8")
        head, *methods = text.split("\n    @instruction\n")
        by_name = {method.split("(")[0].split()[-1]: method for method in methods}
        chosen = [
            by_name[name].replace(f"def {name}(", f"def {_own_name(number, name)}(")
            for number, sources in self.mutants.items()
            for name in sources
            if name != "helpers"
        ]
        folder.mkdir()
        spec = folder / "spec.py"
        spec.write_text("\n    @instruction\n".join([head, *chosen]), encoding="utf-8")
        return spec

    def _write(self, src: Path, number: int, sources: dict[str, str]) -> None:
        """Write a mutant's files; those without text become the compiler's own."""
        helpers = f"helpers_m{number}"
        for name, changed in sources.items():
            text = (changed or self.base[name]).replace(
                "crate::helpers::", f"crate::{helpers}::"
            )
            file = src / f"{helpers}.rs"
            if name != "helpers":
                own = _own_name(number, name)
                file = src / "processor" / f"{own}.rs"
                text = text.replace(f"instruction::{name}::", f"instruction::{own}::")
            file.write_text(text, encoding="utf-8")
        lib, line = src / "lib.rs", f"pub mod {helpers};\n"
        text = lib.read_text(encoding="utf-8")
        if line not in text:
            lib.write_text(
                text.replace("pub mod helpers;\n", f"pub mod helpers;\n{line}"), "utf-8"
            )

    def _refused_by_rustc(self, crate: Path) -> set[int]:
        done = subprocess.run(
            [CARGO, "check", "--quiet"],
            cwd=crate,
            env={**os.environ, "CARGO_TARGET_DIR": str(CACHE / "clippy-pinocchio")},
            capture_output=True,
            text=True,
            check=False,
        )
        blocks = done.stderr.split("\n\n")
        errors = "\n".join(
            block for block in blocks if block.lstrip().startswith("error")
        )
        found = set(map(int, re.findall(r"--> src/\w*/?(?:helpers_)?m(\d+)", errors)))
        assert found or not done.returncode, done.stderr[-3000:]
        return found

    def noticed(self, number: int) -> str:
        """ "rustc" if it refuses the mutant, "SVM" if a call of its handlers is not what the simulator says."""
        oracle = self.checked.result()
        if number in self.refused:
            return "rustc"
        scene = random_programs.RandomScene(oracle, random.Random(number))
        handlers = [name for name in self.mutants[number] if name != "helpers"]
        try:
            for _ in range(CALLS):
                for name in handlers:
                    scene.call(_own_name(number, name))
        except AssertionError:
            return "SVM"
        return ""
