"""The spec language: what a spec means as a model, and how its mistakes are told."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from hashlib import sha256
from pathlib import Path

import pytest

from mcpsol_py.errors import (
    InvalidProgram,
    SourceError,
    UnresolvedName,
    UnsupportedType,
)
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountGroup,
    AccountSeed,
    ArgSeed,
    Constraints,
    ConstSeed,
    Init,
    Instruction,
    ProgramModel,
    TokenConstraint,
)
from mcpsol_py.model.types import (
    BOOL,
    BORSH_BYTES,
    BORSH_STRING,
    F32,
    F64,
    I256,
    PUBKEY,
    U8,
    U16,
    U32,
    U64,
    U128,
    Array,
    Bytes,
    Enum,
    Link,
    Map,
    Option,
    Set,
    Struct,
    Tuple,
    vec,
)
from mcpsol_py.sources.spec import read_spec

REPO = Path(__file__).resolve().parents[3]

LEVEL = """\
from mcpsol_py.spec import *
class Level(Enum, tag=u16):
    Low = 1
    Mid = variant()
    High = 300
"""
HEAD = """\
from mcpsol_py.spec import *

@program(name="demo")
class Demo:
"""


def spec(tmp_path: Path, body: str, head: str = HEAD) -> ProgramModel:
    path = tmp_path / "demo.py"
    path.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
    return read_spec(path)


def one(tmp_path: Path, body: str) -> Instruction:
    return spec(tmp_path, body).instructions[0]


# --- what a spec means ------------------------------------------------------------------------------------------------


def test_every_type_of_the_language(tmp_path: Path) -> None:
    ix = one(
        tmp_path,
        """
        class Point(Struct):
            x: i64
            y: i64
        class Side(Enum):
            Bid = variant()
            Move = variant(u64, Pubkey)
            Buy = variant(price=u64, size=u16)
        @instruction
        def all(self, a: u8, b: i256, c: f32, d: f64, e: bool, f: str, g: bytes, h: Pubkey, i: list[u64],
            j: Array[u8, 32], k: u64 | None, l: COption[Pubkey], m: tuple[u8, bool], n: dict[str, u128], o: set[u16],
            p: Point, q: Side, r: list[Array[Point, 2]], s: u64 = u64(5)) -> None: ...
        """,
    )
    types = [a.type for a in ix.args]
    assert types == [
        *(U8, I256, F32, F64, BOOL, BORSH_STRING, BORSH_BYTES, PUBKEY, vec(U64)),
        *(
            Array(U8, 32),
            Option(U64),
            Option(PUBKEY, U32, fixed=True),
            Tuple((U8, BOOL)),
            Map(BORSH_STRING, U128, U32),
        ),
        *(
            Set(U16, U32),
            Link("Point"),
            Link("Side"),
            vec(Array(Link("Point"), 2)),
            U64,
        ),
    ]
    default = ix.args[-1].default
    assert default is not None
    assert default.value == 5


def test_structs_enums_state_and_events(tmp_path: Path) -> None:
    model = spec(
        tmp_path,
        """
        class State(Account):
            '''What is kept.

            Attributes:
                level: How high.
            '''
            level: Level
            owner: Pubkey
        class Custom(Account, discriminator=b"\\x07"):
            name: str
        class Done(Event):
            level: Level
        @instruction
        def go(self, state: State, custom: Custom) -> None: ...
        """,
        LEVEL + HEAD,
    )
    by_name = {t.name: t for t in model.types}
    level = by_name["Level"].type
    assert isinstance(level, Enum)
    assert (level.tag, [v.value for v in level.variants]) == (U16, [1, 2, 300])
    state, custom = model.accounts
    assert state.discriminator.value == sha256(b"account:State").digest()[:8]
    assert (state.size, custom.size) == (8 + 2 + 32, None)
    assert custom.discriminator.value == b"\x07"
    body = by_name["State"].type
    assert isinstance(body, Struct)
    assert body.fields[0].docs == ("How high.",)
    [event] = model.events
    assert event.discriminator.value == sha256(b"event:Done").digest()[:8]
    assert (
        model.instructions[0].discriminator.value == sha256(b"global:go").digest()[:8]
    )


def test_constraints_become_the_models(tmp_path: Path) -> None:
    model = spec(
        tmp_path,
        """
        Wrong = error("Not yours")
        Late = error("Too late", code=7000)
        class State(Account):
            owner: Pubkey
            bump: u8
        class Pair(Group):
            signer_one: Signer
            state: "State"
        @instruction(when="at the start")
        def make(self, state: Mut[State, init(payer="payer"), seeds(b"s", "payer", "index", bump="bump")], payer: Payer,
                 system_program: SystemProgram, index: u64) -> None: ...
        @instruction
        def change(self, state: Mut[State, has_one("owner", error=Wrong), close("to")], owner: Signer,
                   to: Mut[Wallet, ...], pair: Pair,
                   maybe: Signer | None, holder: Ref[TokenAccount, token(mint="mint", authority="owner")],
                   mint: Ref[Mint, mint(decimals=6)], clock: Clock, *voters: Signer) -> None: ...
        """,
    )
    make, change = model.instructions
    state = make.accounts[0]
    assert isinstance(state, Account)
    assert state.constraints is not None
    assert state.constraints.init == Init("payer")
    assert state.pda is not None
    assert state.pda.seeds == (
        ConstSeed(b"s"),
        AccountSeed(("payer",)),
        ArgSeed(("index",), U64),
    )
    assert state.pda.bump == "bump"
    assert make.hints == (("when", "at the start"),)
    state, owner, to, pair, maybe, holder, mint, clock = change.accounts
    assert isinstance(state, Account)
    assert state.constraints == Constraints(
        state="State",
        has_one=(("owner", "owner"),),
        close="to",
        errors=(("has_one:owner", "Wrong"),),
    )
    assert isinstance(owner, Account)
    assert (owner.signer, owner.writable) == (True, False)
    assert isinstance(to, Account)
    assert to.writable
    assert to.constraints is not None
    assert to.constraints.owner == "11111111111111111111111111111111"
    assert isinstance(pair, AccountGroup)
    assert [a.name for a in pair.accounts] == ["signer_one", "state"]
    assert isinstance(maybe, Account)
    assert maybe.optional
    assert isinstance(holder, Account)
    assert holder.constraints is not None
    assert holder.constraints.token == TokenConstraint("account", "mint", "owner")
    assert isinstance(mint, Account)
    assert mint.constraints is not None
    assert mint.constraints.token == TokenConstraint("mint", decimals=6)
    assert isinstance(clock, Account)
    assert clock.address == "SysvarC1ock11111111111111111111111111111111"
    assert [(r.name, r.signer) for r in change.remaining] == [("voters", True)]
    assert [(e.code, e.name) for e in model.errors] == [(6000, "Wrong"), (7000, "Late")]


def test_either_token_program_own_errors_for_kinds_and_bytes_that_are_left(
    tmp_path: Path,
) -> None:
    ix = one(
        tmp_path,
        """
        Unsigned = error("Sign it")
        Strange = error("No token program")
        @instruction
        def go(self, who: Ref[Signer, otherwise(signer=Unsigned)],
               token_program: Ref[TokenInterface, otherwise(address=Strange)],
               purse: Mut[TokenAccount, token(authority="who")], more: RemainingBytes) -> None: ...
        """,
    )
    who, program, _ = ix.accounts
    assert isinstance(who, Account)
    assert who.constraints == Constraints(errors=(("signer", "Unsigned"),))
    assert isinstance(program, Account)
    assert program.address is None
    assert program.constraints == Constraints(
        executable=True,
        one_of=(
            "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
            "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
        ),
        errors=(("address", "Strange"),),
    )
    assert [a.type for a in ix.args] == [Bytes()]


def test_a_file_is_read_again_with_errors_of_its_own(tmp_path: Path) -> None:
    """typing keeps `Ref[...]` of equal parts, so the second reading meets the first one's errors in its annotations."""
    body = """
        Unsigned = error("Sign it")
        @instruction
        def go(self, who: Ref[Signer, otherwise(signer=Unsigned)]) -> None: ...
        """
    assert one(tmp_path, body) == one(tmp_path, body)


