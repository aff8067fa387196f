"""One instruction's accounts as Anchor writes them: a field with a type, and its constraints in an attribute.

The constraints are the same as the other targets check; what Anchor checks by an account's type (signer, owner,
discriminator, program) is left to the type. Where Anchor's own error would have another name than the other targets',
the constraint names the error.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
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
    Int,
    Struct,
    Type,
)
from mcpsol_py.names import snake
from mcpsol_py.render.account_lookup import flatten
from mcpsol_py.render.anchor_types import AnchorTypes, fields_of
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_array, byte_string, code, comment, doc
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["AnchorAccount", "AnchorAccounts", "anchor_accounts"]


#: Programs that Anchor has a type for, and where it comes from.
_PROGRAMS = {
    ids.SYSTEM_PROGRAM: ("System", ""),
    ids.TOKEN_PROGRAM: ("Token", "anchor_spl::token::Token"),
    ids.TOKEN_2022_PROGRAM: ("Token2022", "anchor_spl::token_2022::Token2022"),
    ids.ASSOCIATED_TOKEN_PROGRAM: (
        "AssociatedToken",
        "anchor_spl::associated_token::AssociatedToken",
    ),
}
_FRAMEWORK = "anchor_lang::error::ErrorCode"
#: More accounts than these are held on the heap: a program's stack frame has 4,096 bytes.
_ON_STACK = 4


@dataclass(frozen=True, slots=True)
class AnchorAccount:
    """One field of the struct that derives Accounts."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]
    #: why Anchor checks nothing by the field's type; empty where it does
    check: tuple[Rust, ...]
    #: the attribute's lines
    attribute: tuple[Rust, ...]


@dataclass(slots=True)
class AnchorAccounts:
    """All accounts of one instruction."""

    fields: list[AnchorAccount] = field(default_factory=list)
    constants: list[Rust] = field(default_factory=list)
    #: arguments that seeds are made of, and those before them, as "amount: u64"
    arguments: tuple[Rust, ...] = ()
    uses: set[str] = field(default_factory=set)
    #: what is kept in new state before the handler runs
    bumps: list[Rust] = field(default_factory=list)
    init_if_needed: bool = False
    remaining_docs: tuple[Rust, ...] = ()


class _CannotCheck(Exception):
    """An address that the source does not say how to derive."""


@dataclass(slots=True)
class _Account:
    path: tuple[str, ...]
    model: Account
    name: Rust

    @property
    def constraints(self) -> Constraints:
        return self.model.constraints or Constraints()


def anchor_accounts(
    ix: Instruction,
    types: AnchorTypes,
    states: dict[str, tuple[Rust, Struct, int | None]],
    error_type: Rust,
    error_names: dict[str, Rust],
    args: tuple[tuple[Rust, Rust], ...],
) -> AnchorAccounts:
    """The accounts of *ix*. `states`: name, fields and size (discriminator included) of each account type; `args`: name
    and type of each argument. Raises RenderError where a spec's constraint has no form in Anchor."""
    return _Builder(ix, types, states, error_type, error_names, args).build()


