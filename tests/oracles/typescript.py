"""The TypeScript reader of docs/wire.md (clients/typescript): compiled once, and asked line by line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.environment import CACHE, node

PACKAGE = Path(__file__).resolve().parents[2] / "clients" / "typescript"


def compiled() -> Path:
    """The package's JavaScript, compiled by its own tsc; kept in the cache under the hash of its sources."""
    modules = PACKAGE / "node_modules"
    if not modules.is_dir():
        pytest.skip("the TypeScript compiler is not installed: run `make oracles`")
    sources = [*sorted((PACKAGE / "src").glob("*.ts")), PACKAGE / "tsconfig.json"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    out = CACHE / "typescript" / digest[:16]
    if not out.exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=out.parent))
        tsc = [node(), str(modules / "typescript/bin/tsc"), "-p", str(PACKAGE)]
        done = subprocess.run(
            [*tsc, "--outDir", str(made)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        (made / "package.json").write_text('{"type": "module"}\n')
        try:
            made.rename(out)
        except OSError:  # another process was faster
            shutil.rmtree(made)
    return out


def environment() -> dict[str, str]:
    """What the package's tests read: the folder of its JavaScript."""
    return {**os.environ, "MCPSOL_READER": compiled().as_uri() + "/"}


class Worker:
    """A process of test/worker.mjs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, what: str, **asked: Any) -> dict[str, Any]:
        """The answer: {"refused", "kind"} for an error of the package."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"ask": what, **asked}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the worker ended at {what} {json.dumps(asked)[:500]}"
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def worker() -> Iterator[Worker]:
    """A worker for the time of a test module."""
    command = [node(), str(PACKAGE / "test/worker.mjs")]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        yield Worker(process)
        assert process.stdin is not None
        process.stdin.close()  # which ends it
