"""Handlers that are made from bodies: beside those by hand, for every target, and never over one of the author's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mcpsol_py.errors import EditedByHand, RenderError
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.render import render
from mcpsol_py.sources.spec import read_spec

HEAD = '''\
from mcpsol_py.spec import *
from mcpsol_py.spec import u8, u64, i64

LIMIT = u64(1000)


def part(amount: u64, bps: u64) -> u64:
    with overflow(Fees.TooMuch):
        return amount * bps // 10_000


def must_be_some(amount: u64) -> None:
    require(amount > 0, Fees.Nothing)


@program(name="fees", address="J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")
class Fees:
    class State(Account):
        owner: Pubkey
        total: u64
        paid_at: i64
        is_open: bool

    class Taken(Event):
        amount: u64

    Nothing = error("Nothing is there")
    TooMuch = error("That is too much")

    @instruction
    def take(
        self,
        state: Mut[State, seeds(b"state")],
        tokens: Mut[TokenAccount, token(authority="state")],
        to: Mut[TokenAccount, ...],
        token_program: TokenProgram,
        amount: u64,
        match: bool,
    ) -> u64:
        """Take a fee."""
BODY = """
'''
HEAD = HEAD.replace('BODY = """\n', "")
TAKE = """\
        must_be_some(amount)
        require(state.is_open and state.owner == tokens.address or match, self.Nothing)
        with overflow(self.TooMuch):
            fee = part(amount, u64(30))
            if fee > LIMIT:
                taken = LIMIT
            else:
                taken = fee
            state.total += taken
        if state.total > 5:
            token_program.transfer(source=tokens, destination=to, authority=state, amount=state.total)
            emit(self.Taken(amount=state.total))
        state.paid_at = Clock.get().unix_timestamp
        return taken
"""
BY_HAND = '''
    @instruction
    def give(self, state: Mut[State, ...], amount: u64) -> None:
        """Give it back."""
