import types
from pathlib import Path
from typing import Any

import orjson
import pytest

from mcpsol_py.errors import SourceError, UnknownDialect
from mcpsol_py.sources.detect import detect, read
from mcpsol_py.sources.files import MAX_BYTES
from tests.unit.sources.fixtures import ALL, FOLDER, document

IX = {"name": "a", "accounts": [], "args": []}


@pytest.mark.parametrize("path", ALL, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_fixtures_are_what_their_folder_says(path: Path) -> None:
    assert detect(orjson.loads(path.read_bytes())) == path.parent.name


def test_real_files_are_what_their_name_says(shared_idl: Path) -> None:
    said = shared_idl.name.split("__")[0]
    # It has Shank's discriminants.
    expected = "shank" if shared_idl.stem == "legacy__raydium_stable" else said
    assert detect(orjson.loads(shared_idl.read_bytes())) == expected


@pytest.mark.parametrize(
    ("doc", "dialect"),
    [
        ({"metadata": {"spec": "0.1.0"}, "instructions": []}, "anchor"),
        ({"address": "x", "metadata": {"name": "a"}, "instructions": [IX]}, "anchor"),
        ({"name": "a", "instructions": [{**IX, "discriminator": [1]}]}, "anchor"),
        (
            {
                "name": "a",
                "instructions": [
                    {
                        **IX,
                        "discriminator": [1],
                        "accounts": [{"name": "x", "isMut": True}],
                    }
                ],
            },
            "legacy",
        ),
        ({"name": "a", "version": "1", "instructions": [IX]}, "legacy"),
        ({"name": "a", "instructions": [IX], "metadata": {"origin": "shank"}}, "shank"),
        ({"name": "a", "instructions": [{**IX, "discriminant": 1}]}, "shank"),
        ({"instructions": [IX]}, "legacy"),
        (
            {
                "name": "a",
                "instructions": [{**IX, "discriminant": 1}],
                "metadata": {"spec": "non-anchor"},
            },
            "shank",
        ),
        ({"kind": "rootNode"}, "codama"),
        ({"kind": "programNode"}, "codama"),
    ],
)
def test_by_content(doc: dict[str, Any], dialect: str) -> None:
    assert detect(doc) == dialect


@pytest.mark.parametrize(
    ("doc", "path"),
    [
        ([], ""),
        ("text", ""),
        (None, ""),
        ({}, ""),
        ({"instructions": {}}, ""),
        ({"instructions": []}, ""),
        ({"tools": []}, ""),
        ({"kind": "accountNode"}, "kind"),
        ({"metadata": {"spec": "0.2.0"}}, "metadata.spec"),
        ({"metadata": {"spec": 1}, "instructions": [IX]}, "metadata.spec"),
        (
            {
                "spec": "quasar-idl/1.0.0",
                "name": "a",
                "instructions": [{**IX, "discriminator": [1]}],
            },
            "spec",
        ),
    ],
)
def test_no_idl_is_told_as_such(doc: Any, path: str) -> None:
    with pytest.raises(UnknownDialect) as caught:
        detect(doc)
    assert caught.value.path == path


def test_every_kind_of_source_gives_the_same_program(tmp_path: Path) -> None:
    path = FOLDER / "anchor" / "wide.json"
    data = path.read_bytes()
    bom = tmp_path / "bom.json"
    bom.write_bytes(b"\xef\xbb\xbf" + data)
    models = [
        read(path),
        read(str(path)),
        read(data),
        read(data.decode()),
        read(document("anchor/wide")),
        read(bom),
    ]
    assert all(m == models[0] for m in models)
    assert models[0].origin == str(path)
    assert read(data, origin="chain").origin == "chain"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"a": ', "truncated"),
        (b'{"name": "a", "instructions": [{"name": "x"}', "truncated"),
        (b"\x7fELF\x02\x01", "not JSON"),
        (b"hello", "not JSON"),
        (b'{"a": 1,}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 100_000, "not JSON"),
    ],
)
def test_bytes_that_are_no_json(data: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        read(data, origin="vault.json")
    assert caught.value.origin == "vault.json"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "none.json", "no such file"),
        (tmp_path, "folder"),
        ("a\0b.json", "cannot read the file"),
    ):
        with pytest.raises(SourceError, match=words) as caught:
            read(path)
        assert caught.value.origin == str(path)


def test_a_file_of_50_mb_is_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(50_000_000)
    with pytest.raises(SourceError, match="50,000,000 bytes"):
        read(large)
    with pytest.raises(SourceError, match="bytes"):
        read(b" " * (MAX_BYTES + 1))


def test_an_object_that_is_no_json_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    for doc in (endless, {"a": object()}, {"a": float("nan"), "b": 2**70}):
        with pytest.raises(SourceError, match="not a JSON document"):
            read(doc)


def test_python_specs_go_to_their_own_reader() -> None:
    with pytest.raises(SourceError):
        read("no_such_package.spec")
    with pytest.raises(SourceError):
        read(types.ModuleType("empty"))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda doc: {"idl": doc, "programId": "x"},
        lambda doc: {"idl": {"idl": doc}},
        lambda doc: {"idl": orjson.dumps(doc).decode()},
        lambda doc: orjson.dumps({"idl": doc}).decode(),
    ],
)
def test_an_idl_may_be_wrapped(wrap: Any) -> None:
    for name in ("anchor/prefixes", "codama/every", "legacy/odd", "shank/odd"):
        doc = document(name)
        assert read(orjson.dumps(wrap(doc))) == read(doc)


@pytest.mark.parametrize(
    ("doc", "path", "says"),
    [
        ({"idl": None}, "idl", "expected a JSON object as the IDL, got null"),
        (
            {"idl": "https://example.org/idl.json"},
            "idl",
            "expected a JSON object as the IDL",
        ),
        (
            {"idl": {"idl": {"idl": {"idl": {"idl": {}}}}}},
            "idl.idl.idl.idl",
            "no 'instructions'",
        ),
    ],
)
def test_what_is_wrong_in_a_wrapper_is_told_with_the_wrappers_path(
    doc: Any, path: str, says: str
) -> None:
    with pytest.raises(SourceError) as caught:
        read(orjson.dumps(doc))
    assert caught.value.path == path
    assert says in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_marks_of_byte_order_are_read(encoding: str) -> None:
    doc = document("anchor/prefixes")
    text = orjson.dumps(doc).decode()
    data = (
        text.encode(encoding)
        if encoding in ("utf-8-sig", "utf-16")
        else ("\ufeff" + text).encode(encoding)
    )
    assert read(data) == read(doc)