class _Builder:
    def __init__(
        self,
        ix: Instruction,
        types: AnchorTypes,
        states: dict[str, tuple[Rust, Struct, int | None]],
        error_type: Rust,
        error_names: dict[str, Rust],
        args: tuple[tuple[Rust, Rust], ...],
    ) -> None:
        self.ix, self.types, self.states, self.args = ix, types, states, args
        self.error_type, self.error_names = error_type, error_names
        self.view = AnchorAccounts()
        names = IdentifierPool(
            "ctx",
            "accounts",
            "bumps",
            "program_id",
            "remaining_accounts",
            *(name for name, _ in args),
        )
        self.accounts = [
            _Account(path, a, _plain(names, "_".join(path))) for path, a in flatten(ix.accounts)
        ]
        self.by_path = {a.path: a for a in self.accounts}
        self.constant_names = IdentifierPool()
        self.last_argument = 0

    # --- small pieces -------------------------------------------------------------------------------------------------

    def refuse(self, a: _Account, why: str) -> RenderError:
        return RenderError(f"{self.ix.name}.{'.'.join(a.path)}: {why}.")

    def find(self, name: str, beside: tuple[str, ...]) -> _Account | None:
        for path in ((*beside[:-1], name), (name,), tuple(name.split("."))):
            if path in self.by_path:
                return self.by_path[path]
        return None

    def need(self, name: str, beside: _Account) -> _Account:
        found = self.find(name, beside.path)
        if found is None:
            raise self.refuse(beside, f"its constraint names {name!r}, which is no account here")
        return found

    def own_error(self, a: _Account, check: str) -> str:
        """The program's own error for a failed check, as " @ …", or ""."""
        for key, name in a.constraints.errors:
            if key == check and name in self.error_names:
                self.view.uses.add(f"crate::error::{self.error_type}")
                return f" @ {self.error_type}::{self.error_names[name]}"
        return ""

    def constant(self, a: _Account, suffix: str, text: str) -> Rust:
        """A named constant for an address."""
        try:
            data = address_bytes(text)
        except ValueError as error:
            raise self.refuse(a, f"{text!r} is no address: {error}") from error
        name = self.constant_names.take(f"{a.name} {suffix}".strip(), "screaming")
        self.view.constants += [
            code(""),
            *comment([text]),
            code(f"const {name}: Pubkey = Pubkey::new_from_array({byte_array(data)});"),
        ]
        return name

    # --- the whole ----------------------------------------------------------------------------------------------------

    def build(self) -> AnchorAccounts:
        boxed = len(self.accounts) > _ON_STACK
        for a in self.accounts:
            self.view.fields.append(self.account(a, boxed))
        self.view.arguments = tuple(code(f"{n}: {t}") for n, t in self.args[: self.last_argument])
        self.view.remaining_docs = doc(
            d for r in self.ix.remaining for d in (r.docs or (f"The accounts {r.name}.",))
        )
        return self.view

    def account(self, a: _Account, boxed: bool) -> AnchorAccount:
        m, c = a.model, a.constraints
        items: list[str] = []
        if c.init is not None:
            payer = self.need(c.init.payer, a)
            self.field_called(a, "system_program", ids.SYSTEM_PROGRAM)
            items += ["init_if_needed" if c.init.if_needed else "init", f"payer = {payer.name}"]
            self.view.init_if_needed |= c.init.if_needed
        elif m.writable:
            items.append("mut")
        kind, checked = self.kind(a, items)
        self.fixed(a, items, checked)
        self.owner(a, items, checked)
        self.fields(a, items)
        token = c.token is not None
        if token:
            self.token(a, items)
        elif c.init is not None:
            name, _, size = self.states[c.state or ""]
            if c.init.space is None and size is None:
                raise self.refuse(a, "its size is not fixed, so init needs a space")
            items.append(f"space = {c.init.space if c.init.space is not None else f'{name}::LEN'}")
        if m.pda is not None and not (c.token is not None and c.token.kind == "associated"):
            self.derived(a, m.pda, items, checked)
        if c.realloc is not None and c.realloc_payer is not None:
            self.field_called(a, "system_program", ids.SYSTEM_PROGRAM)
            payer = self.need(c.realloc_payer, a)
            items += [
                f"realloc = {c.realloc}",
                f"realloc::payer = {payer.name}",
                "realloc::zero = false",
            ]
        if c.close is not None:
            items.append(f"close = {self.need(c.close, a).name}")
        if boxed and kind.startswith(("Account<", "InterfaceAccount<")):
            kind = f"Box<{kind}>"
        text = f"Option<{kind}>" if m.optional else kind
        why = () if checked else (code("/// CHECK: what is asked of it stands in its attribute."),)
        return AnchorAccount(a.name, code(text), _docs(m.docs), why, _attribute(items))

    def kind(self, a: _Account, items: list[str]) -> tuple[str, bool]:
        """The account's type, and whether Anchor checks by it what it is."""
        m, c = a.model, a.constraints
        signer_error = self.own_error(a, "signer")
        address_error = self.own_error(a, "address")
        if c.state is not None:
            if c.state not in self.states:
                raise self.refuse(a, f"the state {c.state!r} has no form in Anchor")
            if m.signer is True and c.init is None:
                items.append(f"signer{signer_error or f' @ {_FRAMEWORK}::AccountNotSigner'}")
            state = self.states[c.state][0]
            self.view.uses.add(f"crate::state::{state}")
            return f"Account<'info, {state}>", True
        if c.token is not None:
            name = "Mint" if c.token.kind == "mint" else "TokenAccount"
            if self.token_address(a) == ids.TOKEN_PROGRAM:
                self.view.uses.add(f"anchor_spl::token::{name}")
                return f"Account<'info, {name}>", True
            self.view.uses.add(f"anchor_spl::token_interface::{name}")
            return f"InterfaceAccount<'info, {name}>", True
        if m.address in _PROGRAMS and c.executable and not address_error and m.signer is not True:
            name, path = _PROGRAMS[m.address]
            self.view.uses |= {path} - {""}
            return f"Program<'info, {name}>", True
        if set(c.one_of) == {ids.TOKEN_PROGRAM, ids.TOKEN_2022_PROGRAM} and not address_error:
            self.view.uses.add("anchor_spl::token_interface::TokenInterface")
            return "Interface<'info, TokenInterface>", True
        if m.signer is True and not signer_error:
            return (
                "Signer<'info>",
                c.owner != ids.SYSTEM_PROGRAM,
            )  # who owns it is for an attribute to say
        if (
            c.owner == ids.SYSTEM_PROGRAM
            and not self.own_error(a, "owner")
            and m.signer is not True
        ):
            return "SystemAccount<'info>", True
        if m.signer is True:
            items.append(f"signer{signer_error}")
        return "UncheckedAccount<'info>", False

    def fixed(self, a: _Account, items: list[str], checked: bool) -> None:
        m, c = a.model, a.constraints
        own = self.own_error(a, "address")
        if c.executable and checked and not own and (m.address in _PROGRAMS or c.one_of):
            return  # by its type
        usual = (
            "AccountSysvarMismatch"
            if c.sysvar
            else "InvalidProgramId"
            if c.executable
            else "ConstraintAddress"
        )
        fault = own or f" @ {_FRAMEWORK}::{usual}"
        if m.address is not None:
            items.append(
                f"address = {self.constant(a, '', m.address)}{fault if own or c.sysvar or c.executable else ''}"
            )
        elif c.one_of:
            listed = ", ".join(self.constant(a, str(i), text) for i, text in enumerate(c.one_of))
            items.append(f"constraint = [{listed}].contains({a.name}.key){fault}")
        elif c.executable:
            items.append(
                f"constraint = {a.name}.executable @ {_FRAMEWORK}::InvalidProgramExecutable"
            )

    def owner(self, a: _Account, items: list[str], checked: bool) -> None:
        owner = a.constraints.owner
        if (
            owner is None
            or a.constraints.init is not None
            or (checked and owner == ids.SYSTEM_PROGRAM)
        ):
            return
        named = self.find(owner, a.path) if owner else None
        wanted = (
            "crate::ID"
            if owner == ""
            else f"{named.name}.key()"
            if named
            else self.constant(a, "owner", owner)
        )
        fault = self.own_error(a, "owner")
        if not fault and owner == ids.SYSTEM_PROGRAM:
            fault = f" @ {_FRAMEWORK}::AccountNotSystemOwned"
        items.append(f"owner = {wanted}{fault}")

    def fields(self, a: _Account, items: list[str]) -> None:
        """What the state's fields must equal."""
        c = a.constraints
        if c.state is None or (c.init is not None and not c.init.if_needed):
            return
        names = fields_of(self.states[c.state][1].fields)
        for name, target in c.has_one:
            other = self.need(target, a)
            fault = self.own_error(a, f"has_one:{name}")
            if names[name] == other.name:
                items.append(f"has_one = {other.name}{fault}")
            else:
                fault = fault or f" @ {_FRAMEWORK}::ConstraintHasOne"
                items.append(f"constraint = {a.name}.{names[name]} == {other.name}.key(){fault}")

    # --- tokens -------------------------------------------------------------------------------------------------------

    def token_account(self, a: _Account) -> _Account | None:
        """The account of the token program, where the instruction has just one such account, or names it."""
        token = a.constraints.token
        if token is not None and token.program is not None:
            return self.need(token.program, a)
        both = {ids.TOKEN_PROGRAM, ids.TOKEN_2022_PROGRAM}
        found = [
            x
            for x in self.accounts
            if not x.model.optional
            and (x.model.address in both or set(x.constraints.one_of) == both)
        ]
        return found[0] if len(found) == 1 else None

    def token_address(self, a: _Account) -> str | None:
        program = self.token_account(a)
        return None if program is None else program.model.address

    def token(self, a: _Account, items: list[str]) -> None:
        token, made = a.constraints.token, a.constraints.init is not None
        assert token is not None
        program = self.token_account(a)
        if made and program is None:
            raise self.refuse(a, "which token program makes it is not said")
        word = {"account": "token", "mint": "mint", "associated": "associated_token"}[token.kind]
        if token.mint is not None:
            items.append(f"{word}::mint = {self.need(token.mint, a).name}")
        if token.authority is not None:
            items.append(f"{word}::authority = {self.need(token.authority, a).name}")
        if token.decimals is not None:
            items.append(f"{word}::decimals = {token.decimals}")
        interface = self.token_address(a) != ids.TOKEN_PROGRAM
        if program is not None and (interface or (made and program.name != "token_program")):
            items.append(f"{word}::token_program = {program.name}")
        if token.kind == "associated" and made:
            self.field_called(a, "associated_token_program", ids.ASSOCIATED_TOKEN_PROGRAM)

    def field_called(self, a: _Account, name: str, address: str) -> None:
        """Anchor looks for these accounts by their names."""
        if not any(
            x.name == name and x.model.address == address and not x.model.optional
            for x in self.accounts
        ):
            raise self.refuse(
                a, f"Anchor makes it with the help of an account that must be called {name}; add it"
            )

    # --- derived addresses --------------------------------------------------------------------------------------------

    def derived(self, a: _Account, pda: Pda, items: list[str], checked: bool) -> None:
        try:
            seeds = [self.seed(s) for s in pda.seeds]
            program = self.program(a, pda)
        except _CannotCheck as why:
            if a.model.constraints is not None:
                raise self.refuse(a, str(why)) from why
            return  # an IDL that does not say it all; other targets do not check it either
        items.append(f"seeds = [{', '.join(seeds)}]")
        c = a.constraints
        if pda.bump is not None and c.state is not None:
            kept = fields_of(self.states[c.state][1].fields)[pda.bump]
            if c.init is None:
                items.append(f"bump = {a.name}.{kept}")
            else:
                items.append("bump")
                self.view.bumps.append(code(f"ctx.accounts.{a.name}.{kept} = ctx.bumps.{a.name};"))
        else:
            given = [arg for arg, value in self.ix.arg_values if value == AccountBumpValue(a.path)]
            named = given and c.init is None and a.model.constraints is not None
            items.append(f"bump = {self.argument_named(given[0])}" if named else "bump")
        if program:
            items.append(f"seeds::program = {program}")

    def argument_named(self, name: str) -> str:
        """An argument as the struct of accounts knows it."""
        index = next(i for i, arg in enumerate(self.ix.args) if arg.name == name)
        self.last_argument = max(self.last_argument, index + 1)
        return self.args[index][0]

    def program(self, a: _Account, pda: Pda) -> str:
        match pda.program:
            case None | ProgramIdValue():
                return ""
            case ConstValue(str(text), _):
                found = self.find(text, a.path)
                return (
                    f"{found.name}.key()"
                    if found is not None
                    else self.constant(a, "seeds_program", text)
                )
            case AccountValue(account=path, field=()):
                owner = self.by_path.get(path)
                if owner is not None and not owner.model.optional:
                    return f"{owner.name}.key()"
        raise _CannotCheck("the program that owns it is not known here")

    def seed(self, seed: Seed) -> str:
        match seed:
            case ConstSeed(value):
                return f"{byte_string(value)}.as_ref()"
            case ProgramIdSeed():
                return "crate::ID.as_ref()"
            case AccountSeed(account=path, sort=None):
                owner = self.by_path.get(path)
                if owner is None or owner.model.optional:
                    raise _CannotCheck(
                        "a seed is an account that this instruction does not always have"
                    )
                if not seed.field:
                    return f"{owner.name}.key().as_ref()"
                state = owner.constraints.state
                if len(seed.field) == 1 and state is not None and owner.constraints.init is None:
                    body = self.states[state][1]
                    kind = next((f.type for f in body.fields if f.name == seed.field[0]), None)
                    if kind is not None:
                        return self.value(
                            f"{owner.name}.{fields_of(body.fields)[seed.field[0]]}",
                            kind,
                            seed.encoding,
                        )
                raise _CannotCheck("a seed is a field of another account")
            case ArgSeed(path, _, encoding):
                return self.argument(path, encoding)
        raise _CannotCheck("the source does not say how it is derived")

    def argument(self, path: tuple[str, ...], encoding: str | None) -> str:
        node: Type = Struct(self.ix.args)
        text = ""
        for depth, step in enumerate(path):
            node = self.types.resolver.target(node)
            fields = node.fields if isinstance(node, Struct) else ()
            found = next(
                ((i, f) for i, f in enumerate(fields) if snake(f.name) == snake(step)), None
            )
            if found is None:
                raise _CannotCheck("a seed is an argument that is not there")
            index, model = found
            if depth == 0:
                text = self.args[index][0]
                self.last_argument = max(self.last_argument, index + 1)
            else:
                text += f".{fields_of(fields)[model.name]}"
            node = model.type
        return self.value(text, node, encoding)

    def value(self, text: str, kind: Type, encoding: str | None) -> str:
        """A value as a seed."""
        node = self.types.resolver.target(kind)
        number = node.number if isinstance(node, Amount) else node
        if number == BORSH_STRING:
            return f"{text}.as_bytes()"
        if number in (PUBKEY, BORSH_BYTES) or (isinstance(number, Array) and number.item == U8):
            return f"{text}.as_ref()"
        if isinstance(number, Int) and number.bits <= 128 and encoding in (None, "be"):
            return f"{text}.to_{'be' if encoding == 'be' or number.big_endian else 'le'}_bytes().as_ref()"
        raise _CannotCheck("a seed is of a type that is no seed here")


def _docs(texts: tuple[str, ...]) -> tuple[Rust, ...]:
    """Documentation lines without quotation marks: Anchor's macro pastes them into a raw string and reads the result as
    code, so `"#` in an account's documentation would end the string and go on as Rust."""
    return doc(text.replace('"', "'") for text in texts)


def _attribute(items: list[str]) -> tuple[Rust, ...]:
    """The constraints, on one line if they are short."""
    if not items:
        return ()
    line = f"#[account({', '.join(items)})]"
    if len(line) <= 90:
        return (code(line),)
    return (
        code("#[account("),
        *(code(f"    {item},") for item in items[:-1]),
        code(f"    {items[-1]}"),
        code(")]"),
    )


def _plain(names: IdentifierPool, name: str) -> Rust:
    """As `names.take`, and never raw: Anchor's macros make other identifiers of it."""
    taken = names.take(name)
    return names.take(f"{taken.removeprefix('r#')} account") if taken.startswith("r#") else taken