'''


def model(folder: Path, text: str) -> ProgramModel:
    folder.mkdir(exist_ok=True)
    (folder / "spec.py").write_text(text, encoding="utf-8")
    return read_spec(folder / "spec.py")


@pytest.fixture
def mixed(tmp_path: Path) -> ProgramModel:
    return model(tmp_path / "source", HEAD + TAKE + BY_HAND)


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_both_kinds_of_handler_mix(
    target: str, mixed: ProgramModel, tmp_path: Path
) -> None:
    out = tmp_path / "crate"
    result = render(mixed, target=target, out=out)
    assert {"src/processor/take.rs", "src/processor/give.rs", "src/helpers.rs"} <= set(
        result.written
    )
    take = (out / "src/processor/take.rs").read_text()
    assert take.startswith("// Rendered by idl2mcp")
    assert "crate::helpers::must_be_some(" in take
    give = out / "src/processor/give.rs"
    assert not give.read_text().startswith("// Rendered by idl2mcp")
    give.write_text("// mine\n")
    again = render(mixed, target=target, out=out)
    assert set(again.kept) == {"Cargo.toml", "src/processor/give.rs"}
    assert give.read_text() == "// mine\n"
    assert (out / "src/processor/take.rs").read_text() == take


def test_a_handler_by_hand_is_never_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "crate"
    render(model(tmp_path / "source", HEAD + BY_HAND), out=out)
    mine = out / "src/processor/take.rs"
    mine.write_text("// mine\n")
    with pytest.raises(
        RenderError, match=r"src/processor/take\.rs was written by hand"
    ):
        render(model(tmp_path / "source", HEAD + TAKE + BY_HAND), out=out)
    assert mine.read_text() == "// mine\n"
    assert not (out / "src/helpers.rs").exists()


def test_an_edited_handler_of_a_body_is_not_overwritten(
    mixed: ProgramModel, tmp_path: Path
) -> None:
    out = tmp_path / "crate"
    render(mixed, out=out)
    take = out / "src/processor/take.rs"
    take.write_text(take.read_text() + "// more\n")
    with pytest.raises(EditedByHand, match=r"src/processor/take\.rs"):
        render(mixed, out=out)


def test_without_its_body_a_handler_becomes_the_authors(
    mixed: ProgramModel, tmp_path: Path
) -> None:
    out = tmp_path / "crate"
    render(mixed, out=out)
    take = out / "src/processor/take.rs"
    made = take.read_text()
    result = render(replace(mixed, bodies=None), out=out)
    assert "src/processor/take.rs" in result.kept
    assert take.read_text() == made.split("\n", 1)[1]


def test_state_is_given_back_before_a_call(mixed: ProgramModel, tmp_path: Path) -> None:
    """The called program looks at the account itself, and a borrow that is open makes the call fail."""
    render(mixed, out=tmp_path)
    take = (tmp_path / "src/processor/take.rs").read_text()
    before, after = take.split(".invoke_signed(")
    assert before.count("try_borrow") == before.count("drop(")
    # The event reads the state, then the body writes it.
    assert after.count("try_borrow") == 2


@pytest.mark.parametrize(
    ("target", "check"),
    [
        ("pinocchio", "checks::different(accounts.state, accounts.other)?;"),
        ("native", "checks::different(accounts.state, accounts.other)?;"),
        ("anchor", "require_keys_neq!("),
    ],
)
def test_what_is_written_is_not_read_under_another_name(
    target: str, check: str, tmp_path: Path
) -> None:
    text = HEAD.replace(
        "        to: Mut", "        other: Ref[State, ...],\n        to: Mut"
    )

    def handler(body: str) -> str:
        render(model(tmp_path, text + body), target=target, out=tmp_path)
        made = (tmp_path / "src/processor/take.rs").read_text()
        return made.replace("accounts.state_2", "accounts.state")

    assert check in handler(
        "        state.total = other.total\n        return amount\n"
    )
    assert check not in handler("        return other.total + state.total\n")


def test_state_that_a_helper_writes_is_not_read_under_another_name(
    tmp_path: Path,
) -> None:
    helper = """\
def copy(to: "Mut[Fees.State, ...]", of: "Fees.State") -> None:
    to.total = of.total


@program"""
    text = HEAD.replace(
        "        to: Mut", "        other: Ref[State, ...],\n        to: Mut"
    )
    text = text.replace("@program", helper, 1)
    body = "        copy(state, other)\n        return amount\n"
    render(model(tmp_path, text + body), out=tmp_path)
    made = (tmp_path / "src/processor/take.rs").read_text()
    assert "checks::different(accounts.state_2, accounts.other)?;" in made or (
        "checks::different(accounts.state, accounts.other)?;" in made
    )
    assert (
        "pub fn copy(to: &mut crate::state::State, of: &crate::state::State)"
        in (tmp_path / "src/helpers.rs").read_text()
    )


DATA = """
    @instruction
    def peek(self, a: Mut[Unchecked, ...], sysvar: Instructions, state: Mut[State, ...]) -> u64:
        d = a.data
        require(a.program == state.owner and d[:2] == b"ab", self.Nothing)
        require(sysvar.program_at(sysvar.current_index) != d.pubkey(8), self.Nothing)
        state.total = weigh(d, a.address, state.owner, u64(d[4]), state)
        return sysvar.data_at(0).u64(len_of(d)) + u64(d[2:][0])
"""
HELPERS = """\
def len_of(d: Data) -> u64:
    return u64(len(d))


def weigh(d: Data, one: Pubkey, other: Pubkey, at: u64, state: "Fees.State") -> u64:
    return d.u64(at) if one == other else state.total


@program"""


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_data_is_read_by_one_module(target: str, tmp_path: Path) -> None:
    text = HEAD.replace("@program", HELPERS, 1) + TAKE + DATA
    result = render(
        model(tmp_path / "source", text), target=target, out=tmp_path / "crate"
    )
    assert "src/bytes.rs" in result.written
    source = tmp_path / "crate/src"
    assert "pub mod bytes;" in (source / "lib.rs").read_text()
    helpers = (source / "helpers.rs").read_text()
    # More words than the SVM has registers.
    assert "(d, one, other, at, state): (&[u8], " in helpers
    assert "pub fn len_of(d: &[u8])" in helpers
    peek = " ".join((source / "processor/peek.rs").read_text().split())
    assert "crate::bytes::read::<2>(d, 0)? == [0x61, 0x62]" in peek
    # Large accounts are boxed, and their `as_ref` is another one.
    if target == "anchor":
        assert "crate::bytes::of(&ctx.accounts.a.to_account_info())" in peek


LISTS = """
    @instruction
    def split(self, owner: Signer, *others: Unchecked, parts: list[Part], hash: Array[u8, 32]) -> u64:
        require(sha256(parts, owner.address) == hash, self.Nothing)
        found = largest(parts)
        for i, other in enumerate(others):
            if other.address == owner.address:
                found += u64(i)
        return found + u64(len(parts))
"""
LARGEST = """\
class Part(Struct):
    to: Pubkey
    bps: u16


def largest(parts: list[Part]) -> u64:
    found = u16(0)
    for part in parts:
        if is_on_curve(part.to):
            found = max(found, part.bps)
    return u64(found)


@program"""
WITH_PARTS = HEAD.replace("import u8, u64, i64", "import u8, u16, u64, i64")
WITH_PARTS = WITH_PARTS.replace("@program", LARGEST, 1)


@pytest.mark.parametrize(
    ("target", "accounts", "parts"),
    [
        ("pinocchio", "accounts.remaining", "args.parts"),
        ("native", "accounts.remaining", "args.parts"),
        ("anchor", "ctx.remaining_accounts", "parts"),
    ],
)
def test_lists_are_gone_over_in_place(
    target: str, accounts: str, parts: str, tmp_path: Path
) -> None:
    text = WITH_PARTS + TAKE + LISTS
    result = render(
        model(tmp_path / "source", text), target=target, out=tmp_path / "crate"
    )
    assert {"src/hash.rs", "src/items.rs"} <= set(result.written)
    source = tmp_path / "crate/src"
    split = " ".join((source / "processor/split.rs").read_text().split())
    assert f"for (i, other) in (0_u64..).zip({accounts}.iter()) {{" in split
    if target == "anchor":  # so that one call can use both kinds of accounts
        assert "Context<'info, Split<'info>>" in split
    assert f"crate::items::count({parts}.iter())" in split
    assert f"crate::helpers::largest(&{parts}[..])?" in split
    helpers = (source / "helpers.rs").read_text()
    assert "pub fn largest(parts: &[crate::types::Part])" in helpers
    assert "is_on_curve()" in helpers


QUANTIFIED = """
    @instruction
    def judge(self, *held: State, parts: list[Part], flags: list[bool], owner: Pubkey) -> bool:
        if all(flags):
            return any(s.owner == owner for s in held)
        return all(
            u64(i) < u64(len(flags)) or u64(part.bps) + 1 == 7
            for i, part in enumerate(parts)
            if part.to != owner and all(s.is_open for s in held)
        )
"""


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_conditions_on_items_are_closures(target: str, tmp_path: Path) -> None:
    text = WITH_PARTS + TAKE + QUANTIFIED
    render(model(tmp_path / "source", text), target=target, out=tmp_path / "crate")
    source = tmp_path / "crate/src"
    made = " ".join((source / "processor/judge.rs").read_text().split())
    assert "flags.iter().copied(), Ok)?" in made
    assert ".iter(), |s| { let " in made  # the state of each is borrowed for its turn
    assert "(0_u64..).zip(" in made
    assert ".checked_add(1) .ok_or(ProgramError::ArithmeticOverflow)?" in made
    items = (source / "items.rs").read_text()
    assert "pub fn all<T>(" in items
    assert "pub fn any<T>(" in items
    assert "pub fn zip<" not in items


@pytest.mark.parametrize("name", ["items", "hash", "helpers"])
def test_a_program_may_have_the_name_of_a_module_of_its_crate(
    name: str, tmp_path: Path
) -> None:
    text = WITH_PARTS.replace('name="fees"', f'name="{name}"')
    made = model(tmp_path / "source", text + TAKE + LISTS)
    render(made, target="anchor", out=tmp_path / "crate")
    lib = (tmp_path / "crate/src/lib.rs").read_text()
    modules = re.findall(r"^pub mod (\w+)", lib, re.M)
    assert name in modules
    assert len(modules) == len(set(modules)), modules


INNER = """
    @instruction
    def judge(
        self,
        state: Mut[State, ...],
        event_authority: Ref[Unchecked, seeds(b"event_authority")],
        this: Ref[ProgramAccount, address("J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")],
        who: Pubkey | None,
        it: Pubkey,
        keys: list[Pubkey],
        part: Part,
    ) -> bool:
        put(state, part)
        bytes = state.total
        emit_cpi(self.Taken(amount=bytes), authority=event_authority, program=this)
        return any(who == it_ for it_ in keys) or who == it

    @instruction(discriminator=b"\\xe4")
    def take_event(self, event_authority: Ref[Signer, seeds(b"event_authority")], event: RemainingBytes) -> None:
        return
"""
PUT = """\
class Part(Struct):
    to: Pubkey
    bps: u16


def put(value: "Mut[Fees.State, ...]", part: Part) -> None:
    value.best = part


@program"""


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_values_inside_expressions_have_names_of_their_own(
    target: str, tmp_path: Path
) -> None:
    """An argument, a parameter or a variable may have the name that such a value usually has."""
    text = HEAD.replace("import u8, u64, i64", "import u8, u16, u64, i64")
    text = text.replace("@program", PUT, 1).replace(
        "is_open: bool", "is_open: bool\n        best: Part", 1
    )
    made = text + TAKE + INNER
    render(model(tmp_path / "source", made), target=target, out=tmp_path / "crate")
    source = tmp_path / "crate/src"
    judge = " ".join((source / "processor/judge.rs").read_text().split())
    helpers = " ".join((source / "helpers.rs").read_text().split())
    if target == "anchor":  # arguments are variables there
        assert "|it_2| { Ok(who.is_some_and(|it_3| &it_3 == &it_2)) }" in judge
        assert "who.is_some_and(|it_3| &it_3 == &it)" in judge
    else:
        assert "|it_2|" in judge
        assert "let mut bytes_2 = " in judge
        assert "let value_2 = " in helpers


def test_a_divisor_that_may_be_zero_stays_in_its_turn(tmp_path: Path) -> None:
    """LLVM would move its division out of a loop, before the check that it is not zero."""
    divide = """
    @instruction
    def divide(self, state: Ref[State, ...], amount: u64, wide: u128) -> u64:
        return amount // state.total + amount % 10 + u64(wide // u128(amount))
"""
    text = HEAD.replace("import u8, u64, i64", "import u8, u64, u128, i64")
    render(model(tmp_path / "source", text + TAKE + divide), out=tmp_path / "crate")
    made = (tmp_path / "crate/src/processor/divide.rs").read_text()
    made = "".join(made.split())
    assert ".checked_div(core::hint::black_box(state_state.total.get()))" in made
    assert ".checked_rem(10)" in made
    assert ".checked_div(u128::from(args.amount))" in made  # this is a call


def test_a_negation_and_the_clock_are_what_the_body_names(tmp_path: Path) -> None:
    late = """
    @instruction
    def late(self, gain: i64) -> u64:
        with overflow(self.TooMuch):
            loss = -gain
        require(loss > 0, self.Nothing)
        return Clock.get().slot + Clock.get().epoch * 2
"""
    render(model(tmp_path / "source", HEAD + TAKE + late), out=tmp_path / "crate")
    made = (tmp_path / "crate/src/processor/late.rs").read_text()
    made = "".join(made.split())
    assert ".checked_neg().ok_or(FeesError::TooMuch)?" in made
    assert ".slot.checked_add(" in made
    assert ".epoch.checked_mul(2)" in made


@pytest.mark.parametrize("target", ["pinocchio", "native"])
def test_items_that_a_body_hashes_can_be_written(target: str, tmp_path: Path) -> None:
    """Other types that only arguments use are read alone."""
    text = WITH_PARTS + TAKE + LISTS
    written = {}
    for name, spec in {
        "hashed": text,
        "read": text.replace("sha256(parts, owner.address)", "hash"),
    }.items():
        render(
            model(tmp_path / f"{name}_source", spec),
            target=target,
            out=tmp_path / name,
        )
        types = (tmp_path / name / "src/types.rs").read_text()
        part = types.partition("impl Part ")[2].partition("\n}\n")[0]
        written[name] = "fn encode(" in part
    assert written == {"hashed": True, "read": False}


def test_a_crate_whose_bodies_read_no_data_has_no_such_module(
    mixed: ProgramModel, tmp_path: Path
) -> None:
    result = render(mixed, out=tmp_path)
    assert "src/bytes.rs" not in result.written


def test_a_method_with_only_pass_is_by_hand(tmp_path: Path) -> None:
    text = HEAD + "        pass\n        ...\n"
    assert model(tmp_path, text).bodies is None


def test_bodies_are_no_part_of_the_schema(mixed: ProgramModel) -> None:
    assert mixed == replace(mixed, bodies=None)


@pytest.mark.parametrize(
    ("line", "rust"),
    [
        ("require((amount | 3) & 8 == 0, self.Nothing)", "(amount | 3) & 8"),
        ("require(amount & (3 | amount) == 0, self.Nothing)", "amount & (3_u64 | "),
        (
            "require((state.is_open or match) and match, self.Nothing)",
            " || match_field) && match_field",
        ),
        (
            "require(match and (match or state.is_open), self.Nothing)",
            "match_field && (match_field || ",
        ),
    ],
)
def test_parts_of_an_operator_keep_their_parentheses(
    line: str, rust: str, tmp_path: Path
) -> None:
    source = model(
        tmp_path / "source", f"{HEAD}        {line}\n        return amount\n"
    )
    render(source, target="anchor", out=tmp_path / "crate")
    text = (tmp_path / "crate/src/processor/take.rs").read_text()
    shown = (
        " ".join(text.split())
        .replace("( ", "(")
        .replace(" )", ")")
        .replace("args.", "")
    )
    assert rust in shown, shown


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
@pytest.mark.parametrize("sign", ["==", "!="])
def test_a_delegate_is_compared_with_what_may_fail(
    target: str, sign: str, tmp_path: Path
) -> None:
    """Reading the other address may end the handler, which a closure cannot."""
    text = """
    @instruction
    def peek(self, a: TokenAccount, b: Unchecked, who: Pubkey) -> u64:
        if a.delegate SIGN b.data.pubkey(8):
            return u64(1)
        return u64(2) if a.delegate SIGN who else u64(3)
"""
    source = model(tmp_path / "source", HEAD + TAKE + text.replace("SIGN", sign))
    render(source, target=target, out=tmp_path / "crate")
    peek = " ".join((tmp_path / "crate/src/processor/peek.rs").read_text().split())
    failing, safe = (line.partition("{")[0] for line in peek.split(" if ")[1:])
    assert " == Some(*crate::bytes::address(" in failing
    assert "?" not in safe.partition(".is_some_and(|it| ")[2]


def test_anchor_creates_the_associated_account_that_is_named(tmp_path: Path) -> None:
    """The call of anchor_spl derives an address, whatever account it is given."""
    text = '''
    @instruction
    def make(
        self, payer: Payer, loose: Mut[Unchecked, ...], wallet: Unchecked, mint: Mint,
        associated: AssociatedTokenProgram, system_program: SystemProgram, token_program: TokenProgram,
    ) -> None:
        """Make an account."""
        associated.create_idempotent(
            payer=payer, account=loose, owner=wallet, mint=mint,
            system_program=system_program, token_program=token_program,
        )
