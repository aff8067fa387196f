"""`idl2mcp render` for every target: what is written, what is kept, and what is refused."""

from __future__ import annotations

import pytest

from tests.functional.cli import Cli, spec_idl

#: a file that tells the targets apart, and what stands in it
MARKS = {
    "pinocchio": ("Cargo.toml", "pinocchio = "),
    "native": ("Cargo.toml", "solana-program = "),
    "anchor": ("Cargo.toml", "anchor-lang = "),
    "anchor-module": ("src/list_tools.md", "pub fn list_tools("),
    "native-module": ("src/list_tools.rs", "use solana_program::"),
    "pinocchio-module": ("src/list_tools.rs", "use pinocchio::"),
}


@pytest.mark.parametrize("target", MARKS)
def test_each_target_is_written_and_handlers_are_kept(cli: Cli, target: str) -> None:
    idl = cli.write("idl.json", spec_idl())
    call = ("render", idl, "--target", target, "--out", "made", "--json")
    first = cli(*call).json
    name, text = MARKS[target]
    assert text in (cli.folder / "made" / name).read_text(encoding="utf-8")
    assert name in first["written"]
    assert first["kept"] == []
    again = cli(*call).json
    assert set(again["kept"]) == (
        set() if target.endswith("-module") else {"Cargo.toml", "src/processor/go.rs"}
    )
    assert set(again["written"]) == set(first["written"]) - set(again["kept"])


def test_what_anchor_cannot_write_is_said(cli: Cli) -> None:
    idl = cli.write("idl.json", {k: v for k, v in spec_idl().items() if k != "address"})
    ran = cli("render", idl, "--target", "anchor", "--out", "made")
    assert ran.code != 0
    assert "only runs at the address that it declares" in ran.err
    assert not (cli.folder / "made").exists()
