"""One instruction's accounts as Rust: what they are called, what is checked in which order, what is created and closed.

Order of the checks, so that a bad call fails as cheaply as it can: number of accounts, signers and what is written,
addresses, owners, the same account twice, state and what its fields must equal, tokens, derived addresses; only then is
anything changed: resized, created. Accounts are closed after the handler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    Constraints,
    ConstSeed,
    ConstValue,
    Instruction,
    Pda,
    ProgramIdSeed,
    ProgramIdValue,
    Seed,
)
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    U8,
    Amount,
    Array,
    Bytes,
    Int,
    SizePrefixed,
    String,
    Struct,
    Type,
)
from mcpsol_py.model.types import Field as ModelField
from mcpsol_py.names import snake
from mcpsol_py.render.addresses import Addresses
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_string, code, doc
from mcpsol_py.render.rust_types import Types
from mcpsol_py.render.state import StateView
from mcpsol_py.render.targets import Target
from mcpsol_py.solana import ids

__all__ = ["AccountsView", "SeedsView", "Slot", "accounts_view", "flatten"]


@dataclass(frozen=True, slots=True)
class Slot:
    """One account: its place in the list, and how the handler sees it."""

    name: Rust
    type: Rust
    build: Rust
    docs: tuple[Rust, ...]
    #: read from the accounts that are left behind the ones that must be there
    is_tail: bool
    #: the program's own id stands for an absent one
    is_optional: bool
    #: then: the account if it is there
    if_there: Rust


@dataclass(frozen=True, slots=True)
class SeedsView:
    """The method that gives the handler the seeds of an account, to sign for it."""

    name: Rust
    account: Rust
    count: Rust
    items: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that validation found out and the handler's accounts keep: a bump, a seed."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]


@dataclass(slots=True)
class AccountsView:
    """All about the accounts of one instruction. Statements are finished lines."""

    slots: tuple[Slot, ...] = ()
    pattern: Rust = Rust("")  # noqa: RUF009  # immutable
    has_tail: bool = False
    needs_some: bool = False
    takes_rest: bool = False
    tail: Rust = Rust("")  # noqa: RUF009  # immutable
    checks: list[Rust] = field(default_factory=list)
    changes: list[Rust] = field(default_factory=list)
    finish: list[Rust] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    seeds: list[SeedsView] = field(default_factory=list)
    states: list[Rust] = field(default_factory=list)
    uses_args: bool = False
    uses_seed: bool = False
    uses_program_id: bool = False
    remaining: bool = False
    remaining_docs: tuple[Rust, ...] = ()
    #: a created or closed account, or a derived address: worth a frame of its own
    is_heavy: bool = False


@dataclass(slots=True)
class _Account:
    path: tuple[str, ...]
    model: Account
    name: Rust
    tail: bool

    @property
    def constraints(self) -> Constraints:
        return self.model.constraints or Constraints()


@dataclass(slots=True)
class _Seed:
    """A seed as an expression during validation, and as one in the handler; `keep` what must be stored for that."""

    check: str
    later: str
    kept: Kept | None = None
    value: str = ""


class _CannotCheck(Exception):
    """An address that the source does not say how to derive; the reason is written where the check would stand."""


def accounts_view(
    ix: Instruction,
    types: Types,
    states: dict[str, StateView],
    error_type: Rust,
    error_names: dict[str, Rust],
    arg_names: dict[str, Rust] | None,
    api: Target,
    addresses: Addresses,
    author: str,
) -> AccountsView:
    """The view of *ix*'s accounts. Raises RenderError where a spec's constraint cannot become code."""
    return _Builder(
        ix, types, states, error_type, error_names, arg_names, api, addresses, author
    ).build()


def flatten(
    items: tuple[AccountItem, ...], prefix: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], Account]]:
    """The accounts in order, each with its path: the groups that it stands in, then its name."""
    out: list[tuple[tuple[str, ...], Account]] = []
    for item in items:
        if isinstance(item, AccountGroup):
            out += flatten(item.accounts, (*prefix, item.name))
        else:
            out.append(((*prefix, item.name), item))
    return out


class _Builder:
    def __init__(
        self,
        ix: Instruction,
        types: Types,
        states: dict[str, StateView],
        error_type: Rust,
        error_names: dict[str, Rust],
        arg_names: dict[str, Rust] | None,
        api: Target,
        addresses: Addresses,
        author: str,
    ) -> None:
        self.api = api
        self.addresses = addresses
        self.author = author
        self.ix = ix
        self.types = types
        self.states = states
        self.error_type = error_type
        self.error_names = error_names
        self.arg_names = arg_names
        self.view = AccountsView()
        self.names = IdentifierPool(
            "program_id", "accounts", "args", "remaining", "rest", "data", "state", "self_"
        )
        flat = flatten(ix.accounts)
        needed = max((i + 1 for i, (_, a) in enumerate(flat) if not a.optional), default=0)
        omitted = ix.optional_accounts == "omitted"
        self.accounts = [
            _Account(path, a, self.names.take("_".join(path)), omitted and i >= needed)
            for i, (path, a) in enumerate(flat)
        ]
        self.by_path = {a.path: a for a in self.accounts}
        self.bumps: dict[tuple[str, ...], str] = {}
        self.seeds_of: dict[tuple[str, ...], list[str]] = {}
        self.captured: dict[tuple[tuple[str, ...], str], str] = {}

    # --- small pieces -------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        self.view.checks.append(code(text))

    def note(self, text: str) -> None:
        """A comment line of our own words."""
        self.view.checks.append(code(f"// {text}"))

    def find(self, name: str, beside: tuple[str, ...]) -> _Account | None:
        for path in ((*beside[:-1], name), (name,), tuple(name.split("."))):
            if path in self.by_path:
                return self.by_path[path]
        return None

    def need(self, name: str, beside: _Account) -> _Account:
        found = self.find(name, beside.path)
        if found is None:
            raise RenderError(
                f"{self.ix.name}.{'.'.join(beside.path)}: its constraint names {name!r}, which is no account here."
            )
        return found

    def fault(self, account: _Account, check: str, otherwise: str) -> str:
        for key, name in account.constraints.errors:
            if key == check and name in self.error_names:
                return f"{self.error_type}::{self.error_names[name]}"
        return f"Check::{otherwise}"

    def constant(self, account: _Account, suffix: str, text: str) -> Rust:
        """A named constant for an address."""
        try:
            name = self.addresses.take(
                text, f"{account.name.removeprefix('r#')}_{suffix}".strip("_")
            )
        except ValueError as error:
            raise RenderError(
                f"{self.ix.name}.{'.'.join(account.path)}: {text!r} is no address: {error}."
            ) from error
        return code(f"ids::{name}")

    def guarded(self, account: _Account, statements: list[str]) -> list[str]:
        """The statements, only run where an optional account is there."""
        if not account.model.optional or not statements:
            return statements
        return [f"if let Some({account.name}) = {account.name}.as_ref() {{", *statements, "}"]

    # --- the whole ----------------------------------------------------------------------------------------------------

    def build(self) -> AccountsView:
        view = self.view
        head = [a for a in self.accounts if not a.tail]
        tail = [a for a in self.accounts if a.tail]
        view.remaining = bool(self.ix.remaining)
        view.remaining_docs = doc(
            d for r in self.ix.remaining for d in (r.docs or (f"The accounts {r.name}.",))
        )
        view.has_tail = bool(tail)
        view.needs_some = bool(head)
        view.takes_rest = bool(tail) or view.remaining
        rest = "rest @ .." if tail or view.remaining else ".."
        view.pattern = code(f"[{', '.join([*(a.name for a in head), rest])}]")
        view.slots = tuple(self.slot(a) for a in self.accounts)
        self.flags()
        self.fixed()
        self.owners()
        self.duplicates()
        self.state_checks()
        self.token_checks()
        self.derived()
        self.changes()
        self.closings()
        return view

    def slot(self, a: _Account) -> Slot:
        m = a.model
        pointer = self.api.written if m.writable else self.api.read
        same = m.writable or not m.optional or not self.api.accounts_mut
        build = a.name if same else code(f"{a.name}: {a.name}.map(|account| &*account)")
        return Slot(
            a.name,
            code(f"Option<{pointer}>" if m.optional else pointer),
            build,
            doc(m.docs),
            a.tail,
            m.optional and not a.tail,
            code(f"Some({a.name}).filter(|account| {self.api.address('account')} != program_id)"),
        )

    def flags(self) -> None:
        for a in self.accounts:
            statements: list[str] = []
            if a.model.signer is True:
                fault = self.fault(a, "signer", "AccountNotSigner")
                own = fault != "Check::AccountNotSigner"
                statements.append(
                    f"checks::{f'signer_or({a.name}, {fault})' if own else f'signer({a.name})'}?;"
                )
            if a.model.writable:
                statements.append(f"checks::writable({a.name})?;")
            for s in self.guarded(a, statements):
                self.line(s)

    def fixed(self) -> None:
        for a in self.accounts:
            c = a.constraints
            statements: list[str] = []
            if a.model.address is not None:
                name = self.constant(a, "", a.model.address)
                kind = (
                    "AccountSysvarMismatch"
                    if c.sysvar
                    else "InvalidProgramId"
                    if c.executable
                    else "ConstraintAddress"
                )
                statements.append(
                    f"checks::equal({self.api.address(a.name)}, &{name}, {self.fault(a, 'address', kind)})?;"
                )
            elif c.one_of:
                names = [self.constant(a, str(i), text) for i, text in enumerate(c.one_of)]
                fault = self.fault(
                    a, "address", "InvalidProgramId" if c.executable else "ConstraintAddress"
                )
                listed = ", ".join(f"&{name}" for name in names)
                statements.append(
                    f"checks::one_of({self.api.address(a.name)}, &[{listed}], {fault})?;"
                )
            elif c.executable:
                statements.append(f"checks::executable({a.name})?;")
            for s in self.guarded(a, statements):
                self.line(s)

    def owners(self) -> None:
        for a in self.accounts:
            owner = a.constraints.owner
            if owner is None or a.constraints.init is not None:
                continue
            named = self.find(owner, a.path) if owner else None
            if owner == "":
                target = "program_id"
                self.view.uses_program_id = True
            elif named is not None:
                target = f"{self.api.address(named.name)}"
            elif owner == ids.SYSTEM_PROGRAM:
                target = "&ids::SYSTEM_PROGRAM"
            else:
                target = f"&{self.constant(a, 'owner', owner)}"
            kind = "AccountNotSystemOwned" if owner == ids.SYSTEM_PROGRAM else "ConstraintOwner"
            fault = self.fault(a, "owner", kind)
            for s in self.guarded(a, [f"checks::owner({a.name}, {target}, {fault})?;"]):
                self.line(s)

    def duplicates(self) -> None:
        held = [
            a
            for a in self.accounts
            if a.model.writable and (a.constraints.state or a.constraints.token)
        ]
        for i, one in enumerate(held):
            for other in held[i + 1 :]:
                both = [x for x in (one, other) if x.model.optional]
                if not both:
                    self.line(f"checks::different({one.name}, {other.name})?;")
                else:
                    some = ", ".join(f"Some({x.name})" for x in both)
                    given = ", ".join(f"{x.name}.as_ref()" for x in both)
                    left, right = (f"({some})", f"({given})") if len(both) == 2 else (some, given)
                    self.line(f"if let {left} = {left and right} {{")
                    self.line(f"checks::different({one.name}, {other.name})?;")
                    self.line("}")

    # --- state --------------------------------------------------------------------------------------------------------

    def wanted_fields(self) -> dict[tuple[str, ...], list[str]]:
        """The fields of each account's state that seeds of any account are made of, and stored bumps."""
        out: dict[tuple[str, ...], list[str]] = {}
        for a in self.accounts:
            if a.model.pda is None:
                continue
            if a.model.pda.bump is not None and a.constraints.init is None:
                out.setdefault(a.path, []).append(a.model.pda.bump)
            for seed in a.model.pda.seeds:
                if isinstance(seed, AccountSeed) and seed.field:
                    owner = self.by_path.get(seed.account)
                    if (
                        owner is not None
                        and owner.constraints.state
                        and owner.constraints.init is None
                    ):
                        out.setdefault(owner.path, []).append(seed.field[0])
        return {path: list(dict.fromkeys(fields)) for path, fields in out.items()}

    def state_checks(self) -> None:
        wanted = self.wanted_fields()
        for a in self.accounts:
            c = a.constraints
            if c.state is None or (c.init is not None and not c.init.if_needed):
                continue
            state = self.states.get(c.state)
            if state is None:
                raise RenderError(
                    f"{self.ix.name}.{'.'.join(a.path)}: the state {c.state!r} has no Rust form."
                )
            self.view.uses_program_id = True
            if state.name not in self.view.states:
                self.view.states.append(state.name)
            body = [f"checks::state({a.name}, program_id)?;"]
            inner: list[str] = []
            for name, target in c.has_one:
                other = self.need(target, a)
                fault = self.fault(a, f"has_one:{name}", "ConstraintHasOne")
                compare = f"checks::equal(&state.{state.fields[name].name}, {self.api.address(other.name)}, {fault})?;"
                if other.model.optional:
                    compare = f"if let Some({other.name}) = {other.name}.as_ref() {{ {compare} }}"
                inner.append(compare)
            captured: list[tuple[str, str]] = []
            for name in wanted.get(a.path, []):
                local = self.names.take(f"{a.name.removeprefix('r#')}_{name}")
                self.captured[(a.path, name)] = local
                captured.append((local, state.fields[name].copy))
            load = f"{state.name}::load({self.api.loaded})?;"
            load = f"let state = {load}" if inner or captured else load
            block = [f"let data = {self.api.borrow(a.name)};", load, *inner]
            note = f"// {a.name}: its state" + (", and what its fields must equal" if inner else "")
            if captured and not a.model.optional and (c.init is None):
                left = ", ".join(n for n, _ in captured)
                right = ", ".join(e for _, e in captured)
                if len(captured) > 1:
                    left, right = f"({left})", f"({right})"
                lines = [note, *body, f"let {left} = {{", *block, right, "};"]
            else:
                if captured:
                    raise RenderError(
                        f"{self.ix.name}.{'.'.join(a.path)}: seeds and bumps of an account that may be absent "
                        "cannot be checked."
                    )
                lines = [note, *body, "{", *block, "}"]
            if c.init is not None:
                lines = [f"if !checks::is_new({a.name}) {{", *lines, "}"]
            for s in self.guarded(a, lines):
                self.line(s)

    # --- tokens -------------------------------------------------------------------------------------------------------

    def token_program(self, a: _Account) -> str | None:
        """The expression of the token program's address, where the instruction has just one such account."""
        token = a.constraints.token
        if token is not None and token.program is not None:
            return f"{self.api.address(self.need(token.program, a).name)}"
        known = ids.TOKEN_PROGRAMS
        found = [
            x
            for x in self.accounts
            if not x.model.optional
            and (x.model.address in known or set(x.constraints.one_of) == set(known))
        ]
        return f"{self.api.address(found[0].name)}" if len(found) == 1 else None

    def token_checks(self) -> None:
        for a in self.accounts:
            token = a.constraints.token
            made = a.constraints.init
            if token is None or (made is not None and not made.if_needed):
                continue

            def some(name: str | None, of: _Account = a) -> str:
                return (
                    "None"
                    if name is None
                    else f"Some({self.api.address(self.need(name, of).name)})"
                )

            program = self.token_program(a)
            owner = "None" if program is None else f"Some({program})"
            if token.kind == "mint":
                decimals = "None" if token.decimals is None else f"Some({token.decimals})"
                call = f"checks::mint_account({a.name}, {some(token.authority)}, {decimals}, {owner})?;"
            else:
                call = f"checks::token_account({a.name}, {some(token.mint)}, {some(token.authority)}, {owner})?;"
            lines = [call]
            if made is not None:
                lines = [f"if !checks::is_new({a.name}) {{", *lines, "}"]
            for s in self.guarded(a, lines):
                self.line(s)

    # --- derived addresses --------------------------------------------------------------------------------------------

    def derived(self) -> None:
        for a in self.accounts:
            pda = a.model.pda
            if pda is None:
                continue
            try:
                self.derive(a, pda)
            except _CannotCheck as why:
                if a.model.constraints is not None:
                    raise RenderError(f"{self.ix.name}.{'.'.join(a.path)}: {why}.") from why
                self.note(f"{a.name}: its address is not checked, since {why}")

    def derive(self, a: _Account, pda: Pda) -> None:
        seeds = [self.seed(a, i, s) for i, s in enumerate(pda.seeds)]
        program = self.pda_program(a, pda)
        own = program == "program_id"
        associated = a.constraints.token is not None and a.constraints.token.kind == "associated"
        fault = self.fault(a, "seeds", "ConstraintAssociated" if associated else "ConstraintSeeds")
        array = f"&[{', '.join(s.check for s in seeds)}]"
        self.view.is_heavy = True
        for s in seeds:
            if s.kept is not None:
                self.line(f"let {s.kept.name} = {s.value};")
        stored = (
            self.captured.get((a.path, pda.bump)) if pda.bump is not None else self.given_bump(a)
        )
        if stored is not None and own:
            self.line(f"checks::derived({a.name}, {array}, {stored}, program_id, {fault})?;")
            bump = stored
        elif a.model.optional or not own or a.model.constraints is None:
            # nobody signs for it: an IDL does not say whether the program does
            for s2 in self.guarded(a, [f"checks::found({a.name}, {array}, {program}, {fault})?;"]):
                self.line(s2)
            return
        else:
            bump = self.names.take(f"{a.name.removeprefix('r#')}_bump")
            self.line(f"let {bump} = checks::found({a.name}, {array}, program_id, {fault})?;")
        self.bumps[a.path] = bump
        self.seeds_of[a.path] = [s.check for s in seeds]
        view = self.view
        if not self.may_sign(a, bump):
            return
        view.uses_seed = True
        view.kept.append(Kept(code(bump), code("u8"), doc([f"The bump of {a.name}'s address."])))
        view.kept.extend(s.kept for s in seeds if s.kept is not None and s.kept not in view.kept)
        later = [*(s.later for s in seeds), f"core::slice::from_ref(&self.{bump})"]
        stem = a.name.removeprefix("r#")
        view.seeds.append(
            SeedsView(
                code(f"{stem}_seeds"),
                a.name,
                code(str(len(later))),
                tuple(code(self.api.seed_of(t)) for t in later),
            )
        )

    def may_sign(self, a: _Account, bump: str) -> bool:
        """May the handler need the seeds of *a*, to sign for it or to store its bump?

        Only if it can call another program. The system program alone is none of those for state, which this program
        owns, once validation has stored the bump. What the author's code names is always kept.
        """
        if re.search(rf"\b({bump}|{a.name.removeprefix('r#')}_seeds)\b", self.author):
            return True
        c = a.constraints
        if c.init is not None and (a.model.pda is None or a.model.pda.bump is None):
            return True
        called = {
            address
            for x in self.accounts
            if x.constraints.executable or x.model.address
            for address in (x.model.address, *x.constraints.one_of)
        }
        others = called - {None, ids.SYSTEM_PROGRAM} or any(
            x.constraints.executable and x.model.address is None for x in self.accounts
        )
        can_call = bool(others) or bool(self.ix.remaining)
        return can_call or (c.state is None and ids.SYSTEM_PROGRAM in called)

    def given_bump(self, a: _Account) -> str | None:
        """A local variable with the bump that an argument gives; None where none does."""
        for arg, value in self.ix.arg_values:
            if (
                a.model.constraints is not None
                and value == AccountBumpValue(a.path)
                and arg in (self.arg_names or {})
            ):
                assert self.arg_names is not None
                self.view.uses_args = True
                local = self.names.take(f"{a.name.removeprefix('r#')}_bump")
                self.line(f"let {local} = args.{self.arg_names[arg]};")
                return local
        return None

    def pda_program(self, a: _Account, pda: Pda) -> str:
        match pda.program:
            case None | ProgramIdValue():
                self.view.uses_program_id = True
                return "program_id"
            case ConstValue(str(text), _):
                found = self.find(text, a.path)
                if found is not None:
                    return f"{self.api.address(found.name)}"
                return f"&{self.constant(a, 'seeds_program', text)}"
            case AccountValue(account=path, field=()):
                owner = self.by_path.get(path)
                if owner is not None and not owner.model.optional:
                    return f"{self.api.address(owner.name)}"
        raise _CannotCheck("the program that owns it is not known here")

    def seed(self, a: _Account, index: int, seed: Seed) -> _Seed:
        match seed:
            case ConstSeed(value):
                text = f"{byte_string(value)}.as_slice()"
                return _Seed(text, text)
            case ProgramIdSeed():
                self.view.uses_program_id = True
                return _Seed("program_id.as_ref()", "self.program_id.as_ref()")
            case AccountSeed(account=path, field=(), sort=None):
                owner = self.by_path.get(path)
                if owner is None:
                    raise _CannotCheck("a seed is an account that this instruction does not have")
                if owner.model.optional:
                    raise _CannotCheck("a seed is an account that may be absent")
                return _Seed(
                    f"{self.api.address(owner.name)}.as_ref()",
                    f"{self.api.address('self.' + owner.name)}.as_ref()",
                )
            case AccountSeed(account=path, field=(name, *more)) if not more and seed.sort is None:
                local = self.captured.get((path, name))
                owner = self.by_path.get(path)
                if local is None or owner is None or owner.constraints.state is None:
                    raise _CannotCheck("a seed is a field of another account")
                kind = self.states[owner.constraints.state].fields[name].type
                return self.stored(a, index, local, kind, seed.encoding)
            case ArgSeed(path, kind, encoding):
                return self.argument(a, index, path, kind, encoding)
        raise _CannotCheck("the source does not say how it is derived")

    def stored(
        self, a: _Account, index: int, local: str, kind: Type, encoding: str | None
    ) -> _Seed:
        """A value in a local variable as a seed, kept for the handler as bytes."""
        number = kind.number if isinstance(kind, Amount) else kind
        name = self.names.take(f"{a.name.removeprefix('r#')}_seed_{index}")
        if number == PUBKEY:
            kept = Kept(name, code("Address"), doc([f"A seed of {a.name}."]))
            return _Seed(f"{name}.as_ref()", f"self.{name}.as_ref()", kept, local)
        if isinstance(number, Int) and number.bits <= 128 and encoding in (None, "be"):
            order = "be" if number.big_endian or encoding == "be" else "le"
            kept = Kept(name, code(f"[u8; {number.bits // 8}]"), doc([f"A seed of {a.name}."]))
            return _Seed(
                f"{name}.as_slice()", f"self.{name}.as_slice()", kept, f"{local}.to_{order}_bytes()"
            )
        if (
            isinstance(number, Array)
            and number.item == U8
            and isinstance(number.count, int)
            and number.count <= 32
        ):
            kept = Kept(name, code(f"[u8; {number.count}]"), doc([f"A seed of {a.name}."]))
            return _Seed(
                f"{name}.as_slice()",
                f"self.{name}.as_slice()",
                kept,
                f"*{local}" if local.startswith("args") else local,
            )
        raise _CannotCheck("a seed is of a type that is no seed here")

    def argument(
        self,
        a: _Account,
        index: int,
        path: tuple[str, ...],
        kind: Type | None,
        encoding: str | None,
    ) -> _Seed:
        if self.arg_names is None:
            raise _CannotCheck("a seed is an argument that is not decoded")
        node: Type = Struct(self.ix.args)
        text = "args"
        for step in path:
            node = self.types.resolver.target(node)
            found = self.step(node, step)
            if found is None:
                raise _CannotCheck("a seed is an argument that is not there")
            model, name = found
            text = f"{text}.{name}"
            node = model.type
        node = self.types.resolver.target(node)
        if encoding == "utf8":
            raise _CannotCheck("a seed is a number as text")
        self.view.uses_args = True
        if (
            node in (BORSH_STRING, BORSH_BYTES)
            or (
                isinstance(node, (String, Bytes))
                or (isinstance(node, SizePrefixed) and isinstance(node.item, (String, Bytes)))
            )
            or (isinstance(node, Array) and node.item == U8 and not isinstance(node.count, int))
        ):
            kept_name = self.names.take(f"{a.name.removeprefix('r#')}_seed_{index}")
            is_text = self.types.type(node) == "&'a str"
            kept = Kept(kept_name, code("&'a [u8]"), doc([f"A seed of {a.name}."]))
            return _Seed(
                kept_name, f"self.{kept_name}", kept, f"{text}.as_bytes()" if is_text else text
            )
        if kind is not None and not isinstance(node, Int) and isinstance(kind, Int):
            raise _CannotCheck("a seed is an argument of another type than the source says")
        return self.stored(a, index, text, node, encoding)

    def step(self, node: Type, step: str) -> tuple[ModelField, Rust] | None:
        if not isinstance(node, Struct):
            return None
        names = IdentifierPool("r", "w")  # as Types.fields hands them out
        for f in node.fields:
            name = names.take(f.name)
            if f.name == step or snake(f.name) == snake(step):
                return f, name
        return None

    # --- what is changed ----------------------------------------------------------------------------------------------

    def changes(self) -> None:
        out = self.view.changes
        for a in self.accounts:
            c = a.constraints
            if c.realloc is not None and c.realloc_payer is not None:
                payer = self.need(c.realloc_payer, a)
                if a.model.optional or payer.model.optional:
                    where = f"{self.ix.name}.{'.'.join(a.path)}"
                    raise RenderError(f"{where}: an account that may be absent cannot be resized.")
                lines = [f"checks::resize({a.name}, {payer.name}, {c.realloc})?;"]
                out += map(code, self.guarded(a, lines))
        for a in self.accounts:
            if a.constraints.init is not None:
                out += map(code, self.creation(a))

    def creation(self, a: _Account) -> list[str]:
        c = a.constraints
        assert c.init is not None
        self.view.is_heavy = True
        payer = self.need(c.init.payer, a)
        signers = "&[]"
        pda = a.model.pda
        if pda is not None and a.path in self.bumps:
            # validation's own seeds, and the bump that was found
            parts = list(self.seeds_of[a.path])
            parts.append(f"core::slice::from_ref(&{self.bumps[a.path]})")
            signers = self.api.signers(parts)
        lines = [f"// {a.name}: created, paid by {payer.name}"]
        token = c.token
        if token is not None:
            program = self.token_program(a)
            if program is None:
                raise RenderError(
                    f"{self.ix.name}.{'.'.join(a.path)}: which token program makes it is not said."
                )
            create = f"checks::Create {{ account: {a.name}, payer: {payer.name}, space: 0, owner: {program}, "
            create += f"signers: {signers} }}"
            if token.kind == "associated":
                lines += self.associated(a, payer, program)
            elif token.kind == "mint":
                authority = self.need(token.authority or "", a)
                lines.append(
                    f"checks::create_mint({create}, {self.api.address(authority.name)}, {token.decimals})?;"
                )
            else:
                mint, authority = (
                    self.need(token.mint or "", a),
                    self.need(token.authority or "", a),
                )
                lines.append(
                    f"checks::create_token_account({create}, {mint.name}, {self.api.address(authority.name)})?;"
                )
        else:
            state = self.states[c.state or ""]
            self.view.uses_program_id = True
            if state.name not in self.view.states:
                self.view.states.append(state.name)
            space = str(c.init.space) if c.init.space is not None else f"{state.name}::LEN"
            lines.append(
                f"checks::Create {{ account: {a.name}, payer: {payer.name}, space: {space}, owner: program_id, "
                f"signers: {signers} }}.invoke()?;"
            )
            bump = pda.bump if pda is not None else None
            if state.is_fixed and bump is not None and a.path in self.bumps:
                kept = f"{state.fields[bump].name} = {self.bumps[a.path]};"
                lines.append(f"{state.name}::create(&mut {self.api.borrow_mut(a.name)})?.{kept}")
            else:
                lines.append(f"{state.name}::create(&mut {self.api.borrow_mut(a.name)})?;")
        if c.init.if_needed:
            lines = [f"if checks::is_new({a.name}) {{", *lines, "}"]
        return lines

    def associated(self, a: _Account, payer: _Account, program: str) -> list[str]:
        token = a.constraints.token
        assert token is not None
        wallet, mint = self.need(token.authority or "", a), self.need(token.mint or "", a)
        system = next(
            (x for x in self.accounts if x.model.address == ids.SYSTEM_PROGRAM),
            None,
        )
        if system is None:
            raise RenderError(
                f"{self.ix.name}.{'.'.join(a.path)}: creating it needs the system program's account."
            )
        token_program = program.removesuffix(self.api.key.removeprefix("{x}"))
        given = {
            "account": a.name,
            "payer": payer.name,
            "wallet": wallet.name,
            "mint": mint.name,
            "system_program": system.name,
            "token_program": token_program,
        }
        parts = ", ".join(
            name if name == value else f"{name}: {value}" for name, value in given.items()
        )
        return [f"checks::CreateAssociated {{ {parts} }}.invoke()?;"]

    def closings(self) -> None:
        for a in self.accounts:
            target = a.constraints.close
            if target is None:
                continue
            self.view.is_heavy = True
            other = self.need(target, a)
            if a.model.optional or other.model.optional:
                raise RenderError(
                    f"{self.ix.name}.{'.'.join(a.path)}: an account that may be absent cannot be closed."
                )
            self.view.finish.append(
                code(f"checks::close(accounts.{a.name}, accounts.{other.name})?;")
            )
