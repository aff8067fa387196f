from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.afterwards import Afterwards

KILLED = """
import os, sys
from tests.afterwards import Afterwards
Afterwards(f"echo ended >{sys.argv[1]}")
os.kill(os.getpid(), 9)
"""


def test_what_was_left_to_do_is_done_though_the_process_was_killed(
    repo: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(trace)], cwd=repo, check=False
    )
    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 30
    while not (trace.exists() and trace.read_text()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert trace.read_text() == "ended\n"


def test_now_waits_and_never_does_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    Afterwards("sleep 0.1", f"touch {first}").now()
    assert first.exists()
    Afterwards(f"touch {second}").never()
    time.sleep(0.1)
    assert not second.exists()
