"""One instruction of a Python spec: a method's parameters, with what their annotations say of accounts."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from mcpsol_py.errors import SourceError, UnresolvedName, abbr, suggest
from mcpsol_py.model.program import Account as ModelAccount
from mcpsol_py.model.program import (
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    AccountSeed,
    ArgSeed,
    Constraints,
    ConstSeed,
    ConstValue,
    Discriminator,
    Init,
    Instruction,
    Pda,
    RemainingAccounts,
    Seed,
    TokenConstraint,
    Value,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import BORSH_BYTES, BORSH_STRING, PUBKEY, U8, Default, Field, Link, Type
from mcpsol_py.model.types import Struct as ModelStruct
from mcpsol_py.names import snake
from mcpsol_py.solana.base58 import address_bytes
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.reader import derived
from mcpsol_py.sources.spec_file import docs_of, lines_of

if TYPE_CHECKING:
    from mcpsol_py.sources.spec import ProgramReader

__all__ = ["InstructionReader", "discriminator_of"]

_ATA_PROGRAM = ConstValue(words.AssociatedTokenProgram.mcpsol_address)
_MAX_SEED = 32
_TOKEN_PROGRAMS = (words.TokenProgram, words.Token2022Program, words.TokenInterface)


def discriminator_of(given: bytes | None, namespace: str, name: str) -> Discriminator:
    """What the author gave, else Anchor's."""
    return derived(namespace, name) if given is None else Discriminator(given)


@dataclass
class _Parameter:
    """One account parameter, as annotated, before names in its constraints are looked up."""

    path: tuple[str, ...]
    base: type
    remarks: tuple[object, ...]
    optional: bool
    docs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path[-1]

    def has(self, kind: type) -> bool:
        return any(isinstance(r, kind) for r in self.remarks)

    @property
    def writable(self) -> bool:
        if issubclass(self.base, words.Payer):
            return True
        return any(isinstance(r, words.Access) and r.writable for r in self.remarks)

    @property
    def signs(self) -> bool:
        return issubclass(self.base, words.Signer) or words.signer in self.remarks


