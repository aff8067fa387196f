"""What an IDL's relations check in a rendered program, and what they leave to the handler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py import load
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.render import render_crate
from mcpsol_py.render.relations import implied_checks
from tests.unit.render.idls import AUTHORITY, VAULT, idl, kind


def implied(
    document: Any, tmp_path: Path
) -> tuple[dict[str, tuple[str | None, Any]], list[str]]:
    path = tmp_path / "idl.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    model = load(path).model
    usable = {account.name for account in model.accounts}
    found = implied_checks(model.instructions[0], Resolver(model), usable)
    checks = {".".join(p): (c.state, c.has_one) for p, c in found.constraints.items()}
    return checks, found.unchecked


def test_the_only_type_with_such_a_field_is_meant(tmp_path: Path) -> None:
    document = idl(kind("Safe", "authority"), kind("Other", "owner"))
    assert implied(document, tmp_path) == (
        {"vault": ("Safe", (("authority", "authority"),))},
        [],
    )


def test_of_several_types_the_one_with_the_accounts_name_is_meant(
    tmp_path: Path,
) -> None:
    document = idl(kind("Pool", "authority"), kind("Vault", "authority"))
    checks, unchecked = implied(document, tmp_path)
    assert (checks["vault"][0], unchecked) == ("Vault", [])


def test_accounts_of_a_group_are_compared_within_it(tmp_path: Path) -> None:
    group = {"name": "safe", "accounts": [VAULT, AUTHORITY]}
    checks, _ = implied(idl(kind("Vault", "authority"), accounts=[group]), tmp_path)
    assert checks == {"safe.vault": ("Vault", (("authority", "safe.authority"),))}


@pytest.mark.parametrize(
    ("types", "why"),
    [
        ((kind("Vault", "owner"),), "no account type that the program can read"),
        (
            (kind("Vault", "authority", type_="u64"),),
            "no account type that the program can read",
        ),
        (
            (kind("A", "authority"), kind("B", "authority")),
            "it may be of the types A, B",
        ),
    ],
)
def test_a_relation_without_a_type_is_left_open(
    types: tuple[dict[str, Any], ...], why: str, tmp_path: Path
) -> None:
    checks, unchecked = implied(idl(*types), tmp_path)
    assert checks == {}
    assert len(unchecked) == 1
    assert unchecked[0].startswith("that the data of vault names authority: ")
    assert why in unchecked[0]


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_the_handler_says_what_is_open(target: str, tmp_path: Path) -> None:
    path = tmp_path / "idl.json"
    document = idl(kind("A", "authority"), kind("B", "authority"))
    path.write_text(json.dumps(document), encoding="utf-8")
    written = render_crate(load(path), target=target, out=tmp_path / "crate")
    note = "that the data of vault names authority: it may be of the types A, B"
    assert written.unchecked == (f"withdraw: {note}",)
    handler = tmp_path / "crate/src/processor/withdraw.rs"
    assert f"// NOT CHECKED: {note}." in handler.read_text(encoding="utf-8")


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_a_relation_is_compared(target: str, tmp_path: Path) -> None:
    path = tmp_path / "idl.json"
    path.write_text(json.dumps(idl(kind("Vault", "authority"))), encoding="utf-8")
    written = render_crate(load(path), target=target, out=tmp_path / "crate")
    folder = tmp_path / "crate/src"
    accounts = "instructions" if target == "anchor" else "instruction"
    text = (folder / accounts / "withdraw.rs").read_text(encoding="utf-8")
    compared = "has_one = authority" if target == "anchor" else "&state.authority"
    assert (written.unchecked, compared in text) == ((), True)
    assert "NOT CHECKED" not in (folder / "processor/withdraw.rs").read_text(
        encoding="utf-8"
    )
