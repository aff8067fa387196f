"""The small IDLs of tests/fixtures/idls, one folder a dialect, that hold the odd shapes the real ones lack."""

import json
from pathlib import Path
from typing import Any

from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Instruction,
    ProgramModel,
)
from mcpsol_py.sources.detect import read

FOLDER = Path(__file__).parents[2] / "fixtures" / "idls"
ALL = sorted(FOLDER.glob("*/*.json"))


def load(name: str) -> ProgramModel:
    return read(FOLDER / f"{name}.json")


def document(name: str) -> dict[str, Any]:
    out: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return out


def instruction(model: ProgramModel, name: str) -> Instruction:
    return next(ix for ix in model.instructions if ix.name == name)


def account(items: tuple[AccountItem, ...], *path: str) -> Account:
    """The account at *path* (group names, then its own)."""
    found = next(i for i in items if i.name == path[0])
    if isinstance(found, AccountGroup):
        return account(found.accounts, *path[1:])
    return found
