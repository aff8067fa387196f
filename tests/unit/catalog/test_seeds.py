"""The seeds: every catalogue begins with the programs of the runtime and of SPL."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.exchange import export, import_file
from mcpsol_py.catalog.records import SEED, NewVersion
from mcpsol_py.catalog.seeds import seed_of, seeds
from mcpsol_py.solana.ids import SYSTEM_PROGRAM
from mcpsol_py.sources.detect import read
from tests.unit.catalog.shops import ADDRESS, idl


def test_a_new_catalogue_finds_the_programs_of_the_runtime(tmp_path: Path) -> None:
    with Catalog.open(str(tmp_path / "catalog.db")) as catalog:
        (hit,) = catalog.search("send SOL to a friend", limit=1)
        assert (hit.address, hit.instruction, hit.source) == (
            SYSTEM_PROGRAM,
            "transfer",
            SEED,
        )
        before = catalog.records.count()
        assert before == (len(seeds()), len(seeds()))
        catalog.record(seeds())
    with Catalog.open(str(tmp_path / "catalog.db")) as again:
        assert again.records.count() == before


def test_seeds_of_another_release_replace_those_that_were_there(tmp_path: Path) -> None:
    with Catalog.open(str(tmp_path / "catalog.db"), seeds=False) as catalog:
        old = NewVersion(read(idl("shop", version="1")), SEED, "old")
        new = NewVersion(read(idl("shop", version="2")), SEED, "new")
        file = NewVersion(read(idl("shop", version="1")), "file", "shop.json")
        catalog.records.plant([old], "1")
        catalog.record([file])
        catalog.records.plant([new], "1")
        assert _origins(catalog) == ["old", "shop.json"]
        catalog.records.plant([new], "2")
        assert _origins(catalog) == ["new", "shop.json"]
        catalog.refresh()
        assert catalog.search("buy product")


def _origins(catalog: Catalog) -> list[str]:
    return [version.origin for version in catalog.records.program(ADDRESS).versions]


def test_a_file_is_no_seed(tmp_path: Path) -> None:
    """An exported file leaves them out, and one that claims to be a seed is a file."""
    with Catalog.open(str(tmp_path / "catalog.db")) as catalog:
        assert export(catalog, tmp_path / "out.jsonl")[0] == 0
    with Catalog.open(str(tmp_path / "other.db"), seeds=False) as catalog:
        catalog.record([NewVersion(read(idl()), "registry", "x")])
        export(catalog, tmp_path / "out.jsonl")
        text = (tmp_path / "out.jsonl").read_text()
        (tmp_path / "lie.jsonl").write_text(text.replace('"registry"', '"seed"'))
    with Catalog.open(str(tmp_path / "third.db"), seeds=False) as catalog:
        import_file(catalog, tmp_path / "lie.jsonl")
        assert catalog.records.program(ADDRESS).current.source == "file"


@pytest.mark.parametrize("name", ["spl_token", "spl-token"])
def test_a_seed_has_a_name(name: str) -> None:
    found = seed_of(name)
    assert found is not None
    assert (found.model.name, found.origin) == ("spl_token", "mcpsol-py: spl_token")
    assert seed_of("nothing") is None


def test_a_file_that_claims_a_seeds_address_does_not_count(tmp_path: Path) -> None:
    """Templates of Anchor have the System program's address; only what is on chain comes before a seed."""
    with Catalog.open(str(tmp_path / "catalog.db")) as catalog:
        catalog.record(
            [NewVersion(read(idl("template", SYSTEM_PROGRAM)), "file", "template.json")]
        )
        row = catalog.records.program(SYSTEM_PROGRAM)
        assert (row.name, row.current.source) == ("system", SEED)
        (hit,) = catalog.search("transfer with the system program", limit=1)
        assert (hit.program, hit.instruction) == ("system", "transfer")
        chain = NewVersion(
            read(idl("chain", SYSTEM_PROGRAM)), "Program Metadata", "x", 5
        )
        catalog.record([chain])
        assert catalog.records.program(SYSTEM_PROGRAM).name == "chain"
