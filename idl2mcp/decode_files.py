"""`idl2mcp decode --format`: files of transactions, blocks and accounts, decoded to JSON lines or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import inputs, report
from mcpsol_py.whole_numbers import read_u64

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.pipelines.rows import RowReader
    from mcpsol_py.pipelines.writing import RowWriter
    from mcpsol_py.versions import Version

__all__ = ["Output", "decode_files", "output_options"]


@dataclass(frozen=True, slots=True)
class Output:
    """Where rows go, and the versions of the program: what the options of `--format` say."""

    form: str | None
    out: str | None
    replace: bool
    versions: tuple[str, ...]
    since: int | None

    @property
    def is_asked(self) -> bool:
        """Whether files are decoded."""
        return self.form is not None


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `--format`; the command's parameters are those of `Output`."""
    for option in (
        click.option(
            "--since",
            type=click.IntRange(0),
            help="With --format: the first slot of SOURCE's version.",
        ),
        click.option(
            "--version",
            "versions",
            multiple=True,
            metavar="IDL[@SLOT]",
            help="With --format: an older version of the program, and its first slot. Repeatable.",
        ),
        click.option(
            "--replace",
            is_flag=True,
            help="With --format: replace the file or folder at --out.",
        ),
        click.option(
            "--out",
            metavar="PATH",
            help="With --format: a file of JSON lines (- is stdout), a folder of Parquet.",
        ),
        click.option(
            "--format",
            "form",
            type=click.Choice(["jsonl", "parquet"]),
            help="Decode files, folders or patterns with transactions, blocks or accounts.",
        ),
    ):
        function = option(function)
    return function


def decode_files(
    source: inputs.Source, what: tuple[str, ...], output: Output, as_json: bool
) -> int:
    """Decode all inputs, and print how many rows there are. Returns 1 if a part of an input could not be read."""
    from mcpsol_py.pipelines.inputs import documents_of, files_of
    from mcpsol_py.pipelines.run import write_rows

    reader = _reader(source, output)
    opening = _writer(output, reader.program_id)
    files = files_of(what)
    with opening as writer:
        for file in files:
            with report.progress(f"decoding {file}"):
                write_rows(documents_of(file, sys.stdin.buffer), reader, writer)
    unread = writer.counts["inputs", "unread"]
    _tell(writer, output, as_json)
    return report.INPUT if unread else report.OK


def _reader(source: inputs.Source, output: Output) -> RowReader:
    from mcpsol_py.pipelines.rows import RowReader
    from mcpsol_py.versions import Version, Versions

    given = source.program_id or source.program.address
    if given is None:
        raise click.UsageError(
            "SOURCE has no address: --program-id ID says whose rows are wanted."
        )
    if source.versions is not None and not output.versions:
        return RowReader(source.versions, given)
    older = sorted((_older(text) for text in output.versions), key=_first_slot)
    newest = Version(source.program, output.since, source=source.how)
    return RowReader(Versions(_with_ends([*older, newest])), given)


def _older(text: str) -> Version:
    """Read IDL[@SLOT]."""
    from mcpsol_py.program import load
    from mcpsol_py.versions import Version

    name, at, digits = text.rpartition("@")
    slot = read_u64(digits)
    if not at or slot is None:
        return Version(load(text), source=Path(text).stem)
    return Version(load(name), slot, source=Path(name).stem)


def _first_slot(version: Version) -> int:
    return -1 if version.first_slot is None else version.first_slot


def _with_ends(versions: list[Version]) -> Iterator[Version]:
    """Yield *versions* with their last slots: a version ends where the next one begins, if that is known."""
    from mcpsol_py.versions import Version

    for version, following in zip(versions, [*versions[1:], None], strict=True):
        if following is None:
            yield version
            continue
        end = following.first_slot
        begin = None if end is None else version.first_slot
        yield Version(
            version.program, begin, None if end is None else end - 1, version.source
        )


def _writer(output: Output, program_id: Pubkey) -> AbstractContextManager[RowWriter]:
    from mcpsol_py.pipelines import writing

    if output.out is None:
        raise click.UsageError("--format needs --out PATH.")
    if output.form == "parquet":
        return writing.parquet_folder(Path(output.out), replace=output.replace)
    if output.out == "-":
        return _on_stdout(program_id)
    return writing.json_lines(Path(output.out), program_id, replace=output.replace)


@contextmanager
def _on_stdout(program_id: Pubkey) -> Iterator[RowWriter]:
    from mcpsol_py.pipelines.writing import JsonLines

    yield JsonLines(sys.stdout.buffer, program_id)
    sys.stdout.buffer.flush()


def _tell(writer: RowWriter, output: Output, as_json: bool) -> None:
    counts = sorted(writer.counts.items())
    lines = [f"{number:,} {kind} {name}" for (kind, name), number in counts]
    lines.append(f"written to {output.out}")
    if output.out == "-":
        report.note("\n".join(lines))
        return
    rows = [
        {"kind": kind, "name": name, "count": number} for (kind, name), number in counts
    ]
    report.emit({"out": output.out, "rows": rows}, lines, as_json=as_json)