def test_docstrings_tell_agents_what_it_does_when_and_in_which_units(
    tmp_path: Path,
) -> None:
    ix = one(
        tmp_path,
        '''
        @instruction
        def pay(self, payer: Payer, amount: u64) -> None:
            """Pay somebody.

            Nothing comes back.

            When to use:
                When a bill is due,
                and only then.

            Args:
                payer: Who pays.
                amount (lamports): How much,
                    fees not counted.
            """
        ''',
    )
    assert ix.docs == ("Pay somebody.", "", "Nothing comes back.")
    assert ix.hints == (
        ("when", "When a bill is due, and only then."),
        ("unit:amount", "lamports"),
    )
    assert ix.args[0].docs == ("How much, fees not counted.",)
    payer = ix.accounts[0]
    assert isinstance(payer, Account)
    assert payer.docs == ("Who pays.",)


def test_annotations_may_be_strings(tmp_path: Path) -> None:
    model = spec(
        tmp_path,
        """
        class State(Account):
            owner: Pubkey
        @instruction
        def close(self, state: Mut[State, has_one("owner"), close("owner")], owner: Payer) -> None: ...
        @instruction
        def go(self, state: Mut[State, has_one("owner"), close("owner")], owner: Payer) -> None: ...
        """,
        "from __future__ import annotations\n" + HEAD,
    )
    assert model.instructions[0].accounts == model.instructions[1].accounts


