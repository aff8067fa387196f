"""Old import paths and names: all public names of version 0.1.0 can still be imported.

tests/vectors/public_names_0_1.json has `__all__` of every module of that version.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from mcpsol_py import _moved
from mcpsol_py._moved import MODULES, NAMES

_FILE = Path(__file__).parents[1] / "vectors" / "public_names_0_1.json"
PUBLIC: dict[str, list[str]] = json.loads(_FILE.read_text(encoding="utf-8"))
#: Names without a successor: only the library itself used them, though `__all__` listed them.
REMOVED: dict[str, set[str]] = {
    "mcpsol_py.accounts.wellknown": {"foreign_field"},
    "mcpsol_py.attack.baseline": {"derive", "seeds_of"},
    "mcpsol_py.attack.tokens": {
        "ACCOUNT_SIZE",
        "AMOUNT",
        "AUTHORITY",
        "DECIMALS",
        "INITIALIZED_MINT",
        "MINT",
        "OWNER",
        "STATE",
        "SUPPLY",
        "mint_data",
        "put_at",
        "token_data",
    },
    "mcpsol_py.bridge.access": {"ALL_LEVELS", "Level", "level_of", "within"},
    "mcpsol_py.bridge.balances": {"MULTISIG", "mint_powers"},
    "mcpsol_py.bridge.completing": {"MOST", "parameters"},
    "mcpsol_py.bridge.forms": {
        "DO",
        "Field",
        "Group",
        "arguments_of",
        "changed",
        "fields_of",
        "with_errors",
    },
    "mcpsol_py.bridge.search": {"Hit"},
    "mcpsol_py.bridge.sessions": {"MOST_IN_ALL", "MOST_STREAMS", "MOST_SUBSCRIPTIONS"},
    "mcpsol_py.bridge.signals": {"at_signals"},
    "mcpsol_py.bridge.summary": {"lines"},
    "mcpsol_py.bridge.tools": {"LISTED", "Tool", "fault_of", "required_of"},
    "mcpsol_py.model.types": {"type_text"},
    "mcpsol_py.sources.anchor_accounts": {"spelled"},
    "mcpsol_py.sources.idl_types": {"typedef", "typedef_layout"},
    "mcpsol_py.sources.known_types": {"said_of"},
    "mcpsol_py.sources.reader": {"MAX_BYTES", "Reader", "load_bytes", "parse_json"},
    "mcpsol_py.sources.spec": {"ProgramReader"},
    "mcpsol_py.sources.spec_file": {"Docs", "Lines", "docs_of", "lines_of"},
    "mcpsol_py.sources.spec_instruction": {"InstructionReader"},
    "mcpsol_py.x402.chain": {"Simulated"},
    "mcpsol_py.x402.exact.transaction": {"ATA_PROGRAM"},
    "mcpsol_py.x402.store.audit": {"note"},
    "mcpsol_py.x402.store.group": {"Writer", "grouped"},
}


def old_module(name: str) -> ModuleType:
    """Import a module by its old path, anew."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(name)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_can_still_be_imported(module: str) -> None:
    names = [name for name in PUBLIC[module] if name not in REMOVED.get(module, ())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = import_module(module)
        assert [name for name in names if not hasattr(found, name)] == []


#: Old modules whose path is a package now.
PACKAGES = {old for old, new in MODULES.items() if new.startswith(f"{old}.")}


@pytest.mark.parametrize("module", sorted(set(MODULES) - PACKAGES))
def test_an_old_path_is_deprecated(module: str) -> None:
    sys.modules.pop(module, None)
    with pytest.warns(DeprecationWarning, match=r"the old path goes away in 0\.3\.0"):
        import_module(module)


def test_an_old_name_of_a_module_that_is_a_package_now_is_deprecated() -> None:
    package = import_module("mcpsol_py.bridge.http")
    with pytest.warns(DeprecationWarning, match=r"the old name goes away in 0\.3\.0"):
        assert package.header


@pytest.mark.parametrize("module", NAMES)
def test_a_new_name_exists(module: str) -> None:
    found = old_module(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert [name for name in NAMES[module] if not hasattr(found, name)] == []


def test_a_name_that_never_existed_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _moved.renamed("mcpsol_py.client.loader", "no_such_name")


def test_names_that_are_removed_were_public() -> None:
    for module, names in REMOVED.items():
        assert names <= set(PUBLIC[module])
