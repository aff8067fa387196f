"""Account types that a rendered program could take for one another."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import AccountType, Discriminator, ProgramModel
from mcpsol_py.model.types import U64, Field, Struct
from mcpsol_py.render import render_crate
from mcpsol_py.render.ambiguous import ambiguous_types

SPEC = '''
from mcpsol_py.spec import Account, Ref, instruction, program, u64


class Short(Account, discriminator=b"{short}"):
    """One."""

    value: u64


class Other(Account, discriminator=b"{other}"):
    """Another."""

    value: u64


@program(name="alike", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Alike:
    """Types."""

    @instruction
    def use(self, it: Ref[Short]) -> None:
        """Use one."""

    @instruction
    def use_other(self, it: Ref[Other]) -> None:
        """Use another."""
'''


def found(**tags: bytes) -> dict[str, str]:
    body = Struct((Field("value", U64),))
    accounts = tuple(
        AccountType(name, Discriminator(tag), body) for name, tag in tags.items()
    )
    return ambiguous_types(ProgramModel("alike", accounts=accounts))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (b"\1", b"\1", {"one", "other"}),
        (b"\1", b"\1\2", {"one", "other"}),
        (b"\1\3", b"\1\2", set()),
        (b"\1", b"", {"other"}),
        (b"\1", bytes(8), {"other"}),
    ],
)
def test_types_with_alike_tags(one: bytes, other: bytes, alike: set[str]) -> None:
    assert set(found(one=one, other=other)) == alike


@pytest.mark.parametrize("target", ["pinocchio", "native"])
@pytest.mark.parametrize(
    ("short", "other", "why"),
    [
        (r"\x01", r"\x01", "its discriminator 0x01 equals 0x01 of Other"),
        (r"\x01", r"\x01\x02", "its discriminator 0x01 begins like 0x0102 of Other"),
        (r"\0\0", r"\x01", "its discriminator is zero"),
    ],
)
def test_a_check_of_an_alike_type_is_refused(
    target: str,
    short: str,
    other: str,
    why: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("alike")
    spec = folder / "spec.py"
    spec.write_text(SPEC.format(short=short, other=other), encoding="utf-8")
    with pytest.raises(RenderError) as refused:
        render_crate(load(spec), target=target, out=folder / "crate")
    assert not (folder / "crate").exists()
    assert f"use.it: data of Short may be of another type, because {why}" in str(
        refused.value
    )


def test_anchor_refuses_alike_types_too(tmp_path: Path) -> None:
    (tmp_path / "spec.py").write_text(
        SPEC.format(short=r"\x01", other=r"\x01\x02"), encoding="utf-8"
    )
    with pytest.raises(RenderError, match="data of Short may be of another type"):
        render_crate(
            load(tmp_path / "spec.py"), target="anchor", out=tmp_path / "crate"
        )