def test_a_class_a_module_and_a_file_give_the_same_model() -> None:
    sys.path.insert(0, str(REPO))
    try:
        by_name = read_spec("programs.counter.spec:Counter")
        module = sys.modules["programs.counter.spec"]
    finally:
        sys.path.remove(str(REPO))
    assert (
        read_spec(module)
        == by_name
        == read_spec(module.Counter)
        == read_spec(REPO / "programs/counter/spec.py")
    )


def test_reading_a_file_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    spec(tmp_path, "@instruction\ndef go(self) -> None: ...")
    assert {
        m for m in set(sys.modules) - before if m.startswith("mcpsol_spec_")
    } == set()
    assert [p.name for p in tmp_path.iterdir()] == ["demo.py"]


# --- mistakes ---------------------------------------------------------------------------------------------------------

MISTAKES = {
    "plain int": ("def go(self, amount: int): ...", "go.amount", "int has no width"),
    "no annotation": (
        "def go(self, amount): ...",
        "go.amount",
        "the parameter has no type",
    ),
    "unknown name in has_one": (
        'def go(self, s: Mut[S, has_one("authority")], authorty: Signer): ...',
        "go.s",
        "no field of S named 'authority'",
    ),
    "has_one on a number": (
        'def go(self, s: Mut[S, has_one("count")], count: Signer): ...',
        "go.s",
        "compares addresses",
    ),
    "has_one without account": (
        'def go(self, s: Mut[S, has_one("owner")]): ...',
        "go.s",
        "no account named 'owner'",
    ),
    "seed of nothing": (
        'def go(self, s: Mut[S, seeds(b"x", "ownr")], owner: Signer): ...',
        "go.s",
        "Did you mean 'owner'",
    ),
    "seed too long": (
        'def go(self, s: Mut[S, seeds(b"' + "x" * 33 + '")]): ...',
        "go.s",
        "at most 32 bytes, not 33",
    ),
    "init without payer": (
        'def go(self, s: Mut[S, init(payer="p")], p: Signer): ...',
        "go.s",
        "so it must be a Payer",
    ),
    "init without system program": (
        'def go(self, s: Mut[S, init(payer="p")], p: Payer): ...',
        "go.s",
        "SystemProgram",
    ),
    "init read-only": (
        'def go(self, s: Ref[S, init(payer="p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "must be Mut",
    ),
    "init if needed": (
        'def go(self, s: Mut[S, init(payer="p", if_needed=True)], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "allow_init_if_needed=True",
    ),
    "init without size": (
        'def go(self, s: Mut[V, init(payer="p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "write init(…, space=…)",
    ),
    "bump is no u8": (
        'def go(self, s: Mut[S, seeds(b"x", bump="count")]): ...',
        "go.s",
        "the bump is kept in a u8",
    ),
    "given bump is no u8": (
        'def go(self, s: Mut[S, seeds(b"x", bump="n")], n: u64): ...',
        "go.s",
        "the bump is given as a u8; 'n' is a u64",
    ),
    "given bump of a new account": (
        'def go(self, s: Mut[S, init(payer="p"), seeds(b"x", bump="n")], p: Payer, sp: SystemProgram, n: u8): ...',
        "go.s",
        "a new account's bump is searched",
    ),
    "one bump for two": (
        'def go(self, a: Ref[Mint, seeds(b"x", bump="n")], s: Mut[S, seeds(b"y", bump="n")], n: u8): ...',
        "go.s",
        "'n' gives another account's bump already",
    ),
    "close to nobody": (
        'def go(self, s: Mut[S, close("me")], me: Signer): ...',
        "go.s",
        "must be Mut or Payer",
    ),
    "constraint without call": (
        "def go(self, s: Mut[S, has_one]): ...",
        "go.s",
        "has_one without ()",
    ),
    "bad address": (
        'def go(self, s: Ref[Unchecked, address("x")]): ...',
        "go.s",
        "is not an address",
    ),
    "token on state": (
        'def go(self, s: Ref[S, token(mint="s")]): ...',
        "go.s",
        "is for a TokenAccount",
    ),
    "has_one of a new account": (
        'def go(self, s: Mut[S, init(payer="owner"), has_one("owner")], owner: Payer, sp: SystemProgram): ...',
        "go.s",
        "init and has_one exclude each other",
    ),
    "owner of a new account": (
        'def go(self, s: Mut[S, init(payer="p"), owner("p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "init and owner exclude each other",
    ),
    "a new account resized": (
        'def go(self, s: Mut[S, init(payer="p"), realloc(99, payer="p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "init and realloc exclude each other",
    ),
    "an account that is created if needed, resized": (
        'def go(self, s: Mut[S, init("p", if_needed=True), realloc(99, "p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "init and realloc exclude each other",
    ),
    "a new account closed": (
        'def go(self, s: Mut[S, init(payer="p"), close("p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "init and close exclude each other",
    ),
    "resized and closed": (
        'def go(self, s: Mut[S, realloc(99, payer="p"), close("p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "realloc and close exclude each other",
    ),
    "too small for its state": (
        'def go(self, s: Mut[S, realloc(9, payer="p")], p: Payer, sp: SystemProgram): ...',
        "go.s",
        "space=9 is too small",
    ),
    "state of another program": (
        'def go(self, s: Ref[S, owner("x")], x: Unchecked): ...',
        "go.s",
        "this program owns its state",
    ),
    "two derivations": (
        'def go(self, t: Mut[TokenAccount, seeds(b"t"), associated("m", "o")], m: Mint, o: Signer): ...',
        "go.t",
        "an account has one address",
    ),
    "derived and fixed": (
        'def go(self, s: Ref[S, seeds(b"t"), address("11111111111111111111111111111111")]): ...',
        "go.s",
        "an account has one address",
    ),
    "two token constraints": (
        'def go(self, t: Mut[TokenAccount, token(mint="m"), associated("m", "o")], m: Mint, o: Signer): ...',
        "go.t",
        "token and associated exclude each other",
    ),
    "a token program of anybody": (
        'def go(self, t: Mut[TokenAccount, token(program="x")], x: Unchecked): ...',
        "go.t",
        "'x' must be a TokenProgram",
    ),
    "a wallet of another owner": (
        'def go(self, w: Ref[Wallet, owner("x")], x: Unchecked): ...',
        "go.w",
        "owned by the system program already",
    ),
    "an error without its check": (
        'def go(self, w: Ref[Unchecked, otherwise(signer=error("x"))]): ...',
        "go.w",
        "is for an account that signs",
    ),
    "an error without an address": (
        'def go(self, w: Ref[Signer, otherwise(address=error("x"))]): ...',
        "go.w",
        "with a fixed address",
    ),
    "executable state": (
        "def go(self, s: Ref[S, executable]): ...",
        "go.s",
        "never executable",
    ),
    "close to itself": (
        'def go(self, s: Mut[S, close("s")]): ...',
        "go.s",
        "cannot get its own lamports",
    ),
    "a system program that may be absent": (
        'def go(self, s: Mut[S, init(payer="p")], p: Payer, sp: SystemProgram | None): ...',
        "go.s",
        "add the parameter `system_program: SystemProgram`",
    ),
    "many token accounts": (
        "def go(self, m: Mint, *xs: Ref[TokenAccount, token(mint='m')]): ...",
        "go.xs",
        "to sign and to be writable, and nothing else",
    ),
    "many wallets": ("def go(self, *xs: Wallet): ...", "go.xs", "and nothing else"),
    "many with an owner": (
        'def go(self, *xs: Ref[Unchecked, owner("11111111111111111111111111111111")]): ...',
        "go.xs",
        "and nothing else",
    ),
    "many programs": (
        "def go(self, *xs: Ref[Unchecked, executable]): ...",
        "go.xs",
        "and nothing else",
    ),
    "many that may be absent": (
        "def go(self, *xs: Signer | None): ...",
        "go.xs",
        "leave `| None` out",
    ),
    "docs of nobody": (
        'def go(self, a: u8):\n    """Go.\n\n    Args:\n        b: What?\n    """',
        "go",
        "'b', which is not a parameter",
    ),
    "a union": (
        "def go(self, a: u8 | u16): ...",
        "go.a",
        "got another union. Use an Enum",
    ),
    "keywords": ("def go(self, **rest: u8): ...", "go.rest", "no **parameters"),
    "no self": ("def go(a: u8): ...", "go", "the first parameter of a method is self"),
    "cls": ("def go(cls, a: u8): ...", "go", "the first parameter of a method is self"),
    "async method": ("async def go(self): ...", "go", "write def"),
    "plain class": (
        "def go(self, p: Plain): ...",
        "go.p",
        "Plain is a plain class: write class Plain(Struct), (Enum) or (Account)",
    ),
    "same in snake_case": (
        "def go(self, aB: u8, a_b: u8): ...",
        "go.a_b",
        "same name in snake_case",
    ),
    "empty discriminator": (
        'def go(self): ...\ngo.mcpsol_instruction = words.InstructionOptions(None, b"")',
        "go",
        "at least one byte",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, case: str) -> None:
    code, path, words = MISTAKES[case]
    state = "class S(Account):\n    owner: Pubkey\n    count: u64\nclass V(Account):\n    name: str\n"
    head = "class Plain: ...\n" if case == "plain class" else ""
    body = f"{state}@instruction\n{code}"
    head += "from mcpsol_py.sources import spec_words as words\n" + HEAD
    with pytest.raises(SourceError) as caught:
        spec(tmp_path, body, head)
    error = caught.value
    assert error.path == f"Demo.{path}"
    line = 13 if case == "plain class" else 12
    assert error.origin == f"{tmp_path / 'demo.py'}:{line}"
    assert words in str(error)


def test_the_file_is_named_as_its_reader_named_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo.py").write_text(
        HEAD + "    @instruction\n    def go(self, amount: int): ...\n"
    )
    with pytest.raises(SourceError) as caught:
        read_spec("demo.py")
    assert caught.value.origin.startswith("demo.py:")
    Path("demo.py").write_text("x = (\n")
    with pytest.raises(SourceError) as caught:
        read_spec("demo.py")
    assert caught.value.origin == "demo.py:1"


