"""Odd lines of a body become Rust of which clippy finds nothing, and other bodies name no lint."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build.toolchain import CARGO
from mcpsol_py.render import render
from mcpsol_py.sources.spec import read_spec
from tests.long.bodies import clippy
from tests.support.random_programs import make_workspace

HEAD = """\
from mcpsol_py.spec import *
from mcpsol_py.spec import i64, u8, u64


class Mode(Enum):
    ModeSlow = variant()
    ModeFast = variant()


def first(amount: u64) -> u64:
    for i in range(3):
        return amount + u64(i)
    return amount


@program(name="odd", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Odd:
    class S(Account):
        n: u64
        small: u8
        open: bool

    Wrong = error("Wrong")
"""
#: By lint, lines of which clippy would complain. What follows two underscores is another case of the lint.
ODD = {
    "never_loop": "for i in range(3):\n    s.n += u64(i)\n    break",
    "reversed_empty_ranges": "for i in range(3, 1):\n    s.n += u64(i)",
    "mut_range_bound": "m = n\nfor i in range(m):\n    m = m - u64(i)\ns.n = m",
    "min_max": "s.n = max(min(n, u64(7)), u64(7))",
    "bad_bit_mask": "require(n & 4 == 3, self.Wrong)",
    "ineffective_bit_mask": "require(n | 1 > 1, self.Wrong)",
    "ifs_same_cond": "if n > 3:\n    s.n += 1\nelif n > 3:\n    s.n += 2",
    "ifs_same_cond__written": "if u64(0) >= 7:\n    s.n += 1\nelif u64(1) > 1:\n    s.n += 2",
    "redundant_comparisons": "require(n < 5 and n < 3, self.Wrong)",
}
#: Lines that are odd to other lints, or only look odd.
OTHERS = {
    "same": "s.n = min(n, n) + n % 1 + n // 1 + (n ^ n) + n * 0",
    "never": "require(n >= 0 and s.small <= 255 or n != n, self.Wrong)",
    "between": "require(n > 3 and s.n < 9 or n == 1 or n == 2, self.Wrong)",
    "blocks": "if flag:\n    s.small += 1\nelse:\n    s.small += 1",
    "nothing": "if flag:\n    pass\nelse:\n    pass",
    "always": "if True:\n    s.open = not False",
    "flags": "if flag == True or flag != False:\n    s.open = False",
    "twice": "x = n\nx = n\ns.n = u64(u64(x))",
    "negative": "z = -(-k)\nrequire(z < 0 or z >= 0, self.Wrong)",
    "parts": "require(blob.data[0:2] == blob.data[0:2], self.Wrong)",
    "ranges": "for i in range(2, 3):\n    if flag:\n        break\n    s.n += u64(i)",
    "choices": "s.n = (n if flag else n) + (u64(1) if True else u64(2))",
    "variants": "match mode:\n    case Mode.ModeSlow:\n        s.n += 1\n    case _:\n        s.n += 1",
}


def spec(folder: Path, bodies: dict[str, str]) -> Path:
    text = HEAD
    for name, lines in bodies.items():
        body = "".join(f"        {line}\n" for line in lines.splitlines())
        text += (
            "\n    @instruction\n"
            f"    def {name}(self, s: Mut[S, ...], blob: Unchecked, n: u64, k: i64, flag: bool, mode: Mode) -> u64:\n"
            f'        """Odd lines."""\n{body}        return first(n)\n'
        )
    file = folder / "spec.py"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ODD)
def test_an_odd_line_names_its_lint(name: str, tmp_path: Path) -> None:
    render(read_spec(spec(tmp_path, {"odd": ODD[name]})), out=tmp_path)
    lint = name.partition("__")[0]
    assert f"clippy::{lint}" in _body(tmp_path / "src/processor/odd.rs")


@pytest.mark.parametrize("name", OTHERS)
def test_other_lines_name_none(name: str, tmp_path: Path) -> None:
    render(read_spec(spec(tmp_path, {"other": OTHERS[name]})), out=tmp_path)
    assert "clippy::" not in _body(tmp_path / "src/processor/other.rs")


def _body(file: Path) -> str:
    """What is below the head of a handler."""
    return file.read_text(encoding="utf-8").partition("pub fn process")[2]


@pytest.mark.slow
@pytest.mark.rust
@pytest.mark.skipif(CARGO is None, reason="cargo is missing: install Rust")
def test_clippy_finds_nothing_in_odd_lines(tmp_path: Path) -> None:
    render(read_spec(spec(tmp_path, {**ODD, **OTHERS})), out=tmp_path)
    make_workspace(tmp_path, "pinocchio")
    assert not clippy(tmp_path, "pinocchio")
