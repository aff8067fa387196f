"""Templates print Rust and nothing else."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from mcpsol_py.errors import RenderError
from mcpsol_py.render.environment import environment, only_rust
from mcpsol_py.render.rust import code


@pytest.mark.parametrize(
    "template",
    [
        "{{ text }}",
        "{{ text ~ rust }}",
        "{{ rust | upper }}",
        "{{ nothing }}",
        "{{ 5 }}",
        "{{ rust + text }}",
    ],
)
def test_a_template_cannot_print_what_is_no_rust(template: str) -> None:
    found = environment("pinocchio").from_string(template)
    with pytest.raises(RenderError, match="expected Rust in a template"):
        found.render(text="// evil", rust=code("x"), nothing=None)


def test_a_template_prints_rust() -> None:
    assert (
        environment("pinocchio").from_string("{{ a }};\n").render(a=code("let x = 1"))
        == "let x = 1;\n"
    )


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        environment("pinocchio").from_string("{% if absent %}{% endif %}").render()


def test_only_rust_says_what_was_printed() -> None:
    with pytest.raises(RenderError, match="got str '//! plain str'"):
        only_rust("//! plain str")
