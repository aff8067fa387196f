"""stdin and pipes, wherever a file can be given."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click
import pytest

from idl2mcp import inputs
from idl2mcp.json_input import json_object, text_value
from idl2mcp.streams import is_stream, read_stream
from mcpsol_py.bundled import bundled_so
from mcpsol_py.errors import SourceError

IDL = json.dumps({"name": "shop", "version": "0.1.0", "instructions": []}).encode()


@contextmanager
def pipe(data: bytes) -> Iterator[str]:
    """Return the path of a pipe, as `<(command)` gives it."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    try:
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


def with_stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_source_comes_from_stdin_or_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    with_stdin(monkeypatch, IDL)
    found = inputs.load_source("-")
    assert (found.model.name, found.model.origin) == ("shop", "stdin")
    with pipe(IDL) as path:
        assert inputs.load_source(path).model.name == "shop"


def test_a_compiled_program_comes_from_a_pipe() -> None:
    # cat, because the program is larger than the pipe's buffer
    with subprocess.Popen(
        ["cat", bundled_so("counter")], stdout=subprocess.PIPE
    ) as cat:  # any cat
        assert cat.stdout is not None
        found = inputs.load_source(f"/dev/fd/{cat.stdout.fileno()}")
    assert found.model.name == "counter"


def test_a_command_reads_a_stream_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with_stdin(monkeypatch, IDL)
    with click.Context(click.Command("verify")):
        assert read_stream("-") == read_stream("-") == IDL
        assert inputs.source_bytes("-") == IDL


@pytest.mark.parametrize("form", ["{}", "@{}"])
def test_values_of_options_come_from_pipes(form: str) -> None:
    with pipe(b'{"amount": "5"}') as path:
        assert json_object(form.format(path), "--args") == {"amount": "5"}
    with pipe(b"0x01ff") as path:
        assert text_value(form.format(path), "WHAT") == "0x01ff"


@pytest.mark.parametrize("form", ["-", "@-"])
def test_values_of_options_come_from_stdin(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_stdin(monkeypatch, b"\xef\xbb\xbf[1]")
    assert text_value(form, "WHAT") == "[1]"


def test_what_is_not_text_is_refused_by_its_name() -> None:
    with pipe(b"\xff\xfe\xff") as path, pytest.raises(SourceError, match=path):
        text_value(path, "WHAT")
    with pipe(b"") as path, pytest.raises(SourceError, match="empty"):
        inputs.load_source(path)


@pytest.mark.parametrize("text", ["{}", "x" * 9000, "a\0b", "no/such/file", "."])
def test_other_text_is_no_stream(text: str) -> None:
    assert not is_stream(text)