'''
    source = model(tmp_path / "source", HEAD + TAKE + text)
    render(source, target="anchor", out=tmp_path / "crate")
    make = (tmp_path / "crate/src/processor/make.rs").read_text()
    make = " ".join(make.split())
    accounts = make.partition("crate::associated::create_idempotent(")[2]
    order = ("payer", "loose", "wallet", "mint", "system_program", "token_program")
    found = [accounts.index(f"ctx.accounts.{name}.to_account_info()") for name in order]
    assert found == sorted(found)
    module = (tmp_path / "crate/src/associated.rs").read_text()
    assert "pubkey: *account.key" in module


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_flags_are_those_of_the_body(target: str, tmp_path: Path) -> None:
    """`take` returns True or False alone, so that each is seen in its handler."""
    made = []
    for flag in ("True", "False"):
        text = HEAD.replace('-> u64:\n        """Take', '-> bool:\n        """Take')
        source = model(tmp_path / f"source{flag}", f"{text}        return {flag}\n")
        out = tmp_path / f"crate{flag}"
        render(source, target=target, out=out)
        text = (out / "src/processor/take.rs").read_text(encoding="utf-8")
        made.append(text.partition("\n")[2])  # the first line has a digest
    assert "Ok(true)" in made[0]
    assert made[1] == made[0].replace("Ok(true)", "Ok(false)")
