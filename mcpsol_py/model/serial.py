"""The whole model as plain JSON values and back, without loss (docs/wire.md, "The model as JSON").

Three shapes carry every class, so that a new field of a dataclass is carried without a line here:

- a *node* (a type, a seed, a value that a client fills in) is ``[tag, field, field, …]``, or a bare word where one says
  it all ("u64", "@Vault");
- a *row* (a field, a variant, a discriminator, an error) is ``[field, field, …]``;
- a *record* (an instruction, an account, the program) is an object of its fields.

Trailing fields of nodes and rows, and any field of a record, are left out where they have their default. Bytes are
lower-case hex. Text is cleaned when it is read, as all that comes from a stranger (names.clean_text). Fields that do
not take part in a comparison (where the model was read from) are not written.
"""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model import program, types
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import Type
from mcpsol_py.names import clean_text

__all__ = [
    "MAX_DEPTH",
    "MAX_ITEMS",
    "MAX_TEXT",
    "WORDS",
    "from_json",
    "model_from_json",
    "model_to_json",
    "to_json",
    "type_from_json",
    "type_to_json",
]

#: How deep nodes may stand in one another, and how many of them one document may hold: what is read may come from a
#: stranger's program.
MAX_DEPTH = 96
MAX_ITEMS = 1_000_000
#: The longest text (a name, a line of docs) that is read whole, in characters.
MAX_TEXT = 65_536

T = TypeVar("T")
Decoder = Callable[[Any, "_Budget"], Any]

#: Types that are one word. The first of two words for one node would be written; there are none.
WORDS: dict[str, Type] = {
    **types.INTS,
    **{
        f"{name}be": types.Int(n.bits, n.signed, True)
        for name, n in types.INTS.items()
        if n.bits > 8
    },
    "shortU16": types.ShortU16(),
    "f32": types.F32,
    "f64": types.F64,
    "f32be": types.Float(32, True),
    "f64be": types.Float(64, True),
    "bool": types.BOOL,
    "pubkey": types.PUBKEY,
    "string": types.BORSH_STRING,
    "bytes": types.BORSH_BYTES,
    "text": types.String(),
    "raw": types.Bytes(),
}
_WORD_OF: dict[Type, str] = {node: word for word, node in WORDS.items()}

#: class -> the tag that opens its node
_TAGS: dict[type, str] = {
    types.Int: "int",
    types.ShortU16: "shortU16",
    types.Float: "float",
    types.Bool: "bool",
    types.Pubkey: "pubkey",
    types.String: "text",
    types.Bytes: "raw",
    types.SizePrefixed: "sized",
    types.FixedSize: "fixed",
    types.Sentinel: "until",
    types.HiddenPrefix: "before",
    types.HiddenSuffix: "after",
    types.Offset: "offset",
    types.Option: "option",
    types.ZeroableOption: "zeroable",
    types.RemainderOption: "remainder",
    types.Generic: "generic",
    types.Array: "array",
    types.Set: "set",
    types.Map: "map",
    types.Tuple: "tuple",
    types.Struct: "struct",
    types.Enum: "enum",
    types.Link: "link",
    types.Amount: "amount",
    types.DateTime: "time",
    types.Unsupported: "unsupported",
    program.ConstValue: "const",
    program.ArgValue: "arg",
    program.AccountValue: "account",
    program.AccountBumpValue: "bump",
    program.ProgramIdValue: "program",
    program.IdentityValue: "identity",
    program.PayerValue: "payer",
    program.ResolverValue: "resolver",
    program.PdaValue: "pda",
    program.ConditionalValue: "if",
    program.ConstSeed: "const",
    program.ArgSeed: "arg",
    program.AccountSeed: "account",
    program.ProgramIdSeed: "program",
    program.UnknownSeed: "unknown",
}
_ROWS: frozenset[type] = frozenset(
    {
        types.Field,
        types.Variant,
        types.GenericParam,
        types.Default,
        program.ErrorCode,
        program.Discriminator,
        program.Init,
        program.Pda,
    }
)


# --- model -> JSON ---------------------------------------------------------------------------------------------------


def model_to_json(model: ProgramModel) -> dict[str, Any]:
    """The model as JSON values (docs/wire.md). `model_from_json` is its inverse."""
    return cast("dict[str, Any]", to_json(model))


