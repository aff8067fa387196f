"""Bridges served over HTTP by the command line."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.functional.cli import Cli
from tests.ports import free_port

ACCOUNTS = {"source": "@alice_usdc", "destination": "@bob_usdc", "authority": "@alice"}


@contextmanager
def http_server(cli: Cli, *args: str, **env: str) -> Iterator[str]:
    with http_server_at(free_port(), cli.folder, *args, **env) as url:
        yield url


@contextmanager
def http_server_at(port: int, folder: Path, *args: str, **env: str) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "idl2mcp",
        "serve",
        *args,
        "--transport",
        "http",
        "--port",
        str(port),
    ]
    with (folder / "stderr.txt").open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **env},
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        for _ in range(600):
            try:
                with socket.create_connection(("127.0.0.1", port), 1):
                    break
            except OSError:
                assert process.poll() is None, (folder / "stderr.txt").read_text()
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def ask(
    url: str, *, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, str]:
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    request = Request(
        url,
        data=body,
        method=method,
        headers={k.replace("_", "-"): v for k, v in headers.items()},
    )
    try:
        with urlopen(request, timeout=20) as answer:
            return int(answer.status), answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


ACCEPT = {
    "Accept": "application/json, text/event-stream",
    "Content_Type": "application/json",
}
