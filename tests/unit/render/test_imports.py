"""The `use` group of a rendered file: the names that its code uses, and no others."""

from __future__ import annotations

import pytest

from mcpsol_py.render.imports import Imports, split_at_imports, use_lines

PATHS = {
    "Address": "pinocchio",
    "Output": "crate::codec",
    "log": "crate::log",
    "checks": "crate",
}


def imports(code: str, home: str = "") -> str:
    return Imports(PATHS).fill(f"// imports\n{code}", home).partition(code)[0]


def test_paths_are_grouped_and_sorted_as_rustfmt_does() -> None:
    paths = ["b::Type", "b::module::Other", "b::CONSTANT", "a::one", "b::function"]
    assert (
        use_lines(paths)
        == "use {a::one, b::{function, module::Other, Type, CONSTANT}};\n"
    )


def test_one_path_needs_no_group() -> None:
    assert use_lines(["a::b::C"]) == "use a::b::C;\n"


def test_no_path_gives_no_line() -> None:
    assert use_lines([]) == ""


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("fn f(a: Address) {}", "use pinocchio::Address;\n"),
        ("log(text);", "use crate::log::log;\n"),
        ("checks::signer(a)?;", "use crate::checks;\n"),
        ("w.put(&[])?;", "use crate::codec::Output;\n"),
    ],
)
def test_a_used_name_is_imported(code: str, wanted: str) -> None:
    assert imports(code) == wanted


@pytest.mark.parametrize(
    "code",
    [
        "// Address",
        'let x = "Address";',
        "pinocchio::Address",
        "let log = 1;",
        "self.log(text);",
        "struct Address;",
        "enum E {\n    Address,\n}",
    ],
)
def test_other_words_are_not(code: str) -> None:
    assert imports(code) == ""


def test_a_file_imports_nothing_from_itself() -> None:
    assert imports("log(text);", home="crate::log") == ""


def test_a_method_of_the_same_name_is_no_definition() -> None:
    assert (
        imports("impl X {\n    fn log(self) {}\n}\nlog(text);")
        == "use crate::log::log;\n"
    )


def test_documentation_that_ends_in_the_mark_stays() -> None:
    text = "//! What it // imports\n//! // imports\n\n// imports\n\nlog(text);"
    head, mark, body = split_at_imports(text)
    assert (head, mark, body) == (
        "//! What it // imports\n//! // imports\n\n",
        "// imports\n",
        "\nlog(text);",
    )
