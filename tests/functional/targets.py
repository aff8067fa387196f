"""counter and vault as each render target makes them: built once for each state of their sources, and kept.

The pinocchio ones are the committed files of programs/. The others, in tests/targets, are built with the standard
library ("std"), all in one target folder below $MCPSOL_CACHE, and found again by a digest of all they are made of.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from hashlib import sha256
from pathlib import Path

from solders.transaction_metadata import FailedTransactionMetadata, TransactionMetadata

from mcpsol_py.build.cargo import compile_crate, read_crate
from mcpsol_py.build.toolchain import Debian, Toolchain, installer

REPO = Path(__file__).resolve().parents[2]
TARGETS = ("pinocchio", "native", "anchor")


def crate_of(target: str, program: str) -> Path:
    """The folder of a program's crate."""
    return (
        REPO / "programs" / program
        if target == "pinocchio"
        else REPO / "tests/targets" / target / program
    )


def built(target: str, program: str, toolchain: Toolchain) -> Path:
    """The program's .so. Raises BuildError."""
    crate = crate_of(target, program)
    return (
        crate / f"{program}.so"
        if target == "pinocchio"
        else built_crate(crate, toolchain)
    )


def built_crate(crate: Path, toolchain: Toolchain) -> Path:
    """The .so of a crate that needs the standard library. Raises BuildError."""
    cache = Path(os.environ.get("MCPSOL_CACHE") or Path.home() / ".cache" / "mcpsol")
    kept = (
        cache
        / "targets"
        / f"{crate.parent.name}-{crate.name}-{_digest(crate, toolchain)}.so"
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    with (kept.parent / ".lock").open("w") as lock:
        # Processes that come at once build one after the other.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            before = os.environ.get("CARGO_TARGET_DIR")
            os.environ["CARGO_TARGET_DIR"] = str(cache / "cargo-target-sbf")
            try:
                compiled = compile_crate(read_crate(crate), toolchain)
            finally:
                os.environ.pop("CARGO_TARGET_DIR")
                if before is not None:
                    os.environ["CARGO_TARGET_DIR"] = before
            shutil.copyfile(compiled.so, kept.with_suffix(".part"))
            kept.with_suffix(".part").rename(kept)
    return kept


def _digest(crate: Path, toolchain: Toolchain) -> str:
    """Of the crate, its workspace, the compiler and what is linked in."""
    files = [*sorted((crate / "src").rglob("*")), crate / "Cargo.toml"]
    files += [
        crate.parent / "Cargo.toml",
        crate.parent / "Cargo.lock",
        installer().with_name("builtins.rs"),
    ]
    if isinstance(toolchain, Debian):
        files.append(toolchain.root / "recipe")
    digest = sha256(repr(sorted(toolchain.record().items())).encode())
    for file in files:
        if file.is_file():
            digest.update(repr((file.name, file.read_bytes())).encode())
    return digest.hexdigest()[:16]


#: How a failure is named in the logs: by our generated code, by Anchor, by the system program.
_NAMED = re.compile(
    r"^Program log: (\w+) \(\d+\)|Error Code: (\w+)\.|account .* (already in use)$"
)


def failure(outcome: TransactionMetadata | FailedTransactionMetadata) -> str:
    """The name of the error by which a transaction failed; "" if it did not."""
    if isinstance(outcome, TransactionMetadata):
        return ""
    for line in outcome.meta().logs():
        found = _NAMED.search(line)
        if found:
            return next(group for group in found.groups() if group)
    return str(outcome.err())
