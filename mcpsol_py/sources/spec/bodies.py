"""The method bodies of a spec: which methods have one, and what the names in them mean."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from inspect import iscoroutinefunction
from typing import Annotated, Any, TypeGuard, get_args, get_origin

from mcpsol_py.bodies.checker import check_bodies, has_body
from mcpsol_py.bodies.numbers import Number
from mcpsol_py.bodies.scope import (
    ConstantName,
    ErrorName,
    EventName,
    HelperName,
    Meaning,
    NumberName,
    ProgramName,
    ProgramScope,
    Signature,
    StateName,
    TypeName,
    Word,
    type_name,
)
from mcpsol_py.bodies.tree import (
    DATA,
    LITERAL,
    AccountParameter,
    BodyType,
    ProgramBodies,
    StateParameter,
)
from mcpsol_py.errors import SourceError
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.types import BOOL, INTS, PUBKEY, U8, Array, Int, Link, Type
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec.definitions import Definitions

__all__ = ["read_bodies"]

#: The words that bodies use. Builtins keep their name unless the module has another meaning for it.
_BUILTINS: dict[str, Meaning] = {
    name: Word(name)
    for name in ("min", "max", "range", "len", "enumerate", "zip", "all", "any")
}
_WORDS: dict[object, Meaning] = {
    words.require: Word("require"),
    words.emit: Word("emit"),
    words.emit_cpi: Word("emit_cpi"),
    words.overflow: Word("overflow"),
    words.create: Word("create"),
    words.load: Word("load"),
    words.close: Word("close"),
    words.Clock: Word("Clock"),
    words.extensions: Word("extensions"),
    words.is_token_account: Word("is_token_account"),
    words.is_mint: Word("is_mint"),
    words.is_owned: Word("is_owned"),
    words.find_program_address: Word("find_program_address"),
    words.is_before: Word("is_before"),
    words.is_new: Word("is_new"),
    words.Data: Word("Data"),
    words.is_on_curve: Word("is_on_curve"),
    words.sha256: Word("sha256"),
    words.encoded: Word("encoded"),
    min: Word("min"),
    max: Word("max"),
    range: Word("range"),
    len: Word("len"),
    enumerate: Word("enumerate"),
    zip: Word("zip"),
    all: Word("all"),
    any: Word("any"),
    **{
        number: NumberName(node)
        for number, node in words.NUMBERS.items()
        if isinstance(node, Int)
    },
}
#: The kinds of account that helpers take.
_HELPER_KINDS = (
    words.TokenAccount,
    words.Mint,
    words.TokenInterface,
    words.TokenProgram,
    words.Signer,
    words.Unchecked,
)


def read_bodies(
    model: ProgramModel,
    definitions: Definitions,
    methods: Mapping[str, types.FunctionType],
) -> ProgramBodies | None:
    """Check the bodies of *methods*, which are the program's methods by the name of their instruction.

    Returns None if no method has a body. Refusals are recorded in the problems of *definitions*.
    """
    reader = _BodiesReader(model, definitions, methods)
    bodied = list(reader.bodied())
    if not bodied:
        return None
    bodies, refusals = check_bodies(
        reader.scope(), bodied, definitions.problems.lines.text
    )
    for refusal in sorted(refusals.found, key=lambda r: (r.line, r.column)):
        definitions.problems.add_at(refusal.line, refusal.column, refusal.why)
    return bodies


class _BodiesReader:
    """Finds the bodies of one program class, and what their names mean."""

    def __init__(
        self,
        model: ProgramModel,
        definitions: Definitions,
        methods: Mapping[str, types.FunctionType],
    ) -> None:
        self.model = model
        self.definitions = definitions
        self.problems = definitions.problems
        self.lines = definitions.problems.lines
        self.cls = definitions.cls
        self.methods = methods
        self.globals: dict[str, Any] = (
            next(iter(methods.values())).__globals__ if methods else {}
        )

    def bodied(self) -> Iterator[tuple[Instruction, ast.FunctionDef]]:
        """Return each instruction whose method has a body."""
        for ix in self.model.instructions:
            method = self.methods[ix.name]
            path = f"{self.cls.__name__}.{method.__name__}"
            node = self.lines.function(method)
            if iscoroutinefunction(method):
                self.problems.add(path, "a method is not async: write def.")
            elif node is None and not _is_empty(method):
                self.problems.add(
                    path, "its body cannot be read: its file is not there."
                )
            elif node is not None and has_body(node):
                self._check_returns(method, path)
                yield ix, node

    def _check_returns(self, method: types.FunctionType, path: str) -> None:
        if vars(method)["mcpsol_instruction"].returns is not None:
            message = "a method with a body declares its result with `->`, not with `returns=`."
            self.problems.add(path, message)

    def scope(self) -> ProgramScope:
        """Return what the names in the bodies mean."""
        names = dict(_BUILTINS)
        for name, value in self.globals.items():
            meaning = self._meaning(name, value)
            if meaning is None:
                names.pop(name, None)
            else:
                names[name] = meaning
        members = dict(self._members())
        self._scope = ProgramScope(
            self.model,
            names,
            members,
            self.type_of,
            self.signature,
            frozenset(words.__all__),
        )
        return self._scope

    def _meaning(self, name: str, value: object) -> Meaning | None:
        """Return what a name of the module means in bodies."""
        if (
            isinstance(value, types.FunctionType)
            and self.lines.function(value) is not None
        ):
            return HelperName(name)
        if value is self.cls:
            return ProgramName()
        if _is_type(value):
            return TypeName(Link(value.__name__))
        try:
            return _WORDS.get(value) or _constant(value)
        except TypeError:  # it has no hash
            return None

    def _members(self) -> Iterator[tuple[str, Meaning]]:
        """Return the attributes of the program class that bodies use."""
        events, states = names_of(self.model.events), names_of(self.model.accounts)
        for name, value in vars(self.cls).items():
            if isinstance(value, words.error):
                yield name, ErrorName(name)
            elif isinstance(value, words.constant):
                found = _constant(getattr(self.cls(), name))
                if found is not None:
                    yield name, found
            elif isinstance(value, type) and value.__name__ in events:
                yield name, EventName(value.__name__)
            elif isinstance(value, type) and value.__name__ in states:
                yield name, StateName(value.__name__)
            elif _is_type(value):
                yield name, TypeName(Link(value.__name__))

    def type_of(self, node: ast.expr) -> Type:
        """Return the type of a local variable's annotation. Raises SourceError."""
        text = ast.unparse(node)
        try:
            # The author's own code, evaluated as Python evaluates annotations.
            annotation = eval(text, self.globals)
        except Exception as error:  # the author's code may raise anything
            raise SourceError(f"cannot read the annotation {text}: {error}.") from error
        return self.definitions.read_type(annotation)

    def signature(self, name: str) -> Signature | str:
        """Return the signature of a helper, or why a function of the module cannot be one."""
        function = self.globals[name]
        node = self.lines.function(function)
        assert node is not None
        if node.decorator_list or _has_odd_parameters(node.args):
            return (
                f"{name} cannot be called: a helper has no decorator, default, * and **"
            )
        hints = self.definitions.hints(function)
        arguments: dict[str, BodyType] = {}
        for parameter in (*node.args.posonlyargs, *node.args.args):
            found = self._passed(hints, parameter.arg)
            if isinstance(found, str):
                return f"{name} cannot be called: {found}"
            arguments[parameter.arg] = found
        if hints.get("return") in (None, type(None)):
            return Signature(node, arguments, None)
        result = self._parameter(hints, "return")
        return result if isinstance(result, str) else Signature(node, arguments, result)

    def _passed(self, hints: dict[str, Any], name: str) -> BodyType | str:
        """Return the type of a helper's parameter, or why it cannot be one."""
        if hints.get(name) is words.Data:
            return DATA
        return self._account(hints.get(name)) or self._parameter(
            hints, name, takes_lists=True
        )

    def _account(self, hint: object) -> StateParameter | AccountParameter | str | None:
        """Return the account or the state that a parameter takes, or why it cannot; None for other parameters."""
        base, remarks = hint, []
        if get_origin(hint) is Annotated:
            base, *remarks = get_args(hint)
        if not (
            isinstance(base, type) and issubclass(base, (words.Account, words.Kind))
        ):
            return None
        name, is_writable = base.__name__, words.WRITABLE in remarks
        if any(isinstance(remark, words.Constraint) for remark in remarks):
            return (
                "the account that a helper takes has no constraints: write Mut[…, ...]"
            )
        if base in _HELPER_KINDS:
            return AccountParameter(name, is_writable)
        if name not in names_of(self.model.accounts):
            return f"a helper cannot take {name}"
        return StateParameter(name, is_writable)

    def _parameter(
        self, hints: dict[str, Any], name: str, *, takes_lists: bool = False
    ) -> Type | str:
        """Return the type of a value that a helper takes or returns, or why it cannot be one."""
        if name not in hints:
            return f"its parameter {name!r} has no type"
        try:
            found = self.definitions.read_type(hints[name])
        except SourceError as error:
            return f"{name!r}: {error.text}"
        is_list = takes_lists and self._scope.is_list(found)
        if not is_list and not self._scope.is_usable(found):
            why = self._scope.why_unusable(found)
            return why or f"a helper cannot take or return {type_name(found)} yet"
        return found


def _is_type(value: object) -> TypeGuard[type]:
    """Return whether a value is a struct or enum of the spec, and no state or event."""
    is_type = isinstance(value, type) and issubclass(value, (words.Struct, words.Enum))
    return is_type and not issubclass(value, (words.Account, words.Event))  # type: ignore[arg-type]


def _constant(value: object) -> ConstantName | None:
    """Return the meaning of a value that the module or the class keeps under a name."""
    match value:
        case bool():
            return ConstantName(int(value), BOOL)
        case Number():
            return ConstantName(int(value), INTS[type(value).__name__])
        case int():
            return ConstantName(value, LITERAL)
        case words.Pubkey():
            return ConstantName(bytes(value), PUBKEY)
        case bytes() if value:
            return ConstantName(value, Array(U8, len(value)))
    return None


def _has_odd_parameters(args: ast.arguments) -> bool:
    return bool(args.vararg or args.kwarg or args.kwonlyargs or args.defaults)


def _is_empty(method: types.FunctionType) -> bool:
    """Return whether a function whose source is not there does nothing, by its compiled code."""
    return method.__code__.co_code == _is_empty_example.__code__.co_code


def _is_empty_example() -> None:
    """A function without a body."""
