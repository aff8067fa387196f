import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py import load
from mcpsol_py.errors import McpsolError, SourceError
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.typescript import idl_of, looks_like_typescript
from tests.unit.sources.fixtures import document

CLIENT = """
// the program's IDL, as clients ship it
import { Idl } from "@coral-xyz/anchor";

export type Vault = {
  "version": "0.1.0",
  "name": "vault",
  "instructions": [{ "name": "openVault", "accounts": [], "args": [{ "name": "amount", "type": "u64" }] }],
};

export const IDL: Vault = {
  version: '0.1.0',
  name: 'va' + 'ult', /* one name,
  two pieces */
  docs: [`a "quoted" line`, 'it\\'s \\u00fc \\u{1F980}\\x21', ],
  instructions: [
    {
      name: 'openVault' as const,
      accounts: [{ name: 'payer', isMut: true, isSigner: true, isOptional: undefined }],
      args: [{ name: 'amount', type: ('u64') }, { name: 'list', type: { array: ['u8', 0x10] } }],
    },
  ],
  errors: [{ code: 6_000, name: 'Bad', msg: null }],
} as const satisfies Idl;

export function program(connection) { return { instructions: [connection] }; }
"""


def test_a_clients_constant_is_read_and_its_type_is_not() -> None:
    model = read(CLIENT.encode())
    (ix,) = model.instructions
    assert model.name == "vault"
    assert model.docs == ('a "quoted" line', "it's ü 🦀!")
    assert [a.name for a in ix.args] == ["amount", "list"]
    assert [a.name for a in ix.accounts] == ["payer"]
    assert model.errors[0].code == 6000
    plain = {
        "version": "0.1.0",
        "name": "vault",
        "instructions": [{"name": "openVault", "accounts": [], "args": []}],
    }
    assert ix.discriminator == read(plain).instructions[0].discriminator


def test_anchors_types_are_read_where_there_is_no_value() -> None:
    doc = document("anchor/prefixes")
    source = f"/**\n * Program IDL in camelCase format.\n */\nexport type Prefixes = {json.dumps(doc, indent=2)};\n"
    assert read(source.encode()) == read(doc)
    assert read(
        b"// from the chain\n/* on Friday */ " + json.dumps(doc).encode()
    ) == read(doc)
    for before in ("module.exports = ", "export default ", "declare const x: Idl = "):
        assert read(f"'use strict'; {before}{json.dumps(doc)}".encode()) == read(doc)


def test_a_file_is_taken_by_what_stands_in_it(tmp_path: Path) -> None:
    for name in ("idl.ts", "idl.json", "idl"):
        (tmp_path / name).write_text(CLIENT)
        assert load(tmp_path / name).name == "vault"
    assert load(str(tmp_path / "idl.ts")).name == "vault"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "export {};",
            "no object in this TypeScript or JavaScript is an IDL. Give the IDL's JSON",
        ),
        ("const a = { b: 1 };", "is an IDL. Give"),
        (
            "export const IDL = { instructions: [build()] };",
            "line 1: expected text, a number, a list or an object, got 'build'",
        ),
        (
            "export const IDL = {\n  name: `a${b}` };",
            "line 2: expected text, a number, a list or an object, got '`'",
        ),
        ("export const IDL = {\n  name: 'x',\n", "line 3: expected a key, got the end"),
        ("export const IDL = { name 'x' }", "expected ':', got \"'x'\""),
        ("export const IDL = { name: ('x' }", "expected ')', got '}'"),
        ("export const IDL = { name: 'x' + 5 }", "expected text, got '5'"),
        ("export const IDL = { name: 'x' as 'y' }", "expected a type's name"),
        ("export const IDL = { a: " + "[" * 500 + "] }", "nest deeper than 100 levels"),
        ("export const IDL = { a: " + "9" * 500 + " }", "a number has 500 digits"),
        (
            "const a = {name: 'a', version: '', instructions: []};const b = {name: 'b', version: '', instructions: []}",
            "2 IDLs: a, b. Copy the one that you mean",
        ),
    ],
)
def test_what_is_no_literal_is_told_with_its_line(text: str, says: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(text.encode(), origin="idl.ts")
    assert says in str(caught.value)
    assert str(caught.value).startswith("idl.ts: ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON.filter(lambda value: isinstance(value, dict)))
def test_json_is_a_literal(value: dict[str, Any]) -> None:
    source = f"export const IDL = {json.dumps(value, ensure_ascii=False)};".encode()
    assert looks_like_typescript(source)
    assert idl_of(source, lambda found: isinstance(found, dict)) == value


@given(st.text(alphabet="{}[](),:;?+'\"`\\/* abn10.=$", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(McpsolError):
        assert read(f"export const IDL = {{ {text}".encode()).instructions == ()


@pytest.mark.parametrize(
    "text",
    [
        "//" + " " * 20_000 + "x",
        "/*a*/" * 20_000 + "x",
        "/*" * 50_000,
        "const a " * 20_000,
        "export " + " " * 50_000 + "default",
        "const a = { b: " * 10_000,
        "const a = {" + "/*a*/" * 20_000,
        "//const a={x:[\n" * 900 + "0," * 50_000,
        "const a = { b: '" + "\\\\" * 50_000,
    ],
)
def test_hostile_text_is_refused_in_a_moment(text: str) -> None:
    began = time.process_time()
    with pytest.raises(SourceError):
        read(text.encode())
    assert time.process_time() - began < 5


def test_text_that_is_too_large_is_refused() -> None:
    with pytest.raises(SourceError, match="TypeScript has 4,194,317 bytes"):
        read(b"const a = {};" + b" " * 2**22)
