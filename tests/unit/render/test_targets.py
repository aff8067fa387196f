"""The native and the Anchor target: committed crates are current, hostile sources change no code, and what Anchor has
no form for is refused by name."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import (
    Account,
    AccountSeed,
    ArgSeed,
    Constraints,
    Discriminator,
    ErrorCode,
    Init,
    Instruction,
    Pda,
    ProgramModel,
    TokenConstraint,
)
from mcpsol_py.model.types import (
    BORSH_STRING,
    U8,
    U64,
    Array,
    Bytes,
    Enum,
    Field,
    Int,
    Link,
    Map,
    Option,
    Struct,
    TypeDef,
    Variant,
)
from mcpsol_py.model.types import Tuple as TupleType
from mcpsol_py.render import render
from mcpsol_py.render.anchor import anchor_plan, anchor_view, pages_view
from mcpsol_py.render.crate import plan
from mcpsol_py.render.module import module_files
from mcpsol_py.render.targets import MODULES, NATIVE
from mcpsol_py.render.view import crate_view
from mcpsol_py.render.write import Planned
from mcpsol_py.sources.detect import read
from mcpsol_py.sources.spec import read_spec
from tests.golden.programs.regen import specs
from tests.golden.targets.regen import CRATES, EXISTING, REPO, regenerate
from tests.support.nasty_programs import NASTY, program
from tests.unit.render.rust_lexer import tokens

COMMITTED = REPO / "tests/targets"
CARGO = shutil.which("cargo")


@pytest.mark.parametrize("crate", [name for name, _, _ in CRATES])
def test_the_committed_crate_is_what_its_source_renders_to(
    crate: str, tmp_path: Path
) -> None:
    handlers = Path(crate) / "src/processor"  # the author's; what they use is kept
    if (COMMITTED / handlers).exists():
        ignored = shutil.ignore_patterns("mod.rs")
        shutil.copytree(
            COMMITTED / handlers, tmp_path / "src/processor", ignore=ignored
        )
    regenerate(crate, tmp_path)
    for path in sorted(
        p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()
    ):
        committed = COMMITTED / crate / path
        assert committed.exists(), f"{path}: run `make regen`"
        if path.name != "Cargo.toml" and (
            path.parts[1:2] != ("processor",) or path.name == "mod.rs"
        ):
            assert committed.read_bytes() == (tmp_path / path).read_bytes(), (
                f"{path}: run `make regen`"
            )
    if crate not in EXISTING:  # whose other files are its author's
        there = {
            p.relative_to(COMMITTED / crate)
            for p in (COMMITTED / crate / "src").rglob("*")
            if p.is_file()
        }
        assert there <= {p.relative_to(tmp_path) for p in tmp_path.rglob("*")}, (
            "a file that no spec renders to"
        )


def test_the_module_leaves_the_rest_of_the_program_alone(tmp_path: Path) -> None:
    """Also what an earlier rendering of a whole crate left there."""
    regenerate("anchor/counter", tmp_path)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    result = regenerate("anchor/notes", tmp_path)
    assert set(result.written) == {
        "src/list_tools.rs",
        "src/list_tools.bin",
        "src/list_tools.md",
    }
    for path, data in before.items():
        assert path.read_bytes() == data or path.name in (
            "list_tools.rs",
            "list_tools.bin",
        )


# --- hostile sources -------------------------------------------------------------------------------------------------


def files(target: str, model: ProgramModel) -> list[Planned]:
    if target == "native":
        return plan(crate_view(model, NATIVE, lossless=False))
    if target == "anchor":
        return anchor_plan(anchor_view(model, lossless=False))
    return module_files(target, pages_view(model, lossless=False), model.name)


def rendered(target: str, model: ProgramModel) -> list[list[tuple[str, str]]]:
    """The tokens of each Rust file; a list of literals counts as one, since pages are as many as the texts need."""
    out: list[list[tuple[str, str]]] = []
    for file in files(target, model):
        if not file.path.endswith(".rs"):
            continue
        found: list[tuple[str, str]] = []
        for token in tokens(file.data.decode()):
            if token in (("string", ""), ("number", "")) and found[-2:] == [
                token,
                ("punct", ","),
            ]:
                found.pop()
                continue
            found.append(token)
        out.append(found)
    return out


@pytest.mark.parametrize("target", ["native", "anchor", *MODULES])
@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_hostile_text_changes_no_token(target: str, text: str) -> None:
    assert rendered(target, program(text, "name_")) == rendered(
        target, program("A plain text.", "name_")
    )


@pytest.mark.parametrize("target", ["native", "anchor", *MODULES])
@pytest.mark.parametrize("text", NASTY[:-1], ids=range(len(NASTY) - 1))
def test_hostile_names_become_identifiers(target: str, text: str) -> None:
    assert rendered(target, program("A plain text.", text)) == rendered(
        target, program("A plain text.", "name_")
    )


@pytest.mark.parametrize("target", MODULES)
@pytest.mark.parametrize("text", NASTY[:-1], ids=range(len(NASTY) - 1))
def test_a_hostile_name_stays_in_its_line_of_the_readme(target: str, text: str) -> None:
    plain, hostile = (
        next(
            f for f in files(target, program("x", name)) if f.path.endswith(".md")
        ).data.decode()
        for name in ("name_", text)
    )
    assert plain.splitlines()[1:] == hostile.splitlines()[1:]
    assert hostile.splitlines()[0].removeprefix("# list_tools for ").isidentifier()


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_documentation_of_accounts_cannot_end_the_raw_string_that_anchor_makes_of_it(
    text: str,
) -> None:
    for ix in anchor_view(program(text, "name_"), lossless=False).instructions:
        assert not [
            line
            for account in ix.accounts.fields
            for line in account.docs
            if '"' in line
        ]


def hostile_program() -> ProgramModel:
    """Every hostile text and name in one program, beside names that mean something to Anchor and to Rust."""
    names = [
        "type",
        "self",
        "crate",
        "context",
        "signer",
        "list_tools",
        "accounts",
        "pubkey",
        "error",
        "Vec",
        "box",
    ]
    models = [program(text, f"{text[:20]}n{i}") for i, text in enumerate(NASTY)]
    models += [program('a {brace} "quote" \\ and \u2028', name) for name in names]
    merged = models[0]
    for i, m in enumerate(models[1:], 1):
        merged = replace(
            merged,
            instructions=merged.instructions
            + tuple(
                replace(ix, discriminator=Discriminator(bytes([i]) * 8))
                for ix in m.instructions
            ),
            accounts=merged.accounts + m.accounts,
            events=merged.events + m.events,
            errors=merged.errors + tuple(replace(e, code=6000 + i) for e in m.errors),
            types=merged.types + m.types,
        )
    return merged


#: What Rust's prelude and generated code call their own.
RUSTS = (
    *(
        "String",
        "Vec",
        "Option",
        "Some",
        "Pubkey",
        "Accounts",
        "Args",
        "Result",
        "Ok",
        "Error",
        "State",
        "Self",
    ),
    *("ProgramError", "u64", "Box", "Context", "Program", "Default", "usize"),
)


def names_of_rust() -> ProgramModel:
    """Types, state, events, errors, accounts and arguments called as Rust calls its own; state and events that are
    arguments; instructions without accounts, and returned text."""
    fields = [
        {"name": "type", "type": "u64"},
        {"name": "s", "type": "string"},
        {"name": "v", "type": {"vec": {"option": "pubkey"}}},
    ]
    accounts = [
        {"name": "program_id"},
        {"name": "accounts", "writable": True},
        {"name": "self", "signer": True},
    ]
    instructions: list[dict[str, object]] = [
        {
            "name": f"{name.lower()}_go",
            "discriminator": [i] * 8,
            "accounts": accounts,
            "args": [
                {"name": "args", "type": {"defined": {"name": name}}},
                {"name": "accounts", "type": "u64"},
                {"name": "data", "type": "bytes"},
                {"name": "Ok", "type": "u8"},
            ],
        }
        for i, name in enumerate(RUSTS, 1)
    ]
    text = [{"name": "text", "type": "string"}]
    modules = (
        "foo",
        "Foo",
        "mod",
        "std",
        "core",
        "alloc",
        "list_tools",
        "state",
        "types",
        "error",
        "shared",
        "main",
    )
    many = [{"name": f"n{i}", "type": "u8"} for i in range(8)]
    for i, name in enumerate(modules, 50):
        instructions.append(
            {"name": name, "discriminator": [i] * 8, "accounts": [], "args": many}
        )
    instructions += [
        {
            "name": "said",
            "discriminator": [78] * 8,
            "accounts": [],
            "args": text,
            "returns": {"vec": "string"},
        },
        {
            "name": "give",
            "discriminator": [79] * 8,
            "accounts": accounts[:1],
            "args": text,
            "returns": "string",
        },
    ]
    states, events = (
        ("String", "Vec", "Accounts", "Args", "Option", "Self"),
        ("Result", "Error", "Box"),
    )
    return read(
        {
            "address": "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
            "metadata": {"name": "std", "version": "0.1.0", "spec": "0.1.0"},
            "instructions": instructions,
            "accounts": [
                {"name": n, "discriminator": [100 + i] * 8}
                for i, n in enumerate(states)
            ],
            "events": [
                {"name": n, "discriminator": [120 + i] * 8}
                for i, n in enumerate(events)
            ],
            "errors": [
                {"code": 6000 + i, "name": n}
                for i, n in enumerate(("Ok", "Error", "From"))
            ],
            "types": [
                {"name": n, "type": {"kind": "struct", "fields": fields}} for n in RUSTS
            ],
        }
    )


@pytest.mark.parametrize("target", ["native", "anchor", *MODULES])
@pytest.mark.parametrize("spec", specs(), ids=lambda path: path.parent.name)
def test_every_spec_has_a_form_in_every_target(
    spec: Path, target: str, tmp_path: Path
) -> None:
    result = render(read_spec(spec), target=target, out=tmp_path)
    assert "src/list_tools.rs" in result.written or "src/schema.rs" in result.written
    assert not result.orphans


@pytest.mark.slow
@pytest.mark.skipif(CARGO is None, reason="cargo is missing: install Rust")
@pytest.mark.parametrize(
    ("which", "target"),
    [
        *(
            (which, target)
            for which in ("hostile", "x402", "every word")
            for target in ("native", "anchor")
        ),
        *(("names of Rust", target) for target in ("pinocchio", "native", "anchor")),
    ],
)
def test_a_crate_compiles_without_a_warning(
    which: str, target: str, tmp_path: Path
) -> None:
    if which == "hostile":
        model = hostile_program()
    elif which == "x402":
        model = read_spec(REPO / "programs/x402/spec.py")
    elif which == "names of Rust":
        model = names_of_rust()
    else:
        text = (REPO / "examples/every_word.py").read_text(encoding="utf-8")
        if target == "anchor":  # borsh only
            text = (
                text.replace(', layout="c"', "")
                .replace(", tag=u16", "")
                .replace("COption[Pubkey]", "Pubkey")
            )
        (tmp_path / "spec.py").write_text(text, encoding="utf-8")
        model = read_spec(tmp_path / "spec.py")
    render(model, target=target, out=tmp_path, lossless=False)
    with (tmp_path / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    assert CARGO is not None
    cache = (
        Path(os.environ.get("MCPSOL_CACHE") or Path.home() / ".cache/mcpsol")
        / "cargo-target-rendered"
    )
    done = subprocess.run(
        [CARGO, "check", "--quiet"],
        cwd=tmp_path,
        env={**os.environ, "CARGO_TARGET_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "warning" not in done.stderr, done.stderr[-3000:]


# --- what Anchor has no form for -------------------------------------------------------------------------------------


def small(**changed: object) -> ProgramModel:
    """A program of one instruction without arguments and accounts."""
    ix = replace(Instruction("go", Discriminator(b"12345678")), **changed)  # type: ignore[arg-type]
    return ProgramModel(
        name="small",
        address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
        instructions=(ix,),
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (replace(small(), address=None), "only runs at the address that it declares"),
        (replace(small(), instructions=()), "nothing to render"),
        (
            replace(small(), errors=(ErrorCode(2**32 - 1, "Last"),)),
            r"errors\.Last: expected a code below",
        ),
        (
            small(args=(Field("n", Int(64, big_endian=True)),)),
            r"instructions\.go: .* is not borsh",
        ),
        (
            small(args=(Field("n", Option(U64, Int(32), fixed=True)),)),
            r"instructions\.go: .* is not borsh",
        ),
        (
            small(args=(Field("a", Bytes()), Field("b", U8))),
            "come before other arguments",
        ),
        (
            small(discriminator=Discriminator(b"")),
            "does not start with a discriminator",
        ),
        (
            small(discriminator=Discriminator(b"1", offset=4)),
            "does not start with a discriminator",
        ),
        (
            small(discriminator=Discriminator(b"1", size=9)),
            "does not start with a discriminator",
        ),
        (small(disabled="it is broken"), "it is broken"),
        (small(args=(Field("n", Link("Nowhere")),)), "Nowhere"),
        (
            small(
                accounts=(
                    Account(
                        "a", constraints=Constraints(has_one=(("x", "x"),), state="S")
                    ),
                )
            ),
            "the account type 'S' has no form",
        ),
        (
            small(
                accounts=(
                    Account(
                        "a", writable=True, constraints=Constraints(init=Init("payer"))
                    ),
                )
            ),
            "names 'payer', but the instruction has no account of that name",
        ),
        (
            small(
                accounts=(
                    Account("payer", True, True),
                    Account(
                        "a",
                        writable=True,
                        constraints=Constraints(
                            init=Init("payer"),
                            token=TokenConstraint("mint", None, "payer", 6),
                        ),
                    ),
                )
            ),
            "must be called system_program",
        ),
        (
            small(
                accounts=(
                    Account(
                        "a", pda=Pda((AccountSeed(("b",)),)), constraints=Constraints()
                    ),
                )
            ),
            "a seed is an account that this instruction does not always have",
        ),
        (
            small(
                accounts=(
                    Account(
                        "a", pda=Pda((ArgSeed(("n",)),)), constraints=Constraints()
                    ),
                )
            ),
            "a seed is an argument that does not exist",
        ),
    ],
)
def test_what_anchor_has_no_form_for_is_refused(
    model: ProgramModel, message: str
) -> None:
    with pytest.raises(RenderError, match=message):
        anchor_view(model, lossless=False)


def test_types_have_borsh_forms() -> None:
    shape = Enum(
        (
            Variant("None"),
            Variant("Point", TupleType((U8, U8))),
            Variant("Box", Struct((Field("w", U8),))),
        )
    )
    tree = Struct(
        (
            Field("kids", Array(Link("Tree"), Int(32))),
            Field("next", Option(Link("Tree"))),
        )
    )
    model = replace(
        small(
            args=(
                Field("shape", Link("Shape")),
                Field("tree", Link("Tree")),
                Field("names", Map(BORSH_STRING, U64, Int(32))),
                Field("pair", TupleType((U8,))),
                Field("rest", Bytes()),
            )
        ),
        types=(TypeDef("Shape", shape, shape="enum"), TypeDef("Tree", tree)),
    )
    view = anchor_view(model, lossless=False)
    [ix] = view.instructions
    assert [a.type for a in ix.args] == [
        "Shape",
        "Tree",
        "Vec<(String, u64)>",
        "(u8,)",
        "RemainingBytes",
    ]
    found = {str(t.name): t for t in view.types}
    assert [v.declaration for v in found["Shape"].variants] == [
        "None",
        "Point(u8, u8)",
        "Box { w: u8 }",
    ]
    assert [f.type for f in found["Tree"].fields] == [
        "Vec<Box<Tree>>",
        "Option<Box<Tree>>",
    ]
    assert view.takes_rest


def test_names_that_anchor_uses_are_left_to_it() -> None:
    names = (
        "list_tools",
        "context",
        "type",
        "swap_v2",
        "swapV2",
        "ok",
        "self",
        "processor",
    )
    instructions = tuple(
        Instruction(n, Discriminator(bytes([i + 1]) * 8)) for i, n in enumerate(names)
    )
    view = anchor_view(replace(small(), instructions=instructions), lossless=False)
    assert [str(ix.name) for ix in view.instructions] == [
        "list_tools_2",
        "context",
        "type_instruction",
        "swap_v2",
        "swap_v2_2",
        "ok_more",
        "self_2",
        "processor_2",
    ]
    assert len({ix.data for ix in view.instructions}) == len(names)
    assert not {str(ix.struct) for ix in view.instructions} & {"Context", "ListTools"}


def test_errors_of_one_code_become_one_variant() -> None:
    errors = (
        ErrorCode(6000, "First", "a {b}"),
        ErrorCode(6001, "Second"),
        ErrorCode(6000, "Third"),
    )
    view = anchor_view(replace(small(), errors=errors), lossless=False)
    assert [(str(e.name), str(e.code)) for e in view.errors] == [
        ("First", "6000"),
        ("Second", "6001"),
    ]
    assert view.errors[0].message == '"a {{b}}"'


# --- what attacking every constraint found (tests/functional/attack_spec.py) ------------------------------------------


def everything() -> ProgramModel:
    return read_spec(REPO / "tests/functional/attack_spec.py")


def test_anchor_asks_a_wallet_that_signs_who_owns_it() -> None:
    files = {
        p.path: p.data.decode("utf-8", "replace")
        for p in anchor_plan(anchor_view(everything()))
    }
    lines = files["src/instructions/checks.rs"].splitlines()
    wallet = next(
        i
        for i, line in enumerate(lines)
        if line.strip() == "pub wallet: Signer<'info>,"
    )
    assert "AccountNotSystemOwned" in lines[wallet - 1]


def test_anchor_takes_what_making_a_mint_needs() -> None:
    feature = "token_2022_extensions"
    assert feature in next(
        p.data.decode()
        for p in anchor_plan(anchor_view(everything()))
        if p.path == "Cargo.toml"
    )
    vault = read_spec(REPO / "programs/vault/spec.py")
    assert feature not in next(
        p.data.decode()
        for p in anchor_plan(anchor_view(vault))
        if p.path == "Cargo.toml"
    )


def test_native_asks_in_its_own_words_whether_an_optional_account_is_there() -> None:
    files = {
        p.path: p.data.decode("utf-8", "replace")
        for p in plan(crate_view(everything(), NATIVE))
    }
    assert (
        "Some(maybe).filter(|account| account.key != program_id)"
        in files["src/instruction/checks.rs"]
    )


BOTH_TOKEN_PROGRAMS = '''
from mcpsol_py.spec import (
    Mint, Mut, Ref, Signer, Token2022Program, TokenAccount, TokenProgram, instruction, mint, program, token,
)


@program(name="both", address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Both:
    """Tokens of both programs."""

    @instruction
    def swap(
        self,
        old: Ref[Mint, mint(program="token_program")],
        new: Mut[TokenAccount, token(program="token_2022_program")],
        owner: Signer,
        token_program: TokenProgram,
        token_2022_program: Token2022Program,
    ) -> None:
        """Swap."""
'''


def test_tokens_of_both_programs_have_one_type_in_anchor(tmp_path: Path) -> None:
    (tmp_path / "spec.py").write_text(BOTH_TOKEN_PROGRAMS, encoding="utf-8")
    (accounts,) = (
        ix.accounts for ix in anchor_view(read_spec(tmp_path / "spec.py")).instructions
    )
    old, new = accounts.fields[:2]
    assert old.type == "Box<InterfaceAccount<'info, Mint>>"
    assert old.attribute == ("#[account(mint::token_program = token_program)]",)
    assert new.type == "Box<InterfaceAccount<'info, TokenAccount>>"
    assert "token::token_program = token_2022_program" in "".join(new.attribute)
    assert not {path for path in accounts.uses if path.endswith("token::Mint")}
