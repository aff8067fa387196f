"""Decodes inputs into rows, and the rows into an output: what `idl2mcp decode --format` does."""

from __future__ import annotations

from collections.abc import Iterable

from mcpsol_py.pipelines.inputs import Document
from mcpsol_py.pipelines.landed import Unread, records_of
from mcpsol_py.pipelines.rows import RowReader
from mcpsol_py.pipelines.writing import RowWriter

__all__ = ["write_rows"]


def write_rows(
    documents: Iterable[Document], reader: RowReader, writer: RowWriter
) -> None:
    """Write the rows of *documents*, one document in memory at a time."""
    for document in documents:
        for record in (
            [Unread(document.why)] if document.why else records_of(document.value)
        ):
            if isinstance(record, Unread):
                writer.write_unread(document.origin, record.why)
            for row in reader.rows(record):
                writer.write(row)
