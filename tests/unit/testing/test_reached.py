from __future__ import annotations

from pathlib import Path

from mcpsol_py.testing.reached import Reached, follow, missed, note_call, recording

SPEC = '''"""A spec."""


def half(n):
    """Half of it."""
    if n > 1:
        return n // 2
    return 0


class Program:
    @instruction
    def go(self, amount):
        """Go."""
        x = (
            half(amount)
        )
        for i in range(x):
            pass
        match x:
            case 0:
                x = 9
            case _:
                x = 8
        return x

    def helper(self):
        return 1

    @instruction
    def by_hand(self):
        """In Rust."""
'''


def functions(path: Path) -> dict[str, object]:
    space: dict[str, object] = {"instruction": lambda function: function}
    exec(compile(SPEC, str(path), "exec"), space)
    return space


def test_statements_that_never_ran_are_found(tmp_path: Path) -> None:
    path = tmp_path / "spec.py"
    path.write_text(SPEC)
    go = functions(path)["Program"].go  # type: ignore[attr-defined]  # made by exec
    with recording([path]) as reached:
        assert follow(go, {"self": None, "amount": 1}) == 9
    left, count = missed(path, reached)
    assert [(line.function, line.text) for line in left] == [
        ("half", "return n // 2"),
        ("go", "x = 8"),
    ]
    assert count == 9


def test_nothing_is_followed_without_a_record(tmp_path: Path) -> None:
    path = tmp_path / "spec.py"
    half = functions(path)["half"]
    assert callable(half)
    assert follow(half, {"n": 8}) == 4
    note_call("svm", "", "go")


def test_runs_are_added(tmp_path: Path) -> None:
    path = tmp_path / "spec.py"
    with recording([path]) as first:
        note_call("svm", "Full", "go")
        follow(functions(path)["half"], {"n": 8})  # type: ignore[arg-type]  # a function
    both = Reached()
    both.add_json(first.to_json())
    both.add_json(first.to_json())
    assert (both.calls, both.errors) == ({"svm": 2}, {"Full"})
    assert both.lines == first.lines