def type_to_json(node: Type) -> Any:
    """One type as JSON values: a word, or a list that opens with its tag."""
    return to_json(node)


def to_json(value: Any) -> Any:
    """Any class of the model (or a tuple of them) as JSON values."""
    kind: Any = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is tuple:
        return [to_json(v) for v in value]
    if kind is bytes:
        return value.hex()
    if kind is types.Link and not value.args:
        return "@" + value.name
    if kind is types.TypeArg:
        return to_json(value.value)
    if kind is types.Array and value.count == types.U32:
        return ["vec", to_json(value.item)]
    tag = _TAGS.get(kind)
    if tag is not None:
        if tag in WORDS or kind is types.SizePrefixed or kind is types.Int or kind is types.Float:
            word = _WORD_OF.get(value)
            if word is not None:
                return word
        return [tag, *_row(value)]
    if kind in _ROWS:
        return _row(value)
    return {
        name: _any_to_json(item) if free else to_json(item)
        for name, default, free in _layout(kind)
        if (item := getattr(value, name)) != default or type(item) is not type(default)
    }


def _row(value: Any) -> list[Any]:
    out: list[Any] = []
    keep = 0
    for name, default, free in _layout(cast(Any, type(value))):
        item = getattr(value, name)
        out.append(_any_to_json(item) if free else to_json(item))
        if default is MISSING or item != default or type(item) is not type(default):
            keep = len(out)
    return out[:keep]


