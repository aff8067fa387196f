"""Builds a crate to a ``.so``: finds a compiler for the SVM, runs it, and refuses code that it would mis-compile."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcpsol_py.build.cargo import Progress, compile_crate, read_crate
from mcpsol_py.build.ir_check import CrowdedFunction, WrongOperation, check_ir
from mcpsol_py.build.report import ListToolsCost, measure_list_tools
from mcpsol_py.build.toolchain import Route, Toolchain, find_toolchain
from mcpsol_py.errors import BuildError, TooManyArguments, WrongArithmetic
from mcpsol_py.folders import write_below
from mcpsol_py.solana.rent import deploy_rent

__all__ = [
    "BuildResult",
    "ListToolsCost",
    "Progress",
    "Route",
    "Toolchain",
    "build_program",
    "spec_sha256",
]


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A program that was built.

    `size` is in bytes, `rent_lamports` what deploying it locks, `list_tools` what its pages cost (None: it has none),
    `seconds` what the build took, `program_id` the address that it declares, if any: an Anchor program runs nowhere
    else. `wrong` is what route "std" translates wrong and builds all the same: functions of more than five arguments,
    which an SVM with stack gaps stops, and arithmetic of 128 bits. `left_out` names the dependencies with code for
    ``target_os = "solana"`` alone, which route "no-std" does not compile.
    """

    so: Path
    size: int
    sha256: str
    rent_lamports: int
    toolchain: Toolchain
    list_tools: ListToolsCost | None
    seconds: float
    wrong: tuple[WrongOperation | CrowdedFunction, ...]
    program_id: str | None
    spec_sha256: str | None = None
    left_out: tuple[str, ...] = ()

    def record(self) -> dict[str, str]:
        """Return the content of ``<name>.build.json``: route, compiler, linker, sha256 in hex, declared id, and the
        sha256 of the spec beside the crate."""
        declared = {"program_id": self.program_id, "spec_sha256": self.spec_sha256}
        known = {key: value for key, value in declared.items() if value}
        return {**self.toolchain.record(), "sha256": self.sha256, **known}


def build_program(
    crate_dir: Path,
    *,
    route: Route | Literal["auto"] = "auto",
    out: Path | None = None,
    progress: Progress | None = None,
) -> BuildResult:
    """Build the program in *crate_dir*, in its own target folder. With *out*, copy it there as ``<name>.so``.

    A copy gets a record beside it, ``<name>.build.json`` (see `BuildResult.record`). The same compiler gives the same
    bytes in every folder, so two records with equal compilers and different sha256 mean different sources. *progress*
    gets the compiler's lines as they come. Route "auto" is ``cargo build-sbf`` if it is installed, else Debian's
    compiler, with the standard library if the crate is not ``no_std``.

    Raises ToolchainMissing; WrongArithmetic and TooManyArguments for code that this compiler would mis-compile;
    BuildError, with the end of the compiler's output, if the crate does not build or an SVM does not load it.
    """
    started = time.monotonic()
    crate = read_crate(crate_dir.resolve())
    toolchain = find_toolchain(route, std=crate.std)
    compiled = compile_crate(crate, toolchain, progress)
    wrong = () if compiled.ir is None else _check(crate_dir, compiled.ir, toolchain)
    so = compiled.so
    content = so.read_bytes()
    if out is not None:
        so = _written(out, f"{crate.name}.so", content)
    result = BuildResult(
        so=so,
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        rent_lamports=deploy_rent(len(content)),
        toolchain=toolchain,
        list_tools=measure_list_tools(
            so, program_id=crate.program_id, stack_gaps=toolchain.route != "std"
        ),
        program_id=crate.program_id,
        seconds=time.monotonic() - started,
        wrong=wrong,
        spec_sha256=spec_sha256(crate_dir / "spec.py"),
        left_out=compiled.left_out,
    )
    if out is not None:
        record = json.dumps(result.record(), indent=2, sort_keys=True) + "\n"
        _written(out, f"{crate.name}.build.json", record.encode())
    return result


def _check(
    crate_dir: Path, ir: Path, toolchain: Toolchain
) -> tuple[WrongOperation | CrowdedFunction, ...]:
    """Refuse a linked module that the compiler would translate wrong. Return what route "std" only reports."""
    findings = check_ir(ir)
    if findings.dynamic_syscalls:
        raise BuildError(
            str(crate_dir),
            f"calls {', '.join(findings.dynamic_syscalls[:5])} by name; this compiler loses the arguments then. "
            "Call syscalls through solana-define-syscall, which calls them by number",
        )
    if toolchain.route == "std":
        return *findings.wide, *findings.many_arguments
    if findings.wide:
        raise WrongArithmetic(str(crate_dir), list(map(str, findings.wide)))
    if findings.many_arguments:
        ways = {str(each): each.path for each in findings.many_arguments}
        raise TooManyArguments(str(crate_dir), ways)
    return ()


def spec_sha256(spec: Path) -> str | None:
    """Return the sha256 of a spec in hex, or None if the file does not exist. Line ends do not count."""
    if not spec.is_file():
        return None
    return hashlib.sha256(spec.read_bytes().replace(b"\r\n", b"\n")).hexdigest()


def _written(out: Path, name: str, data: bytes) -> Path:
    """Write a file to *out*, and return its path. Raises BuildError, for a symbolic link too."""
    try:
        write_below(out, name, data)
    except OSError as error:
        raise BuildError(
            str(out), f"{name} cannot be written: {error.strerror}"
        ) from error
    return out / name
