"""There and back: a model rendered, built and deployed, and lifted again from the pages that the program serves, is the
same model (by the stream), or has the same tools (by the JSON pages alone). Then pages lifted and written again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.discovery import discover_sync
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.render.crate import plan
from mcpsol_py.render.view import crate_view
from mcpsol_py.render.write import write_plan
from mcpsol_py.schema.comparison.diff import differences, facts
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.mcp_tools import tools
from mcpsol_py.schema.pages import page_set, write_pages
from mcpsol_py.sources.detect import read
from tests.conftest import SHARED_IDLS_ABSENT, shared_idl_files
from tests.functional.loaded import REPO
from tests.functional.targets import built, built_crate
from tests.models import programs

#: What JSON pages do not carry: state, events, errors, the address, what is said of single arguments and accounts.
NOT_ON_PAGES = ("account-type", "event", "error", "address", "docs")


def served(so: Path, model: ProgramModel) -> tuple[list[bytes], list[bytes]]:
    """The JSON pages and the stream pages that a compiled program answers in an SVM with all features."""
    chain = SvmTransport(features="all")
    program_id = (
        Pubkey.from_string(model.address) if model.address else Keypair().pubkey()
    )
    chain.add_program(program_id, so)
    pages = discover_sync(chain, program_id, all_pages=True).pages
    json_pages = [page for page in pages if page[:1] == b"{"]
    return json_pages, [page for page in pages if page[:1] != b"{"]


def comes_back(so: Path, model: ProgramModel) -> None:
    """The proof: by the stream the very model, from the pages alone the same tools, and the pages themselves."""
    json_pages, stream_pages = served(so, model)
    expected = page_set(model)
    assert (json_pages, stream_pages) == (expected.json_pages, expected.stream_pages), (
        "what was rendered is served"
    )
    whole = lift(json_pages, stream_pages)
    assert whole == model
    assert differences(facts(whole), facts(model)) == []
    plain = lift(json_pages)
    assert differences(facts(plain), facts(model), NOT_ON_PAGES) == []
    assert [ix.docs for ix in plain.instructions] == [
        _one(ix.docs) for ix in model.instructions
    ]
    assert input_schemas(plain) == input_schemas(model)


def _one(docs: tuple[str, ...]) -> tuple[str, ...]:
    """Docs as a page has them: one text, or none."""
    return ("\n".join(docs),) if docs else ()


def input_schemas(model: ProgramModel) -> dict[str, Any]:
    """What each instruction's tool takes, without what is said of its parts."""
    return {
        tool["name"]: bare(tool["inputSchema"])
        for tool in tools(replace(model, accounts=()))
    }


def bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {k: bare(v) for k, v in value.items()}
        if key == "properties"
        else bare(value)
        for key, value in schema.items()
        if key != "description"
    }


@pytest.mark.parametrize("name", ["counter", "guard", "vault", "x402"])
def test_a_committed_program_comes_back(name: str) -> None:
    folder = REPO / "programs" / name
    comes_back(folder / f"{name}.so", read(folder / "spec.py"))


@pytest.mark.rust
@pytest.mark.parametrize("target", ["native", "anchor"])
@pytest.mark.parametrize("name", ["counter", "vault"])
def test_it_comes_back_from_the_other_targets(
    name: str, target: str, std_toolchain: Toolchain
) -> None:
    comes_back(
        built(target, name, std_toolchain), read(REPO / "programs" / name / "spec.py")
    )


IDLS = (
    "anchor__anchor_test_idl",
    "codama__token",
    "legacy__squads_v4",
    "shank__mpl_token_auth_rules",
)


@pytest.mark.rust
@pytest.mark.parametrize("name", IDLS)
def test_a_program_rendered_from_an_idl_comes_back(
    name: str, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    files = {path.stem: path for path in shared_idl_files()}
    if name not in files:
        pytest.skip(SHARED_IDLS_ABSENT)
    model = read(files[name])
    folder = tmp_path / "crate"
    write_plan(
        plan(crate_view(model)), folder, "", handlers="src/processor", formatted=False
    )
    with (folder / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    comes_back(built_crate(folder, no_std_toolchain), model)


@settings(max_examples=30)
@given(programs())
def test_pages_lifted_and_written_again_are_the_same_bytes(model: ProgramModel) -> None:
    pages = page_set(model)
    again = page_set(lift(pages.json_pages, pages.stream_pages))
    assert (again.json_pages, again.stream_pages) == (
        pages.json_pages,
        pages.stream_pages,
    )


@pytest.mark.parametrize("form", ["compact", "verbose"])
@pytest.mark.parametrize("descriptions", ["full", "short", "none"])
def test_plain_pages_lifted_and_written_again_are_the_same_bytes(
    form: Any, descriptions: Any
) -> None:
    @settings(max_examples=15)
    @given(programs())
    def check(model: ProgramModel) -> None:
        pages = write_pages(model, form=form, descriptions=descriptions)
        assert write_pages(lift(pages), form=form, descriptions=descriptions) == pages

    check()


@pytest.mark.parametrize("form", ["compact", "verbose"])
def test_the_pages_of_real_programs_too(shared_idl: Path, form: Any) -> None:
    pages = write_pages(read(shared_idl), form=form)
    assert write_pages(lift(pages), form=form) == pages
