"""A crate gets the items of a library file that it uses, and those that these use."""

from __future__ import annotations

import pytest

from mcpsol_py.render.prune import Usage, prune

LIBRARY = """//! A library.

// imports

const LIMIT: usize = 8;

/// Calls `inner`.
pub fn outer() -> usize {
    inner()
}

fn inner() -> usize {
    LIMIT
}

pub fn unused() {
    // calls outer()
}

pub struct Reader<'a> {
    data: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn byte(&mut self) -> u8 {
        self.array()
    }

    fn array(&mut self) -> u8 {
        0
    }

    pub fn text(&mut self) -> u8 {
        1
    }
}

pub struct Pair(u8);

impl Pair {
    pub fn first(&self) -> u8 {
        self.0
    }

    pub fn second(&self) -> u8 {
        self.0
    }
}
"""


def kept(*code: str, author: str = "") -> str:
    usage = Usage.of_generated(code)
    usage.add(Usage.of_author(author))
    return prune(LIBRARY, usage)


def test_nothing_is_kept_of_what_nothing_uses() -> None:
    assert kept("let x = 1;").split() == ["//!", "A", "library.", "//", "imports"]


def test_a_function_brings_what_it_calls() -> None:
    text = kept("checks::outer()")
    assert "fn outer" in text
    assert "fn inner" in text
    assert "const LIMIT" in text
    assert "unused" not in text


def test_comments_and_strings_are_no_use() -> None:
    assert "fn" not in kept('let x = "outer()"; // outer()')


def test_methods_of_a_reader_are_kept_one_by_one() -> None:
    text = kept("let r = &mut Reader::new(data); r.byte()?")
    assert "fn byte" in text
    assert "fn array" in text
    assert "fn text" not in text


def test_a_method_needs_its_type() -> None:
    assert "Reader" not in kept("", author="text.array()")


def test_an_impl_of_another_type_is_kept_as_a_whole() -> None:
    text = kept("Pair::first")
    assert "fn first" in text
    assert "fn second" in text


@pytest.mark.parametrize(
    "author", ["use crate::checks::unused;", "unused()", "x.map(unused)"]
)
def test_every_word_of_the_author_counts(author: str) -> None:
    assert "fn unused" in kept("", author=author)


TRAIT = """//! A library.

// imports

pub trait Output {
    fn put(&mut self, bytes: &[u8]);

    fn zeros(&mut self) {
        self.put(&[0]);
    }
}

impl Output for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
"""


def test_an_impl_of_an_unused_trait_is_left_out() -> None:
    assert "Vec" not in prune(
        TRAIT, Usage.of_author("let names: Vec<u8> = Vec::new();")
    )


def test_a_used_trait_keeps_the_methods_that_it_requires() -> None:
    kept = prune(TRAIT, Usage.of_generated(["fn encode(w: &mut impl Output) {}"]))
    assert "fn put(&mut self, bytes: &[u8]);" in kept
    assert "zeros" not in kept