def test_a_bump_is_kept_in_state_or_given_by_an_argument(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        """
        class S(Account):
            bump: u8
        @instruction
        def go(self, s: Ref[S, seeds(b"s", bump="bump")], m: Ref[Mint, seeds(b"m", bump="m_bump")], m_bump: u8): ...
        """,
    )
    kept, given = (
        account.pda.bump
        for account in found.accounts
        if isinstance(account, Account) and account.pda
    )
    assert (kept, given) == ("bump", None)
    assert found.arg_values == (("m_bump", AccountBumpValue(("m",))),)


def test_several_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidProgram) as caught:
        spec(
            tmp_path,
            "@instruction\ndef a(self, x: int): ...\n@instruction\ndef b(self, y: float): ...",
        )
    assert [getattr(f, "path", "") for f in caught.value.findings] == [
        "Demo.a.x",
        "Demo.b.y",
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            '@instruction(discriminator=bytes.fromhex("42195e6a55fd41c0"))\ndef a(self): ...',
            "taken by list_tools",
        ),
        (
            '@instruction(discriminator=b"\\x42")\ndef a(self): ...',
            "taken by list_tools",
        ),
        (
            (
                '@instruction(discriminator=b"\\x01")\ndef a(self): ...\n'
                '@instruction(discriminator=b"\\x01\\x02")\ndef b(self): ...'
            ),
            "starts like a's",
        ),
        (
            '@instruction\ndef a(self): ...\n@instruction(name="A")\ndef b(self): ...',
            "starts like a's",
        ),
        (
            (
                'class E(Event, discriminator=b"\\x01"):\n    x: u8\n'
                'class F(Event, discriminator=b"\\x01\\x02"):\n    x: u8\n'
                "@instruction\ndef a(self): ..."
            ),
            "starts like E's",
        ),
        (
            'class E(Event, discriminator=b""):\n    x: u8\n@instruction\ndef a(self): ...',
            "an event needs a discriminator of at least one byte",
        ),
        (
            'X = error("x", code=1)\nY = error("y", code=1)\n@instruction\ndef a(self): ...',
            "code 1 is X's already",
        ),
        ("x = 1", "the program has no instruction"),
        ("def helper(self): ...", "the method has no @instruction"),
        (
            "@instruction\ndef a(self): ...\n@instruction\ndef a(self, x: u8): ...",
            "the name is given twice, first on line ",
        ),
        (
            'X = error("one")\nX = error("two")\n@instruction\ndef a(self): ...',
            "the name is given twice, first on line ",
        ),
        (
            "X = constant(u8, 300)\n@instruction\ndef a(self): ...",
            "300 does not fit u8",
        ),
        (
            "class A(Struct):\n    a: u8\n    a: u16\n@instruction\ndef a(self, x: A): ...",
            "Demo.A.a: the name is given twice, first on line ",
        ),
        (
            "@instruction\ndef a(self): ...\n@staticmethod\ndef b(): ...",
            "the method has no @instruction",
        ),
        ("@property\n@instruction\ndef b(self): ...", "the method has no @instruction"),
        ("class A(Struct):\n    a: 'A'\n@instruction\ndef a(self, x: A): ...", ""),
    ],
)
def test_clashes_are_found(tmp_path: Path, body: str, words: str) -> None:
    if not words:
        # Check() and the codecs tell what is endless.
        assert one(tmp_path, body).args[0].type == Link("A")
        return
    with pytest.raises((SourceError, InvalidProgram)) as caught:
        spec(tmp_path, body)
    assert words in str(caught.value)


