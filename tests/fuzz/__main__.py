"""`python -m tests.fuzz TARGET [SECONDS]`: fuzzes with atheris (`uv pip install atheris`), and keeps what reached new
code.

New inputs go to a folder beside the cache; those that the corpus should keep are copied to corpus/TARGET by hand. A
crash is written to ./crash-…; make it a regression test.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mcpsol_py"]):
    from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
CACHE = Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache" / "mcpsol")) / "fuzz"


def main() -> None:
    """Runs one target for some seconds; memory is bounded to 2 GiB."""
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        sys.exit(f"usage: python -m tests.fuzz {'|'.join(TARGETS)} [SECONDS]")
    name, seconds = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "60"
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    found = CACHE / name
    found.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        "-max_len=4096",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
    ]
    atheris.Setup(
        [sys.argv[0], *options, str(found), str(CORPUS / name)], TARGETS[name]
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