class InstructionReader:
    """Reads one method: parameters in two rounds, since constraints name other parameters."""

    def __init__(
        self,
        program: ProgramReader,
        attribute: str,
        function: Callable[..., object],
        options: words.InstructionOptions,
    ) -> None:
        self.program = program
        self.function = function
        self.options = options
        self.path = f"{program.cls.__name__}.{attribute}"
        self.name = options.name or attribute
        self.docs = docs_of(function)
        self.args: list[Field] = []
        self.accounts: dict[tuple[str, ...], _Parameter] = {}
        self.order: list[
            tuple[str, type | None]
        ] = []  # top-level accounts: name, and the Group class
        self.remaining: list[RemainingAccounts] = []
        self.bumps: list[tuple[str, Value]] = []  # arguments that give one

    def read(self) -> Instruction:
        hints = self.program.hints(self.function)
        parameters = list(inspect.signature(self.function).parameters.values())
        if parameters and parameters[0].name in ("self", "cls") and parameters[0].name not in hints:
            parameters = parameters[1:]
        for p in parameters:
            path = f"{self.path}.{p.name}"
            if p.kind is inspect.Parameter.VAR_KEYWORD:
                self.program.problem(path, "an instruction has no **parameters.")
            elif p.name not in hints:
                if p.annotation is inspect.Parameter.empty:
                    self.program.problem(
                        path, "the parameter has no type. Annotate it, as in `amount: u64`."
                    )
            else:
                with self.program.at(path):
                    self.parameter(p, hints[p.name])
        self.program.check_snake(self.path, [a.name for a in self.args])
        self.program.check_snake(self.path, [n for n, _ in self.order])
        returns = self.options.returns if self.options.returns is not None else hints.get("return")
        if returns is type(None):
            returns = None
        returned: Type | None = None
        if returns is not None:
            with self.program.at(self.path):
                returned = self.program.read_type(returns)
        for name in self.docs.items:
            known = {p.name for p in parameters} | {path[-1] for path in self.accounts}
            if name not in known:
                self.program.problem(
                    self.path, f"the docstring describes {name!r}, which is no parameter."
                )
        when = self.options.when or self.docs.when
        hints_out = [("when", when)] if when else []
        hints_out += [
            (f"unit:{a.name}", self.docs.items[a.name][0]) for a in self.args if self.unit(a.name)
        ]
        discriminator = discriminator_of(self.options.discriminator, "global", snake(self.name))
        return Instruction(
            name=self.name,
            discriminator=discriminator,
            args=tuple(self.args),
            accounts=tuple(self.item(name, group) for name, group in self.order),
            remaining=tuple(self.remaining),
            returns=returned,
            docs=self.docs.text,
            arg_values=tuple(self.bumps),
            hints=tuple(hints_out),
        )

    def unit(self, name: str) -> str:
        return self.docs.items.get(name, ("", ""))[0]

    # parameters

    def parameter(self, p: inspect.Parameter, annotation: object) -> None:
        base, remarks, optional = _unwrap(annotation)
        is_account = isinstance(base, type) and issubclass(
            base, (words.Account, words.Kind, words.Group)
        )
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            if not is_account or issubclass(base, (words.Account, words.Group)):
                raise SourceError(
                    f"remaining accounts are Signer, Payer or Unchecked, as in `*{p.name}: Signer`."
                )
            found = _Parameter((p.name,), base, remarks, optional, lines_of(self.docs, p.name))
            self.remaining.append(
                RemainingAccounts(p.name, found.writable, found.signs, True, found.docs)
            )
            return
        if not is_account:
            default = None
            if p.default is not inspect.Parameter.empty:
                default = Default(_json(p.default))
            self.args.append(
                Field(
                    p.name, self.program.read_type(annotation), lines_of(self.docs, p.name), default
                )
            )
            return
        if issubclass(base, words.Group):
            if remarks or optional:
                raise SourceError(
                    "a group has no constraints of its own; put them on its accounts."
                )
            group_docs = docs_of(base)
            self.order.append((p.name, base))
            for name, inner in self.program.hints(base).items():
                with self.program.at(f"{base.__qualname__}.{name}"):
                    self.add((p.name, name), inner, lines_of(group_docs, name))
            return
        self.add((p.name,), annotation, lines_of(self.docs, p.name))
        self.order.append((p.name, None))

    def add(self, path: tuple[str, ...], annotation: object, docs: tuple[str, ...]) -> None:
        base, remarks, optional = _unwrap(annotation)
        if not (isinstance(base, type) and issubclass(base, (words.Account, words.Kind))):
            raise SourceError(
                f"{abbr(annotation)} is no account: use an Account class, Signer, Wallet, Unchecked, …."
            )
        if base in (words.Account, words.Kind, words.Sysvar):
            raise SourceError(f"{base.__name__} is no account by itself: name one of its classes.")
        kept: list[object] = []
        for remark in remarks:
            if remark is Ellipsis:
                continue
            if not isinstance(remark, (words.Constraint, words.Access)):
                shown = (
                    f"{remark.__name__} without ()" if isinstance(remark, type) else abbr(remark)
                )
                raise SourceError(f"{shown} is no constraint.")
            if any(
                type(remark) is type(k) and not isinstance(remark, (words.has_one, words.Flag))
                for k in kept
            ):
                raise SourceError(f"{type(remark).__name__} is given twice.")
            kept.append(remark)
        self.accounts[path] = _Parameter(path, base, tuple(kept), optional, docs)

    def item(self, name: str, group: type | None) -> AccountItem:
        if group is None:
            return self.account((name,))
        inner = tuple(
            self.account(path) for path in self.accounts if len(path) == 2 and path[0] == name
        )
        return AccountGroup(name, inner, docs_of(group).text)

    # names in constraints

    def find(self, name: str, beside: tuple[str, ...]) -> tuple[str, ...] | None:
        """The path of the account called *name*: in the same group first, then at the top, or "group.account"."""
        for path in ((*beside[:-1], name), (name,), tuple(name.split("."))):
            if path in self.accounts:
                return path
        return None

    def need(self, name: object, beside: tuple[str, ...]) -> _Parameter:
        if not isinstance(name, str):
            raise SourceError(f"{abbr(name)} is no name of an account.")
        path = self.find(name, beside)
        if path is None:
            raise UnresolvedName("account", name, [".".join(p) for p in self.accounts])
        return self.accounts[path]

    def fields_of(self, cls: type) -> dict[str, Type]:
        definition = self.program.types[self.program.link(cls).name][1]
        if definition is None or not isinstance(definition.type, ModelStruct):
            return {}
        return {f.name: f.type for f in definition.type.fields}

    def field_type(self, p: _Parameter, name: str) -> Type:
        if not issubclass(p.base, words.Account):
            if issubclass(p.base, (words.TokenAccount, words.Mint)):
                raise SourceError(
                    f"{p.name!r} is no state of this program; seeds take only its address."
                )
            raise SourceError(f"{p.name!r} is a {p.base.__name__}: it has no field {name!r}.")
        fields = self.fields_of(p.base)
        if name not in fields:
            raise UnresolvedName(f"field of {p.base.__name__}", name, fields)
        return fields[name]

    # one account

    def account(self, path: tuple[str, ...]) -> ModelAccount:
        p = self.accounts[path]
        found = [ModelAccount(p.name, p.writable, p.signs, p.optional, docs=p.docs)]
        with self.program.at(f"{self.path}.{'.'.join(path)}"):
            found.append(self.constrained(p))
        return found[-1]  # a problem is remembered: what is read further may find more

    def constrained(self, p: _Parameter) -> ModelAccount:
        address = (
            getattr(p.base, "mcpsol_address", None) if issubclass(p.base, words.Kind) else None
        )
        pda: Pda | None = None
        state = owned_by = close = payer = None
        has_one: list[tuple[str, str]] = []
        errors: list[tuple[str, str]] = []
        made: Init | None = None
        space: int | None = None
        tokens: TokenConstraint | None = None
        is_program = issubclass(p.base, words.ProgramAccount) or words.executable in p.remarks
        signs = p.signs
        if issubclass(p.base, words.Account):
            state = self.program.state(p.base).name
        elif issubclass(p.base, words.Wallet):
            owned_by = words.SystemProgram.mcpsol_address
        elif issubclass(p.base, words.TokenAccount):
            tokens = TokenConstraint("account")
        elif issubclass(p.base, words.Mint):
            tokens = TokenConstraint("mint")

        def on_error(check: str, value: words.error | None) -> None:
            if value is not None:
                errors.append(
                    (check, self.program.error_name(value, f"{self.path}.{'.'.join(p.path)}"))
                )

        for remark in p.remarks:
            match remark:
                case words.has_one(name, account, failure):
                    kind = self.field_type(p, name)
                    if kind != PUBKEY:
                        raise SourceError(
                            f"has_one compares addresses; {name!r} is a {type_text(kind)}."
                        )
                    self.need(account or name, p.path)
                    has_one.append((name, account or name))
                    on_error(f"has_one:{name}", failure)
                case words.seeds():
                    pda = self.pda(remark, p)
                    on_error("seeds", remark.error)
                case words.init(payer_name, size, if_needed):
                    made = self.init(p, payer_name, size, if_needed)
                    if not p.has(words.seeds) and not p.has(words.associated):
                        signs = True  # a new account that no seeds sign for signs for itself
                case words.close(to):
                    if state is None:
                        raise SourceError("only this program's own state can be closed.")
                    if not self.need(to, p.path).writable:
                        raise SourceError(f"{to!r} gets the lamports, so it must be Mut or Payer.")
                    close = to
                case words.realloc(new, payer_name):
                    if state is None:
                        raise SourceError("only this program's own state can be resized.")
                    if type(new) is not int or not 0 < new <= 10 * 1024 * 1024:
                        raise SourceError(f"a size is 1 to 10485760 bytes, not {abbr(new)}.")
                    self.payer(payer_name, p)
                    space, payer = new, payer_name
                case words.owner(text, failure):
                    owned_by = text
                    if self.find(text, p.path) is None:
                        self.check_address_or_name(text)
                    on_error("owner", failure)
                case words.address(text, failure):
                    if address is not None:
                        raise SourceError(f"{p.base.__name__} has its address already.")
                    try:
                        address_bytes(text)
                    except (ValueError, TypeError) as error:
                        raise SourceError(f"{abbr(text)} is no address: {error}.") from error
                    address = text
                    on_error("address", failure)
                case words.otherwise():
                    on_error("signer", remark.signer)
                    on_error("address", remark.address)
                case words.token(of, authority, program):
                    self.token_kind(p, words.TokenAccount, "token")
                    tokens = TokenConstraint("account", of, authority, None, program)
                    self.names(p, of, authority, program)
                case words.associated(of, authority, program):
                    self.token_kind(p, words.TokenAccount, "associated")
                    tokens = TokenConstraint("associated", of, authority, None, program)
                    self.names(p, of, authority, program)
                    pda = self.associated_pda(remark, p)
                case words.mint(authority, decimals, program):
                    self.token_kind(p, words.Mint, "mint")
                    if decimals is not None and not 0 <= decimals <= 255:
                        raise SourceError(f"decimals are 0 to 255, not {decimals}.")
                    tokens = TokenConstraint("mint", None, authority, decimals, program)
                    self.names(p, authority, program)
                case _:
                    pass
        if p.writable is False and (made or close or space):
            raise SourceError("what is created, closed or resized must be Mut.")
        if made and p.optional:
            raise SourceError("an account that is created cannot be optional.")
        if pda is not None and pda.bump is not None and made is not None and not pda.bump:
            pda = None
        if made is not None and tokens is not None:
            self.token_init(p, tokens)
        constraints = Constraints(
            state=state,
            owner=owned_by,
            has_one=tuple(has_one),
            init=made,
            close=close,
            realloc=space,
            realloc_payer=payer,
            token=tokens,
            executable=is_program,
            sysvar=p.base.__name__ if issubclass(p.base, words.Sysvar) else None,
            errors=tuple(errors),
            one_of=p.base.mcpsol_one_of if issubclass(p.base, words.Kind) else (),
        )
        return ModelAccount(
            name=p.name,
            writable=p.writable,
            signer=signs,
            optional=p.optional,
            address=address,
            pda=pda,
            docs=p.docs,
            constraints=constraints,  # also where the author asks for nothing more: None is "the source cannot say"
        )

    def check_address_or_name(self, text: object) -> None:
        try:
            address_bytes(str(text))
        except ValueError as error:
            names = [".".join(p) for p in self.accounts]
            message = f"{abbr(text)} is neither an account here nor an address. {suggest(str(text), names)}"
            raise SourceError(message) from error

    def names(self, p: _Parameter, *given: str | None) -> None:
        for name in given:
            if name is not None:
                self.need(name, p.path)

    @staticmethod
    def token_kind(p: _Parameter, wanted: type, word: str) -> None:
        if not issubclass(p.base, wanted):
            raise SourceError(f"{word}(…) is for a {wanted.__name__}, not for {p.base.__name__}.")

    def payer(self, name: object, p: _Parameter) -> _Parameter:
        found = self.need(name, p.path)
        if not (found.writable and found.signs):
            raise SourceError(f"{name!r} pays, so it must be a Payer (a signer that is written).")
        self.program_account(words.SystemProgram, "the system program creates and pays")
        return found

    def program_account(self, kind: type, why: str) -> _Parameter:
        for other in self.accounts.values():
            if issubclass(other.base, kind):
                return other
        name = snake(kind.__name__)
        raise SourceError(f"{why}: add the parameter `{name}: {kind.__name__}`.")

    def init(self, p: _Parameter, payer: str, space: int | None, if_needed: bool) -> Init:
        self.payer(payer, p)
        if if_needed and not self.program.options.allow_init_if_needed:
            raise SourceError(
                "if_needed=True takes an account that someone else may have made. Where the handler is safe with that, "
                "say @program(allow_init_if_needed=True)."
            )
        if issubclass(p.base, words.Account):
            size = self.program.state(p.base).size
            if space is None and size is None:
                raise SourceError(
                    f"{p.base.__name__} has no fixed size: say init(…, space=…), discriminator included."
                )
            if space is not None and size is not None and space < size:
                raise SourceError(
                    f"{p.base.__name__} takes {size} bytes, space={space} is too small."
                )
            if space is not None and not 0 < space <= 10 * 1024:
                raise SourceError(f"an account is created with 1 to 10240 bytes, not {space}.")
        elif not issubclass(p.base, (words.TokenAccount, words.Mint)):
            raise SourceError("init is for this program's state, a TokenAccount or a Mint.")
        elif space is not None:
            raise SourceError("token accounts and mints have their own size.")
        return Init(payer, space, if_needed)

    def token_init(self, p: _Parameter, tokens: TokenConstraint) -> None:
        self.program_account_any(_TOKEN_PROGRAMS, tokens.program)
        if tokens.kind == "associated":
            self.program_account(
                words.AssociatedTokenProgram, "the associated token program creates the account"
            )
        elif tokens.kind == "account" and (tokens.mint is None or tokens.authority is None):
            raise SourceError("to create a token account say token(mint=…, authority=…).")
        elif tokens.kind == "mint" and (tokens.authority is None or tokens.decimals is None):
            raise SourceError("to create a mint say mint(authority=…, decimals=…).")

    def program_account_any(self, kinds: tuple[type, ...], named: str | None) -> None:
        if named is None and not any(issubclass(o.base, kinds) for o in self.accounts.values()):
            raise SourceError(
                "the token program makes the account: add the parameter `token_program: TokenProgram`."
            )

    # seeds

    def pda(self, remark: words.seeds, p: _Parameter) -> Pda:
        if not remark.seeds:
            raise SourceError("seeds(…) needs at least one seed.")
        if len(remark.seeds) > 15:
            raise SourceError(
                f"an address is derived from at most 15 seeds and the bump, not {len(remark.seeds)}."
            )
        program: Value | None = None
        if remark.program is not None:
            self.check_address_or_name(remark.program)
            program = ConstValue(remark.program)
        return Pda(
            tuple(self.seed(s, p) for s in remark.seeds), program, bump=self.bump(remark.bump, p)
        )

    def bump(self, name: str | None, p: _Parameter) -> str | None:
        """The field that keeps the bump; None where nothing does, also where an argument gives it, which is
        remembered."""
        if name is None:
            return None
        given = next((a for a in self.args if a.name == name), None)
        if given is None or (issubclass(p.base, words.Account) and name in self.fields_of(p.base)):
            kind, how = self.field_type(p, name), "kept in"
        else:
            kind, how = given.type, "given as"
            if p.has(words.init):
                raise SourceError(
                    "a new account's bump is searched: with another one it would stand elsewhere."
                )
            if any(name == arg for arg, _ in self.bumps):
                raise SourceError(f"{name!r} gives another account's bump already.")
            self.bumps.append((name, AccountBumpValue(p.path)))
        if kind != U8:
            raise SourceError(f"the bump is {how} a u8; {name!r} is a {type_text(kind)}.")
        return name if how == "kept in" else None

    def seed(self, value: object, p: _Parameter) -> Seed:
        if isinstance(value, words.constant):
            value = value.value
        if isinstance(value, bytes):
            if len(value) > _MAX_SEED:
                raise SourceError(f"a seed has at most {_MAX_SEED} bytes, not {len(value)}.")
            return ConstSeed(value)
        if not isinstance(value, str):
            raise SourceError(f"a seed is bytes or a name, not {abbr(value)}.")
        account = self.find(value, p.path)
        if account is not None:
            if account == p.path:
                raise SourceError("an address cannot be a seed of itself.")
            return AccountSeed(account)
        head, *rest = value.split(".")
        owner = self.find(head, p.path)
        if owner is not None and rest:
            if len(rest) > 1:
                raise SourceError(
                    f"{value!r} goes too deep: a seed takes a field of the account's state itself."
                )
            kind = self.field_type(self.accounts[owner], rest[0])
            self.seedable(kind, value)
            return AccountSeed(owner, tuple(rest), self.accounts[owner].base.__name__, kind)
        for arg in self.args:
            if arg.name == head:
                kind = self.inside(arg.type, rest)
                self.seedable(kind, value)
                return ArgSeed((head, *rest), kind)
        names = [".".join(path) for path in self.accounts] + [a.name for a in self.args]
        raise UnresolvedName("account or argument", head, names)

    def inside(self, kind: Type, rest: list[str]) -> Type:
        for step in rest:
            body = self.program.types[kind.name][1] if isinstance(kind, Link) else None
            fields = (
                {f.name: f.type for f in body.type.fields}
                if body and isinstance(body.type, ModelStruct)
                else {}
            )
            if step not in fields:
                raise UnresolvedName("field", step, fields)
            kind = fields[step]
        return kind

    def seedable(self, kind: Type, name: str) -> None:
        size = fixed_size(Resolver(self.program.types_so_far()), kind)
        if kind in (BORSH_STRING, BORSH_BYTES) or (
            size is not None and size <= _MAX_SEED and not isinstance(kind, Link)
        ):
            return
        raise SourceError(
            f"{name!r} is a {type_text(kind)}; a seed is a number, an address, text or at most 32 bytes."
        )

    def associated_pda(self, remark: words.associated, p: _Parameter) -> Pda:
        authority = self.need(remark.authority, p.path).path
        of = self.need(remark.mint, p.path).path
        token_program: Seed | None = None
        if remark.program is not None:
            token_program = AccountSeed(self.need(remark.program, p.path).path)
        else:
            for other in self.accounts.values():
                if issubclass(other.base, _TOKEN_PROGRAMS):
                    token_program = AccountSeed(other.path)
        if token_program is None:
            token_program = ConstSeed(address_bytes(words.TokenProgram.mcpsol_address or ""))
        return Pda((AccountSeed(authority), token_program, AccountSeed(of)), _ATA_PROGRAM)


def _unwrap(annotation: object) -> tuple[Any, tuple[object, ...], bool]:
    """An account annotation taken apart: its class, its remarks, and whether it may be absent."""
    optional = False
    if get_origin(annotation) in (Union, types.UnionType):
        given = [a for a in get_args(annotation) if a is not type(None)]
        if len(given) == 1:
            optional, annotation = True, given[0]
    remarks: tuple[object, ...] = ()
    while get_origin(annotation) is Annotated:
        inner = get_args(annotation)
        if any(isinstance(r, words.Length) for r in inner[1:]):
            break
        annotation, remarks = inner[0], (*inner[1:], *remarks)
    return annotation, remarks, optional


def _json(value: object) -> object:
    """A parameter's default in the JSON form of values."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 2**53 else str(int(value))
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bytes):
        return "0x" + value.hex()
    raise SourceError(
        f"{abbr(value)} is no default: use a number, text, bytes, True, False or None."
    )