def test_an_inherited_instruction_is_not_left_out_without_a_word(
    tmp_path: Path,
) -> None:
    head = HEAD.replace(
        "@program",
        'class Base:\n    @instruction\n    def a(self):\n        """A."""\n\n\n@program',
        1,
    ).replace("class Demo:", "class Demo(Base):")
    with pytest.raises(SourceError, match=r"Base\.a is inherited, and left out"):
        spec(tmp_path, "@instruction\ndef b(self): ...", head)


def test_a_name_inside_the_class_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="do not see each other's names"):
        spec(
            tmp_path,
            "class A(Struct):\n    x: u8\nclass B(Struct):\n    a: A\n@instruction\ndef go(self, b: B): ...",
        )


def test_what_is_no_spec_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file"):
        read_spec(tmp_path / "absent.py")
    path = tmp_path / "bad.py"
    path.write_text("x = (\n")
    with pytest.raises(SourceError) as caught:
        read_spec(path)
    assert caught.value.origin == f"{path}:1"
    path.write_text("import math\n\nmath.sqrt(-1)\n")
    with pytest.raises(SourceError, match="ValueError during its import") as caught:
        read_spec(path)
    assert caught.value.origin == f"{path}:3"
    path.write_text("from mcpsol_py.spec import *\nclass A(Account):\n    x: u65\n")
    with pytest.raises(SourceError, match="Did you mean 'u64'"):
        read_spec(path)
    path.write_text(
        "from mcpsol_py.spec import Account\nclass A(Account):\n    x: u8\n"
    )
    with pytest.raises(SourceError, match="import u8 from mcpsol_py.spec") as caught:
        read_spec(path)
    assert caught.value.origin == f"{path}:3"
    path.write_text("import sys\n\nsys.exit(3)\n")
    with pytest.raises(SourceError, match="SystemExit during its import") as caught:
        read_spec(path)
    assert caught.value.origin == f"{path}:3"
    path.write_text("from mcpsol_py.spec import program\n@program\nclass A: ...\n")
    with pytest.raises(SourceError, match=r"write @program\(name=") as caught:
        read_spec(path)
    assert caught.value.origin == f"{path}:2"
    path.write_text("x = 1\n")
    with pytest.raises(SourceError, match="expected one class with @program, got none"):
        read_spec(path)
    with pytest.raises(SourceError, match="is not a program"):
        read_spec(int)
    with pytest.raises(UnresolvedName):
        read_spec("mcpsol_py.spec:Nothing")


def test_a_type_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedType) as caught:
        one(tmp_path, "@instruction\ndef go(self, a: complex) -> None: ...")
    assert caught.value.found == "complex"


# --- type checkers ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_mypy_strict_accepts_the_committed_specs_and_sees_through_them(
    tmp_path: Path,
) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        'from mcpsol_py.spec import has_one, seeds\nhas_one(5)\nseeds(b"x", 1.5)\n'
    )
    specs = [REPO / "programs/counter/spec.py", REPO / "programs/vault/spec.py"]
    for path in specs:
        done = _mypy(path)
        assert done.returncode == 0, done.stdout
    done = _mypy(wrong)
    assert "wrong.py:2: error" in done.stdout
    assert "wrong.py:3: error" in done.stdout


def _mypy(path: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        str(path),
    ]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=REPO
    )
