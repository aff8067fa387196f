"""What `lint` says of the program that rendering makes: what is not checked, what is refused, what Rust renames."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.errors import RenderError
from mcpsol_py.model.findings import Finding
from mcpsol_py.model.origins import origin_of
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.render import render_crate
from mcpsol_py.render.findings import render_findings
from tests.unit.render.idls import idl, kind

SPEC = '''\
from mcpsol_py.spec import Account, Mut, Pubkey, Ref, Signer, Unchecked, error, instruction, program, seeds, u8, u64


class {type}(Account):
    """A vault."""

    {field}: Pubkey
    total: u64


@program(name="named", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Named:
    """Names."""

    {error} = error("No")

    @instruction
    def {method}(
        self,
        vault: Mut[{type}, ...],
        {account}: Signer,
        page: Ref[Unchecked, seeds(b"page", {seed})],
        amount: u64,
        {arg}: u8,
    ) -> None:
        """Go."""
'''
PLAIN = {
    "type": "Vault",
    "field": "owner",
    "error": "Refused",
    "method": "go",
    "account": "owner",
    "seed": '"owner"',
    "arg": "count",
}


def model_of(folder: Path, **names: str) -> ProgramModel:
    path = folder / "spec.py"
    path.write_text(SPEC.format(**PLAIN | names), encoding="utf-8")
    return load(path).model


def of_rule(model: ProgramModel, rule: str) -> list[Finding]:
    return [finding for finding in render_findings(model) if finding.rule == rule]


def lines(model: ProgramModel, findings: list[Finding]) -> set[int]:
    return {int(origin_of(model, f.path).rpartition(":")[2]) for f in findings}


def test_a_plain_spec_has_no_findings(tmp_path: Path) -> None:
    assert render_findings(model_of(tmp_path)) == []


@pytest.mark.parametrize(
    ("what", "name", "rust", "line"),
    [
        ("type", "NFTVault", "NftVault", 4),
        ("field", "ownerKey", "owner_key", 7),
        ("error", "not_mine", "NotMine", 15),
        ("method", "goOn", "go_on", 18),
        ("account", "state", "state_2", 21),
        ("arg", "größe", "gr_e", 24),
    ],
)
def test_a_name_that_rust_changes_is_found_with_its_line(
    what: str, name: str, rust: str, line: int, tmp_path: Path
) -> None:
    seed = {"seed": f'"{name}"'} if what == "account" else {}
    model = model_of(tmp_path, **{what: name}, **seed)
    found = of_rule(model, "renamed-in-rust")
    assert [f.level for f in found] == ["info"] * len(found)
    assert any(
        f.message.startswith(f"{name} is called {rust} in Rust") for f in found
    ), found
    assert lines(model, found) == {line}


def test_a_keyword_keeps_its_name(tmp_path: Path) -> None:
    """Rust writes it r#type. Anchor has no raw names, so the finding is about Anchor alone."""
    found = of_rule(model_of(tmp_path, arg="type"), "renamed-in-rust")
    assert [f.message for f in found if "anchor" not in f.message] == []


def test_what_cannot_be_rendered_is_an_error_with_its_line(tmp_path: Path) -> None:
    assert of_rule(model_of(tmp_path), "render") == []
    path = tmp_path / "spec.py"
    text = path.read_text(encoding="utf-8").replace(
        "owner: Signer", "owner: Signer | None"
    )
    path.write_text(text, encoding="utf-8")
    model = load(path).model
    found = of_rule(model, "render")
    assert {(f.level, f.path) for f in found} == {
        ("error", "instructions[0].accounts[2]"),
        ("info", "instructions[0].accounts[2]"),
    }
    assert lines(model, found) == {22}
    with pytest.raises(
        RenderError, match=r"spec\.py:22: go\.page: a seed is an account"
    ):
        render_crate(model, out=tmp_path / "crate")


def test_what_is_not_checked_is_found_before_rendering(tmp_path: Path) -> None:
    path = tmp_path / "idl.json"
    path.write_text(
        json.dumps(idl(kind("A", "authority"), kind("B", "authority"))),
        encoding="utf-8",
    )
    (found,) = render_findings(load(path).model)
    assert (found.level, found.path, found.rule) == (
        "warning",
        "instructions[0]",
        "not-checked",
    )
    assert "NOT CHECKED" in found.message
    assert "that the data of vault names authority" in found.message


def test_a_relation_to_an_account_that_is_not_there_is_not_checked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "idl.json"
    lone = [{"name": "authority", "signer": True, "relations": ["vault"]}]
    path.write_text(
        json.dumps(idl(kind("Vault", "authority"), accounts=lone)), encoding="utf-8"
    )
    (found,) = render_findings(load(path).model)
    assert "the instruction has no account vault" in found.message