@cache
def _layout(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    """(field, its default, is it free JSON?) of the fields that are written."""
    hints = _hints(kind)
    return tuple((f.name, _default(f), hints[f.name] is object) for f in fields(kind) if f.compare)


def _default(f: Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _any_to_json(value: Any) -> Any:
    """A free JSON value (a default, a constant). What JSON readers would lose is wrapped in an object with one key that
    opens with $.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if -(2**53) < value < 2**53 else {"$int": str(value)}
    if kind is float:
        return {"$float": repr(value)}
    if kind is list:
        return [_any_to_json(v) for v in value]
    if kind is tuple:
        return {"$tuple": [_any_to_json(v) for v in value]}
    if kind is bytes:
        return {"$hex": value.hex()}
    if kind is dict:
        out = {str(k): _any_to_json(v) for k, v in value.items()}
        return {"$": out} if len(out) == 1 and next(iter(out)).startswith("$") else out
    raise SourceError(
        f"{abbr(value)} ({kind.__name__}) is no JSON value. Use null, bool, number, text, list or object."
    )


def _any_from_json(value: Any, budget: _Budget) -> Any:
    with budget:
        if isinstance(value, list):
            return [_any_from_json(v, budget) for v in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            key, item = next(iter(value.items()))
            if key.startswith("$"):
                return (
                    _UNWRAP[key](item, budget) if key in _UNWRAP else _bad(value, "a wrapped value")
                )
        return {k: _any_from_json(v, budget) for k, v in value.items()}


def _plain_object(value: Any, budget: _Budget) -> Any:
    if not isinstance(value, dict):
        return _bad(value, "an object")
    return {k: _any_from_json(v, budget) for k, v in value.items()}


def _big_int(value: Any, _: _Budget) -> int:
    if not isinstance(value, str) or len(value) > 100 or not value.removeprefix("-").isdecimal():
        return cast(int, _bad(value, "a decimal number"))
    return int(value)


def _float(value: Any, _: _Budget) -> float:
    try:
        return (
            float(value)
            if isinstance(value, str) and len(value) < 40
            else cast(float, _bad(value, "a number"))
        )
    except ValueError:
        return cast(float, _bad(value, "a number"))


_UNWRAP: dict[str, Decoder] = {
    "$int": _big_int,
    "$float": _float,
    "$tuple": lambda v, b: (
        tuple(_any_from_json(v, b)) if isinstance(v, list) else _bad(v, "a list")
    ),
    "$hex": lambda v, _: _hex(v),
    "$": _plain_object,
}

# --- JSON -> model ---------------------------------------------------------------------------------------------------


def model_from_json(value: Any) -> ProgramModel:
    """The model that `model_to_json` wrote. Raises SourceError with the path of what does not fit.

    Keys and fields that this version does not know are refused: a model that is read is whole.
    """
    return from_json(ProgramModel, value)


def type_from_json(value: Any) -> Type:
    """The type that `type_to_json` wrote. Raises SourceError."""
    return cast(Type, _decoder(Type)(value, _Budget()))


def from_json(kind: type[T], value: Any) -> T:
    """An object of *kind*, a class of the model. Raises SourceError with the path of what does not fit."""
    hint: Any = kind
    return cast(T, _decoder(hint)(value, _Budget()))


class _Budget:
    """Depth and number of nodes left; entered once for each."""

    __slots__ = ("depth", "items")

    def __init__(self) -> None:
        self.depth = 0
        self.items = 0

    def __enter__(self) -> None:
        self.depth += 1
        self.items += 1
        if self.depth > MAX_DEPTH:
            raise SourceError(f"values nest deeper than {MAX_DEPTH} levels")
        if self.items > MAX_ITEMS:
            raise SourceError(f"more than {MAX_ITEMS:,} values")

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def _bad(value: Any, wanted: str) -> Any:
    raise SourceError(f"found {abbr(value)} where {wanted} must stand")


def _hex(value: Any) -> bytes:
    try:
        if (isinstance(value, str) and value.isalnum()) or value == "":
            return bytes.fromhex(value)
    except ValueError:
        pass
    return cast(bytes, _bad(value, "bytes in hex"))


_CLASS_OF_TAG: dict[str, dict[str, type]] = {
    union: {tag: c for c, tag in _TAGS.items() if c in members}
    for union, members in (
        ("type", frozenset(get_args(Type))),
        ("value", frozenset(get_args(program.Value))),
        ("seed", frozenset(get_args(program.Seed))),
    )
}


@cache
def _decoder(hint: Any) -> Decoder:
    """What reads a value of the annotation *hint*."""
    if hint is object or hint is Any:
        return _any_from_json
    if hint is str:
        return lambda v, _: clean_text(v, MAX_TEXT) if isinstance(v, str) else _bad(v, "text")
    if hint is bool:
        return lambda v, _: v if isinstance(v, bool) else _bad(v, "true or false")
    if hint is int:
        return lambda v, _: (
            v if isinstance(v, int) and not isinstance(v, bool) else _bad(v, "a whole number")
        )
    if hint is bytes:
        return lambda v, _: _hex(v)
    if hint is types.TypeArg:
        return lambda v, b: types.TypeArg(
            v if isinstance(v, int) and not isinstance(v, bool) else _node("type")(v, b)
        )
    origin = get_origin(hint)
    if origin is tuple:
        return _tuple_decoder(get_args(hint))
    if origin is Literal:
        allowed = frozenset(get_args(hint))
        return lambda v, _: (
            v if isinstance(v, str) and v in allowed else _bad(v, " or ".join(map(repr, allowed)))
        )
    if origin is Union or origin is UnionType:
        return _union_decoder(get_args(hint))
    if hint in _TAGS:
        return _one_class(hint)
    if is_dataclass(hint):
        kind: Any = hint
        return _row_decoder(kind) if kind in _ROWS else _record_decoder(kind)
    raise TypeError(f"no shape for {hint!r}")  # pragma: no cover  # a new annotation in the model


def _tuple_decoder(args: tuple[Any, ...]) -> Decoder:
    if len(args) == 2 and args[1] is Ellipsis:
        item = _lazy(args[0])

        def read_all(value: Any, budget: _Budget) -> Any:
            if not isinstance(value, list):
                return _bad(value, "a list")
            out = []
            for i, v in enumerate(value):
                try:
                    out.append(item(v, budget))
                except SourceError as error:
                    raise error.at(path=f"[{i}]") from None
            return tuple(out)

        return read_all
    items = [_lazy(a) for a in args]

    def read_each(value: Any, budget: _Budget) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            return _bad(value, f"a list of {len(items)}")
        return tuple(read(v, budget) for read, v in zip(items, value, strict=True))

    return read_each


def _lazy(hint: Any) -> Decoder:
    """The decoder of *hint*, made at its first use: types hold types."""
    if not isinstance(hint, type):
        return _decoder(hint) if get_origin(hint) is Literal else lambda v, b: _decoder(hint)(v, b)
    return lambda v, b: _decoder(hint)(v, b)


_UNIONS = {
    "type": frozenset(get_args(Type)),
    "value": frozenset(get_args(program.Value)),
    "seed": frozenset(get_args(program.Seed)),
}


def _union_decoder(args: tuple[Any, ...]) -> Decoder:
    members = frozenset(args)
    optional = NoneType in members
    rest = members - {NoneType}
    inner: Decoder
    for name, union in _UNIONS.items():
        if rest == union:
            inner = _node(name)
            break
    else:
        if rest == {program.Account, program.AccountGroup}:
            return _account_item
        if len(rest) == 1:
            inner = _decoder(next(iter(rest)))
        elif types.Generic in rest:
            inner = _count
        elif rest == {types.Int, types.ShortU16} or rest == {types.Type, int}:
            inner = _node("type")
        else:
            inner = _first_of([_decoder(a) for a in args if a is not NoneType])
    if not optional:
        return inner
    return lambda v, b: None if v is None else inner(v, b)


def _first_of(decoders: list[Decoder]) -> Decoder:
    """For `bool | Literal["either"]`."""

    def read(value: Any, budget: _Budget) -> Any:
        for decode in decoders[:-1]:
            try:
                return decode(value, budget)
            except SourceError:
                continue
        return decoders[-1](value, budget)

    return read


def _count(value: Any, budget: _Budget) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value >= 0 else _bad(value, "a count")
    node = _node("type")(value, budget)
    return (
        node
        if isinstance(node, (types.Int, types.ShortU16, types.Generic))
        else _bad(value, "a count")
    )


def _account_item(value: Any, budget: _Budget) -> Any:
    group = isinstance(value, dict) and "accounts" in value
    return _decoder(program.AccountGroup if group else program.Account)(value, budget)


def _one_class(kind: type) -> Decoder:
    union = next(name for name, members in _UNIONS.items() if kind in members)
    read = _node(union)
    return lambda v, b: (
        found if isinstance(found := read(v, b), kind) else _bad(v, f"a node {_TAGS[kind]!r}")
    )


@cache
def _node(union: str) -> Decoder:
    """What reads a node of one of the three unions."""
    classes = _CLASS_OF_TAG[union]

    def read(value: Any, budget: _Budget) -> Any:
        if union == "type":
            if isinstance(value, str):
                word = WORDS.get(value)
                if word is not None:
                    return word
                if value[:1] == "@":
                    return types.Link(clean_text(value[1:], MAX_TEXT))
                return _bad(value, "a type")
            if isinstance(value, list) and len(value) == 2 and value[0] == "vec":
                with budget:
                    return types.Array(read(value[1], budget), types.U32)
        if (
            not isinstance(value, list)
            or not value
            or not isinstance(value[0], str)
            or value[0] not in classes
        ):
            return _bad(value, f"a {union}")
        return _row_decoder(classes[value[0]])(value[1:], budget)

    return read


@cache
def _row_decoder(kind: Any) -> Decoder:
    hints = _hints(kind)
    layout = [(f.name, _default(f), _lazy(hints[f.name])) for f in fields(kind) if f.compare]
    required = sum(1 for _, default, _ in layout if default is MISSING)

    def read(value: Any, budget: _Budget) -> Any:
        if not isinstance(value, list) or not required <= len(value) <= len(layout):
            return _bad(value, f"{required} to {len(layout)} fields of {kind.__name__}")
        with budget:
            out = []
            for item, (name, _, decode) in zip(value, layout, strict=False):
                try:
                    out.append(decode(item, budget))
                except SourceError as error:
                    raise error.at(path=name) from None
            return kind(*out)

    return read


@cache
def _record_decoder(kind: Any) -> Decoder:
    hints = _hints(kind)
    decoders = {f.name: _lazy(hints[f.name]) for f in fields(kind) if f.compare}
    required = [f.name for f in fields(kind) if f.compare and _default(f) is MISSING]

    def read(value: Any, budget: _Budget) -> Any:
        if not isinstance(value, dict):
            return _bad(value, f"an object ({kind.__name__})")
        for name in required:
            if name not in value:
                raise SourceError(
                    f"{kind.__name__} without {name!r}; an object with it must stand here"
                )
        out: dict[str, Any] = {}
        with budget:
            for name, item in value.items():
                decode = decoders.get(name)
                if decode is None:
                    raise SourceError(
                        f"{kind.__name__} has no field {abbr(name)}: written by a newer version? "
                        f"Fields: {', '.join(decoders)}"
                    )
                try:
                    out[name] = decode(item, budget)
                except SourceError as error:
                    raise error.at(path=name) from None
            return kind(**out)

    return read
