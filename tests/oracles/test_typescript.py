"""The TypeScript reader of docs/wire.md beside ours: every vector, random types and values, and every instruction of
real IDLs, with their accounts."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from mcpsol_py.accounts.account_names import AccountNames
from mcpsol_py.accounts.plan import Plan
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.json_values import to_json
from mcpsol_py.errors import McpsolError, NotUsable
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.serial import to_json as node_to_json
from mcpsol_py.model.types import Link, Type, TypeDef
from mcpsol_py.schema.pages import page_set
from mcpsol_py.sources.detect import read
from tests.conftest import SHARED_IDLS_ABSENT, shared_idl_files
from tests.oracles.batch import rows
from tests.oracles.environment import node
from tests.oracles.typescript import PACKAGE, Worker, environment, worker
from tests.strategies import Values, programs, types

LAYOUTS = Path(__file__).parents[1] / "vectors" / "layouts.json"
PROGRAM = Pubkey.from_string("4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T")


@pytest.fixture(scope="module")
def asked() -> Iterator[Worker]:
    with worker() as found:
        yield found


def test_the_packages_own_tests_hold() -> None:
    done = subprocess.run(
        [node(), "--test", "--test-reporter=tap", "test/vectors.test.mjs"],
        cwd=PACKAGE,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    failed = [line for line in done.stdout.splitlines() if line.startswith("not ok")]
    assert done.returncode == 0, (
        "\n".join(failed) or done.stdout[-2000:] + done.stderr[-2000:]
    )
    count = next(
        line for line in done.stdout.splitlines() if line.startswith("# pass ")
    )
    assert int(count.removeprefix("# pass ")) > 130


# --- random types and values ------------------------------------------------------------------------------------------


def ours(model: ProgramModel, target: Type, value: Any) -> str | None:
    """Our bytes of a value in its JSON form, or None if we refuse it."""
    codecs = Codecs(model)
    try:
        return codecs.interpreted.encode(
            codecs.layouts.root(target), value, strict=True
        ).hex()
    except McpsolError:
        return None


def compared(asked: Worker, model: ProgramModel, target: Type, value: Any) -> None:
    answer = asked.ask(
        "encode",
        types=[node_to_json(definition) for definition in model.types],
        type=node_to_json(target),
        value=value,
    )
    assert answer.get("hex") == ours(model, target, value), (
        node_to_json(target),
        value,
        answer,
    )


quick = settings(suppress_health_check=list(HealthCheck), deadline=None)


@quick
@given(st.data())
def test_values_of_random_types_are_the_same_bytes(
    asked: Worker, data: st.DataObject
) -> None:
    target = data.draw(types())
    codecs = Codecs(ProgramModel("plain"))
    value = data.draw(Values(codecs, nan=True).of(target))
    compared(asked, codecs.model, target, to_json(codecs.layouts, target, value))


@quick
@given(programs(), st.data())
def test_values_of_linked_types_are_the_same_bytes(
    asked: Worker, program: tuple[ProgramModel, Type], data: st.DataObject
) -> None:
    model, target = program
    codecs = Codecs(model)
    value = data.draw(Values(codecs).of(target))
    compared(asked, model, target, to_json(codecs.layouts, target, value))


@quick
@given(st.data())
def test_values_of_another_type_are_refused_alike(
    asked: Worker, data: st.DataObject
) -> None:
    codecs = Codecs(ProgramModel("plain"))
    target, other = data.draw(types(depth=1)), data.draw(types(depth=1))
    value = to_json(codecs.layouts, other, data.draw(Values(codecs).of(other)))
    compared(asked, codecs.model, target, value)


@quick
@given(st.data(), st.sampled_from(["c", "packed"]), st.sampled_from([None, 4, 16]))
def test_layouts_in_memory_are_the_same(
    asked: Worker, data: st.DataObject, layout: str, align: int | None
) -> None:
    body = data.draw(types(depth=2))
    model = ProgramModel(
        "memory", types=(TypeDef("T", body, layout=layout, align=align),)
    )
    codecs = Codecs(model)
    target = Link("T")
    try:
        root = codecs.layouts.root(target)
    except NotUsable:
        answer = asked.ask(
            "encode",
            types=[node_to_json(t) for t in model.types],
            type=node_to_json(target),
            value=0,
        )
        assert "refused" in answer
        return
    value = data.draw(Values(codecs).of(root))
    compared(asked, model, target, to_json(codecs.layouts, target, value))


# --- pages of a stranger ----------------------------------------------------------------------------------------------

PAGES: list[dict[str, Any]] = json.loads((LAYOUTS.parent / "pages.json").read_text())


@quick
@given(st.data())
def test_changed_pages_are_refused_or_read(asked: Worker, data: st.DataObject) -> None:
    """No change of a byte makes the reader fail in another way: the worker ends at any other error."""
    vector = data.draw(st.sampled_from(PAGES))
    json_pages = [page.encode() for page in vector["json_pages"]]
    stream = [bytes.fromhex(page) for page in vector["stream_pages"]]
    pages = data.draw(st.sampled_from([json_pages, stream]))
    place = data.draw(st.integers(0, len(pages) - 1))
    changed = bytearray(pages[place])
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(
            st.integers(0, 255)
        )
    is_changed = changed.rstrip(b"\0") != pages[place].rstrip(b"\0")
    pages[place] = bytes(changed)
    answer = asked.ask(
        "load",
        program="changed",
        pages=[page.hex() for page in json_pages],
        stream=[page.hex() for page in stream],
        base=vector["stream_base"],
    )
    if is_changed and pages is stream:
        assert answer["kind"] == "PageError"
    assert answer.keys() in ({"tools"}, {"refused", "kind"})


# --- real programs ----------------------------------------------------------------------------------------------------


def loaded(asked: Worker, model: ProgramModel) -> None:
    pages = page_set(model)
    answer = asked.ask(
        "load",
        program="p",
        pages=[page.hex() for page in pages.json_pages],
        stream=[page.hex() for page in pages.stream_pages],
        base=pages.stream_base,
    )
    assert answer == {"tools": [ix.name for ix in model.instructions]}


def dummies(instruction: Instruction) -> dict[str, str]:
    """An address for each account that nothing of the source decides."""
    return {
        leaf.name: str(Pubkey(bytes([7, leaf.index] * 16)))
        for leaf in AccountNames(instruction).leaves
        if not (leaf.account.pda or leaf.account.address or leaf.account.default)
    }


def metas(
    codecs: Codecs, instruction: Instruction, args: Any, given: dict[str, str]
) -> list[list[Any]] | None:
    """Our accounts and their roles, or None if they need data from a chain or an account that is not given."""
    plan = Plan(codecs, instruction)
    resolution = plan.resolve(args, given, program_id=PROGRAM)
    try:
        if resolution.wanted():
            return None
        found = resolution.metas()
    except McpsolError:
        return None
    return [[str(m.pubkey), 2 * m.is_signer + m.is_writable] for m in found]


def test_instructions_of_real_programs_are_the_same(asked: Worker) -> None:
    files = shared_idl_files()
    if not files:
        pytest.skip(SHARED_IDLS_ABSENT)
    same, with_accounts, different = 0, 0, []
    for file in files:
        model = read(file)
        codecs = Codecs(model)
        without_address = Codecs(replace(model, address=None))  # as pages are
        loaded(asked, model)
        places = {ix.name: i for i, ix in enumerate(model.instructions)}
        for row in rows(model, file, 1):
            if row.kind != "instruction":
                continue
            instruction = model.instructions[places[row.name]]
            given = dummies(instruction)
            for source, read_from in (("pages", without_address), ("stream", codecs)):
                wanted = metas(read_from, instruction, row.value, given)
                if wanted is None:
                    continue
                answer = asked.ask(
                    "build",
                    program="p",
                    tool=places[row.name],
                    args=row.value,
                    accounts=given,
                    options={"programAddress": str(PROGRAM)},
                    **{"from": source},
                )
                if answer != {"accounts": wanted, "hex": row.hex}:
                    different.append(
                        f"{file.name} {row.name} ({source}): {json.dumps(answer)[:600]} of {given}, {wanted}"
                    )
                    continue
                same += 1
                with_accounts += any(key not in given.values() for key, _ in wanted)
    assert not different, f"{len(different)} of {same}\n" + "\n".join(different[:8])
    assert same > 400
    assert with_accounts > 100


@pytest.mark.parametrize(
    "row", json.loads(LAYOUTS.read_text())["layouts"], ids=lambda r: r["account"]
)
def test_layouts_of_accounts_are_public_knowledge(
    asked: Worker, row: dict[str, Any]
) -> None:
    file = next((f for f in shared_idl_files() if f.stem == row["idl"]), None)
    if file is None:
        pytest.skip(SHARED_IDLS_ABSENT)
    loaded(asked, read(file))
    answer = asked.ask("layout", program="p", account=row["account"])
    assert row.get("size") in (None, answer["size"])
    assert {key: answer["offsets"][key] for key in row["offsets"]} == row["offsets"]
