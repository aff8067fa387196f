"""JSON with comments: setting a member keeps the rest, whatever the text looks like."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idl2mcp.config.jsonc import read_jsonc, with_member
from mcpsol_py.errors import SourceError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES, max_size=4)
GAPS = st.sampled_from(["", " ", "\n", "\r\n", ' // a "remark" }\n', "/* {, */", "\t"])


def written(value: Any, gaps: Any) -> str:
    """A JSON text of *value* with a gap at each place that allows one, and trailing commas."""

    def draw() -> str:
        return str(gaps.draw(GAPS))

    if isinstance(value, (dict, list)):
        rows = (
            [
                f"{json.dumps(k)}{draw()}:{draw()}{written(v, gaps)}"
                for k, v in value.items()
            ]
            if isinstance(value, dict)
            else [written(item, gaps) for item in value]
        )
        comma = "," if rows and gaps.draw(st.booleans()) else ""
        inner = f"{draw()},{draw()}".join(rows) + draw() + comma
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        return f"{opening}{draw()}{inner}{draw()}{closing}"
    return json.dumps(value)


@given(
    OBJECTS, st.lists(st.text(max_size=6), min_size=1, max_size=3), VALUES, st.data()
)
def test_a_member_is_set_and_the_rest_stays(
    document: dict[str, Any], path: list[str], value: Any, data: Any
) -> None:
    text = written(document, data)
    assert read_jsonc(text) == document
    at, wanted = document, json.loads(json.dumps(document))
    inner = wanted
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
        if not isinstance(inner, dict):
            with pytest.raises(SourceError):
                with_member(text, path, value)
            return
    inner[path[-1]] = value
    changed = with_member(text, path, value)
    assert read_jsonc(changed) == wanted
    assert at == document


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        wanted = json.loads(text)
    except ValueError:
        with suppress(SourceError):
            read_jsonc(text)
    else:
        assert read_jsonc(text) == wanted
