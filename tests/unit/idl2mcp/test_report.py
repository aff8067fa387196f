"""How results and failures are told."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idl2mcp import report
from mcpsol_py.errors import (
    EncodeError,
    NoSchema,
    ProgramFailed,
    SendUnknown,
    SourceError,
    TransportError,
)
from mcpsol_py.names import clean_text


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SourceError("x"), 1),
        (EncodeError("x"), 1),
        (OSError("x"), 1),
        (TransportError("http://h", "x"), 3),
        (NoSchema("id", "x"), 3),
        (SendUnknown("sig", "x"), 3),
        (ProgramFailed("id", "x"), 3),
        (ConnectionResetError("x"), 3),
        (TimeoutError("x"), 3),
    ],
)
def test_exit_codes(error: BaseException, code: int) -> None:
    assert report.exit_code(error) == code


def test_json_keeps_wide_integers_bytes_and_text() -> None:
    text = report.as_json_text({"a": 2**128, "b": b"\x01\xff", "c": "é"})
    assert str(2**128) in text
    assert "0x01ff" in text
    assert "é" in text


def test_a_failure_is_one_sentence_and_an_object(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = ProgramFailed(
        "id", "Bad", "no", code=1, logs=[f"line {i}" for i in range(9)]
    )
    assert report.failure(error, as_json=True) == 3
    out, err = capsys.readouterr()
    assert err.startswith("Error: program id failed with Bad (1): no\n")
    assert "line 8" in err
    assert "line 2" not in err
    assert '"reason": "program_failed"' in out


def test_untrusted_text_is_cleaned_before_it_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.note("a\u202eb\x1b[31m\x07c")
    assert capsys.readouterr().err == "ab[31mc\n"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    report.write_whole(path, b"one")
    path.chmod(0o640)
    report.write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(TypeError):
        report.write_whole(path, "text")  # type: ignore[arg-type]  # the write itself fails
    assert path.read_bytes() == b"two"
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]


def test_progress_is_silent_for_what_is_quick_and_speaks_after_a_while(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with report.progress("nothing much"):
        pass
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(report.Progress, "FIRST", 0.02)
    with report.progress("reading") as running:
        time.sleep(0.2)
        running.step("writing")
    err = capsys.readouterr().err
    assert "… reading" in err
    assert "… writing" in err
    assert "done in" in err


def test_a_table_is_aligned() -> None:
    assert report.table([["a", "b"], ["long", "c"]]) == ["  a     b", "  long  c"]
    assert report.table([]) == []


_TRICK = "a\u202eb\x1b[31m\x07c\u200bd\x7fe\U000e0041f"


@pytest.mark.parametrize("text", [_TRICK, [_TRICK], f"{_TRICK}\n"])
def test_a_result_for_people_is_cleaned(
    text: str | list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    report.emit({}, text, as_json=False)
    assert capsys.readouterr().out == "ab[31mcdef\n"


def test_a_result_for_machines_is_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    report.emit({"a": _TRICK, "b": [{_TRICK: (_TRICK,)}]}, "", as_json=True)
    clean = "ab[31mcdef"
    assert json.loads(capsys.readouterr().out) == {"a": clean, "b": [{clean: [clean]}]}


def test_the_details_of_a_failure_are_cleaned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.failure(ProgramFailed("id", "Bad", _TRICK, logs=[_TRICK]), as_json=True)
    out, err = capsys.readouterr()
    assert (
        not set(_TRICK) & set("\u202e\x1b\x07") & set(err + json.dumps(json.loads(out)))
    )
    assert "ab[31mcdef" in json.loads(out)["error"]["message"]


@given(st.text())
def test_json_text_shows_no_hidden_character_and_means_the_same(text: str) -> None:
    written = report.as_json_text({"a": text})
    assert json.loads(written) == {"a": text}
    assert clean_text(written, len(written)) == written.replace("\u2028", "\n").replace(
        "\u2029", "\n"
    )
