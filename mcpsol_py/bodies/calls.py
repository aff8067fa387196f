"""Checks the calls in a body: conversions, helpers, the words of the language, and calls of other programs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.data_reads import DATA_METHODS, TRANSACTION_METHODS
from mcpsol_py.bodies.expressions import Expressions, bounds
from mcpsol_py.bodies.function import Context, Stopped
from mcpsol_py.bodies.loops import COUNTED, Loops, items_of
from mcpsol_py.bodies.opening import Opening, is_free
from mcpsol_py.bodies.scope import (
    ErrorName,
    EventName,
    HelperName,
    NumberName,
    Signature,
    TypeName,
    Word,
    is_bytes,
    is_usable,
    type_name,
)
from mcpsol_py.bodies.token_reads import kind_of, zero_range
from mcpsol_py.bodies.tree import (
    DATA,
    LITERAL,
    NOTHING,
    UNKNOWN,
    BodyType,
    Expression,
    Statement,
)
from mcpsol_py.errors import suggest
from mcpsol_py.model.program import Account, ErrorCode, Event
from mcpsol_py.model.types import BOOL, PUBKEY, U8, U64, Array, Int, Link, Type
from mcpsol_py.solana import ids

__all__ = ["ASSOCIATED_CALLS", "PROGRAM_CALLS", "Calls", "ProgramCall", "Role"]


_Kind: TypeAlias = Literal["account", "mint"]


@dataclass(frozen=True, slots=True)
class Role:
    """An account that a call takes. `kind`: the kind that it must have, None for any.

    `program`: for an account that is a program, the annotation of it. `one_of`: the addresses that this may have.
    """

    kind: _Kind | None
    written: bool = True
    program: str = ""
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """An instruction of another program: its number, its accounts in its own order, and its arguments.

    `others`: the accounts beside the one that signs, whose role is `authority`. They come before it, or after it if it
    is written, because it pays.
    """

    number: int
    others: dict[str, Role]
    authority: str
    values: dict[str, Type]
    pays: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of all accounts."""
        if self.pays:
            return (self.authority, *self.others)
        return (*self.others, self.authority)


_AMOUNT: dict[str, Type] = {"amount": U64}
_ACCOUNT, _MINT, _ANY = Role("account"), Role("mint"), Role(None)
_READ_MINT, _READ = Role("mint", written=False), Role(None, written=False)
#: The instructions of SPL Token and Token-2022 that bodies call, by their names there.
PROGRAM_CALLS: dict[str, ProgramCall] = {
    "transfer": ProgramCall(
        3, {"source": _ACCOUNT, "destination": _ACCOUNT}, "authority", _AMOUNT
    ),
    "approve": ProgramCall(
        4, {"source": _ACCOUNT, "delegate": _READ}, "owner", _AMOUNT
    ),
    "revoke": ProgramCall(5, {"source": _ACCOUNT}, "authority", {}),
    "mint_to": ProgramCall(
        7, {"mint": _MINT, "account": _ACCOUNT}, "mint_authority", _AMOUNT
    ),
    "burn": ProgramCall(8, {"account": _ACCOUNT, "mint": _MINT}, "authority", _AMOUNT),
    "close_account": ProgramCall(
        9, {"account": _ACCOUNT, "destination": _ANY}, "authority", {}
    ),
    "transfer_checked": ProgramCall(
        12,
        {"source": _ACCOUNT, "mint": _READ_MINT, "destination": _ACCOUNT},
        "authority",
        {"amount": U64, "decimals": U8},
    ),
}
#: Those of the associated token account program.
ASSOCIATED_CALLS: dict[str, ProgramCall] = {
    "create_idempotent": ProgramCall(
        1,
        {
            "account": _ANY,
            "owner": _READ,
            "mint": _READ_MINT,
            "system_program": Role(None, False, "SystemProgram", (ids.SYSTEM_PROGRAM,)),
            "token_program": Role(None, False, "TokenInterface", ids.TOKEN_PROGRAMS),
        },
        "payer",
        {},
        pays=True,
    )
}
_KIND_NAMES = {None: "", "account": "TokenAccount", "mint": "Mint"}
_KIND_WORDS = {"is_token_account": "account", "is_mint": "mint"}
_HOW: dict[
    str, tuple[Literal["wrapping", "saturating"], Literal["add", "sub", "mul"]]
] = {
    "wrapping_add": ("wrapping", "add"),
    "wrapping_sub": ("wrapping", "sub"),
    "wrapping_mul": ("wrapping", "mul"),
    "saturating_add": ("saturating", "add"),
    "saturating_sub": ("saturating", "sub"),
    "saturating_mul": ("saturating", "mul"),
}


#: Calls that Python programmers know, with what a body has in their place.
_NO_CALL = {
    **dict.fromkeys(("sum", "sorted", "reversed"), "write a loop"),
    **dict.fromkeys(("int", "float", "round"), "convert numbers by u64(…)"),
    **dict.fromkeys(("pow", "divmod"), "write the operators"),
    "abs": "write -x if x < 0 else x",
    "bool": "compare, as in x != 0",
    "bytes": "take parts of data, and compare values as they are",
    "isinstance": "a value that may be None is checked by `is None`",
    "print": "emit an event",
    "Pubkey": "make addresses at the top of the module, as in NAME = Pubkey(…)",
}
#: The seeds of an address at most; the bump is one more.
_MOST_SEEDS = 15
#: The most bytes of return data.
_MOST_CARRIED = 1024
#: Why the program does not sign for an optional account.
_NO_SEEDS = "the program signs only for accounts that are always there"
#: In place of an account that is not there.
_NO_ACCOUNT = Account("")


class Calls:
    """Checks the calls of one function."""

    def __init__(self, context: Context) -> None:
        self.context = context
        #: the call whose value is a whole statement's, so that it may change state
        self.whole: ast.expr | None = None
        self.refuse, self.need, self.stopped = (
            context.refuse,
            context.need,
            context.stopped,
        )
        self.expressions = Expressions(context, self.value)
        self.opening = Opening(context)
        self.loops = Loops(self.expressions)

    # --- calls that have a value

    def value(self, node: ast.Call) -> Expression:
        """Return the tree of a call inside an expression."""
        meaning = self.context.meaning(node.func)
        match meaning:
            case NumberName(kind):
                return self._conversion(node, kind)
            case HelperName(name):
                return self._helper(node, name)
            case TypeName(kind):
                return self._struct(node, kind)
            case Word("min" | "max" as name):
                return self._min_max(node, name)
            case Word("is_token_account" | "is_mint" as name):
                return self._is_kind(node, _KIND_WORDS[name])
            case Word("is_owned"):
                return self._is_owned(node)
            case Word("is_new"):
                self.positional(node, 1)
                return tree.IsNew(self.context.always_there(node.args[0]))
            case Word("create" | "load" as name):
                why = f"{name}(…) opens state: give it a name, as in state = {name}(…)"
                raise self.stopped(node, why)
            case Word("Data"):
                why = "bytes become data to be read at once, as in Data(x).u64(0)"
                raise self.stopped(node, why)
            case Word("is_on_curve"):
                self.positional(node, 1)
                return tree.IsOnCurve(self.expressions.typed(node.args[0], PUBKEY))
            case Word("is_before"):
                self.positional(node, 2)
                left, right = (self.expressions.typed(x, PUBKEY) for x in node.args)
                return tree.IsBefore(left, right)
            case Word("find_program_address"):
                return self._find_address(node)
            case Word("sha256"):
                return self._hash(node)
            case Word("encoded"):
                why = "bytes are hashed at once, as in sha256(encoded(items))"
                raise self.stopped(node, why)
            case Word("len"):
                return self.expressions.data.length(node)
            case Word("all" | "any" as which):
                return self._quantified(node, which)
            case Word() | EventName():
                raise self.stopped(
                    node, f"{ast.unparse(node.func)}(…) is a statement of its own"
                )
        match node.func:
            case ast.Attribute(ast.Name() as owner, "get") if self._is_clock(owner):
                return self._clock(node)
            case ast.Attribute(receiver, "is_zero"):
                return self._is_zero(node, receiver)
            case ast.Attribute(ast.Name(sysvar), name) if (
                name in TRANSACTION_METHODS and sysvar in self.context.accounts
            ):
                return self.expressions.data.of_transaction(node, sysvar, name)
            case ast.Attribute(receiver, name) if name in DATA_METHODS:
                return self.expressions.data.method(node, receiver, name)
            case ast.Attribute(receiver, name) if name in _HOW:
                return self._arithmetic_method(node, receiver, name)
            case ast.Attribute(ast.Name(program), name) if (
                name in PROGRAM_CALLS | ASSOCIATED_CALLS
                and program in self.context.accounts
            ):
                why = f"{program}.{name}(…) is a statement of its own: it has no value"
                raise self.stopped(node, why)
        shown = ast.unparse(node.func)
        if shown in _NO_CALL:
            raise self.stopped(node, f"bodies have no {shown}: {_NO_CALL[shown]}")
        missing = self.context.scope.missing_import(node.func)
        self.need(not missing, node, missing)
        is_own = isinstance(node.func, ast.Name) and self.context.is_own(shown)
        why = f"{shown!r} is a parameter or a variable here, not a function"
        self.need(not is_own, node, why)
        near = suggest(shown, [*self.context.scope.names, *self.context.scope.members])
        raise self.stopped(node, f"{shown}(…) is not known in a body. {near}".strip())

    def _is_clock(self, node: ast.expr) -> bool:
        return self.context.meaning(node) == Word("Clock")

    def _clock(self, node: ast.Call) -> Expression:
        self.positional(node, 0)
        return tree.ClockNow()

    def positional(self, node: ast.Call, count: int) -> None:
        """Refuse a call that has not *count* arguments by position, and none by name. Raises Stopped."""
        has_star = ast.Starred in map(type, node.args)
        given = (len(node.args), len(node.keywords), has_star)
        shown = "argument" if count == 1 else "arguments"
        why = f"{ast.unparse(node.func)}(…) takes {count} {shown} by position"
        self.need(given == (count, 0, False), node, why)

    def _conversion(self, node: ast.Call, kind: Int) -> Expression:
        self.positional(node, 1)
        self.need(is_usable(kind), node, f"{type_name(kind)} cannot be used in a body")
        argument = node.args[0]
        found = self.expressions.as_literal(
            argument, self.expressions.value(argument), kind
        )
        if found.type in (kind, UNKNOWN):
            return found
        if isinstance(found.type, tree.Counter) and isinstance(found, COUNTED):
            found = replace(found, type=found.type.number)
            if found.type == kind:
                return found
        self.expressions.there(argument, found)
        why = f"{type_name(found.type)} is not a number"
        source = self.context.number(argument, found.type, why)
        (low, high), (to_low, to_high) = bounds(source), bounds(kind)
        widens = to_low <= low and high <= to_high
        return tree.Convert(found, widens, self.context.overflow, kind)

    # --- conditions on items

    def _quantified(
        self, node: ast.Call, which: Literal["all", "any"]
    ) -> tree.Quantified:
        """`all(entry.amount > 0 for entry in entries)`, `any(flags)`. Raises Stopped."""
        self.positional(node, 1)
        match node.args[0]:
            case ast.GeneratorExp(_, [loop]) as made:
                return self._for_each(made, loop, which)
            case ast.GeneratorExp(_, [_, second, *_]):
                why = f"{which}(…) has one loop: write the other as all(…) or any(…) inside it"
                raise self.stopped(second.target, why)
        listed = self.expressions.sequence(node.args[0])
        items = None if listed is None else items_of(listed)
        why = f"{which}(…) takes conditions, as in {which}(x > 0 for x in items)"
        if items is None or items.type != BOOL:
            raise self.stopped(node.args[0], why)
        return tree.Quantified(which, items, (), None, None)

    def _for_each(
        self,
        node: ast.GeneratorExp,
        loop: ast.comprehension,
        which: Literal["all", "any"],
    ) -> tree.Quantified:
        """Its variables have a scope of their own. What `if` leaves out decides nothing."""
        self.need(not loop.is_async, loop.target, "bodies have no async")
        context = self.context
        names = {n.id: n for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        for name, target in names.items():
            why = f"{name!r} has a value: give the loop another name"
            self.need(name not in context.assigned, target, why)
        with context.own_names(names):
            turns = self.loops.turns(loop.target, loop.iter)
            with self.loops.one_turn(turns, names):
                found = self.expressions.condition(_decided(node.elt, loop.ifs, which))
        return tree.Quantified(which, turns.over, turns.names, turns.index, found)

    # --- conditions on accounts

    def _is_kind(self, node: ast.Call, kind: str) -> Expression:
        """`is_token_account(account, token_program)` or `is_mint(…)`."""
        self.positional(node, 2)
        account, program = map(self.context.always_there, node.args)
        self.context.need_closed(node.args[0], account)
        is_program = self._is_token_program(self.context.accounts[program])
        self.need(is_program, node.args[1], f"{program} is no token program")
        return tree.IsKind(account, kind, program)

    def _is_owned(self, node: ast.Call) -> Expression:
        """`is_owned(account, program)`: the address of a program owns the account."""
        self.positional(node, 2)
        account = self.context.always_there(node.args[0])
        return tree.IsOwned(account, self.expressions.typed(node.args[1], PUBKEY))

    def _is_zero(self, node: ast.Call, receiver: ast.expr) -> Expression:
        """`extension.is_zero(start, stop)`."""
        found = self.expressions.value(receiver)
        self.expressions.known(found)
        why = f"{type_name(found.type)} has no is_zero"
        self.need(found.type is tree.EXTENSION, node, why)
        return tree.IsZero(found, *zero_range(self.context, node))

    def _hash(self, node: ast.Call) -> Expression:
        """`sha256(part, …)`."""
        is_plain = not node.keywords and ast.Starred not in map(type, node.args)
        self.need(
            is_plain and bool(node.args), node, "sha256(…) takes its values by position"
        )
        given = [self._encoded(arg) for arg in node.args]
        parts = tuple(self._listed(arg) or self.expressions.value(arg) for arg in given)
        for part, found in zip(given, parts, strict=True):
            self._need_bytes(part, found)
        return tree.Hash(parts)

    def _encoded(self, node: ast.expr) -> ast.expr:
        """Return the value of `encoded(value)`, which is hashed as the value alone; other expressions as they are."""
        match node:
            case ast.Call(func) as call if self.context.meaning(func) == Word(
                "encoded"
            ):
                self.positional(call, 1)
                return call.args[0]
        return node

    def _find_address(self, node: ast.Call) -> Expression:
        """`find_program_address(seed, …, program=address)`."""
        named = {each.arg: each.value for each in node.keywords}
        is_plain = set(named) == {"program"} and ast.Starred not in map(type, node.args)
        why = "find_program_address takes seeds, and program= by name"
        self.need(is_plain, node, why)
        self.need(0 < len(node.args) <= _MOST_SEEDS, node, f"{why}: 1 to {_MOST_SEEDS}")
        seeds = tuple(map(self.expressions.value, node.args))
        for arg, found in zip(node.args, seeds, strict=True):
            self._need_seed(arg, found)
        program = self.expressions.typed(named["program"], PUBKEY)
        return tree.FindAddress(seeds, program)

    def _need_seed(self, node: ast.expr, found: Expression) -> None:
        """Refuse a value that cannot be a seed: it has at most 32 bytes, and their number is fixed."""
        kind, shown = found.type, ast.unparse(node)
        if kind is LITERAL or isinstance(kind, tree.Counter):
            self.refuse(node, f"{shown} has no width: write u64({shown})")
        elif isinstance(kind, Array) and isinstance(kind.count, int):
            why = f"a seed has at most 32 bytes, and {shown} has {kind.count}"
            self.need(kind.count <= 32, node, why)
        elif kind not in (BOOL, PUBKEY, UNKNOWN) and not isinstance(kind, Int):
            why = f"a seed is a number, a flag, an address or bytes, not {type_name(kind)}"
            self.refuse(node, why)

    def _listed(self, node: ast.expr) -> Expression | None:
        """Return a list of values; None for other expressions."""
        found = self.expressions.sequence(node)
        is_list = found is not None and isinstance(found.type, Array)
        return found if is_list else None

    def _need_bytes(self, node: ast.expr, found: Expression) -> None:
        """Refuse a value whose bytes sha256 does not take."""
        kind, shown = found.type, ast.unparse(node)
        if kind is LITERAL or isinstance(kind, tree.Counter):
            self.refuse(node, f"{shown} has no width: write u64({shown})")
        elif kind not in (BOOL, PUBKEY, DATA, UNKNOWN) and not isinstance(
            kind, (Int, Array)
        ):
            why = f"sha256 takes numbers, flags, addresses, bytes and lists, not {type_name(kind)}"
            self.refuse(node, why)

    def _min_max(self, node: ast.Call, name: Literal["min", "max"]) -> Expression:
        self.positional(node, 2)
        for arg in node.args:
            shown = ast.unparse(arg)
            self.need(
                not self._is_bare(arg), arg, f"{shown} has no width: write u64({shown})"
            )
        left, right, kind = self.expressions.operands(*node.args)
        why = f"{name} takes numbers, not {type_name(kind)}"
        return tree.MinMax(name, left, right, self.context.number(node, kind, why))

    def _is_bare(self, node: ast.expr) -> bool:
        """Return whether a number has no width; `min(x, 5)` would be an int in Python."""
        inner = node.operand if isinstance(node, ast.UnaryOp) else node
        return isinstance(inner, ast.Constant) and type(inner.value) is int

    def _arithmetic_method(
        self, node: ast.Call, receiver: ast.expr, name: str
    ) -> Expression:
        self.positional(node, 1)
        left = self.expressions.value(receiver)
        right = self.expressions.value(node.args[0])
        self.expressions.known(left, right)
        self.expressions.there(receiver, left)
        why = f"{type_name(left.type)} has no {name}"
        kind = self.context.number(node, left.type, why)
        right = self.expressions.as_literal(node.args[0], right, kind)
        right = self.expressions.fits(node.args[0], right, kind)
        how, operation = _HOW[name]
        return self.expressions.arithmetic(node, operation, how, left, right, kind)

    def _helper(self, node: ast.Call, name: str) -> Expression:
        signature = self._signature(node, name)
        why = f"{name} writes state, and expressions change nothing: assign its result first"
        self.need(not signature.writes_state or node is self.whole, node, why)
        kinds = list(signature.arguments.values())
        returns = NOTHING if signature.returns is None else signature.returns
        self.positional(node, len(kinds))
        given = zip(node.args, kinds, strict=True)
        values = tuple(self._argument(arg, kind) for arg, kind in given)
        self._need_different_accounts(node, values)
        return tree.HelperCall(name, values, self.context.overflow, returns)

    def _signature(self, node: ast.Call, name: str) -> Signature:
        """Return the signature of the helper that *node* calls. Raises Stopped if it is refused."""
        signature = self.context.scope.signature(name)
        if isinstance(signature, str):
            raise self.stopped(node, signature)
        self.context.called.setdefault(name, node)
        return signature

    def _argument(self, node: ast.expr, kind: BodyType) -> Expression:
        with suppress(Stopped):
            if isinstance(kind, tree.StateParameter):
                return self._state(node, kind)
            if isinstance(kind, tree.AccountParameter):
                return self._account(node, kind)
            if self.context.scope.is_list(kind):
                return self._list(node, kind)
            return self.expressions.typed(node, kind)
        return tree.Unknown()

    def _list(self, node: ast.expr, kind: BodyType) -> Expression:
        """Return a list, for a helper that takes it. Raises Stopped."""
        found = self.expressions.sequence(node)
        if found is None or found.type != kind:
            raise self.stopped(node, f"expected an argument that is {type_name(kind)}")
        return found

    def _account(self, node: ast.expr, kind: tree.AccountParameter) -> Expression:
        """Return an account, for a helper that takes one of this kind. Raises Stopped."""
        name = self.context.always_there(node)
        account = self.context.accounts[name]
        fits = {
            "TokenAccount": kind_of(self.context, account) == "account",
            "Mint": kind_of(self.context, account) == "mint",
            "TokenInterface": self._is_token_program(account),
            "TokenProgram": account.address == ids.TOKEN_PROGRAM,
            "Signer": account.signer is True,
        }
        self.need(
            fits.get(kind.name, True),
            node,
            f"expected a {kind.name}, which {name} is not",
        )
        self.need(
            account.rules.state is None, node, f"{name} holds state of the program"
        )
        self.context.need_closed(node, name)
        return tree.AccountArgument(name, kind)

    def _state(self, node: ast.expr, kind: tree.StateParameter) -> Expression:
        """Return the state of an account, for a helper that takes it."""
        account = self.context.accounts.get(ast.unparse(node), _NO_ACCOUNT)
        is_held = account.rules.state == kind.name
        self.need(is_held, node, f"expected an account with the state {kind.name}")
        self.context.need_there(node, account)
        has_size = self.context.scope.state_fields(account) is not None
        why = (
            f"the state of {account.name} has no fixed size: bodies cannot read it yet"
        )
        self.need(has_size, node, why)
        is_closed = account.name in self.context.closed
        self.need(
            not is_closed, node, f"{account.name} is closed: it has no state any more"
        )
        can_write = account.writable >= kind.writable
        self.need(
            can_write, node, f"{account.name} is written there: declare it as Mut[…]"
        )
        if kind.writable:
            self.context.need_named(node, account.name)
        return tree.StateArgument(account.name, kind)

    def _need_different_accounts(
        self, node: ast.Call, values: tuple[Expression, ...]
    ) -> None:
        names = [
            value.account for value in values if isinstance(value, tree.StateArgument)
        ]
        why = "one account is given twice: the helper would write what it reads"
        self.need(len(names) == len(set(names)), node, why)

    def _struct(self, node: ast.Call, kind: Link) -> Expression:
        """`Quote(price=…)`: a new struct."""
        fields = self.context.scope.struct_fields(kind)
        can_make = bool(fields) and self.context.scope.is_usable(kind)
        why = self.context.scope.why_unusable(kind)
        why = why or f"{kind.name} cannot be made in a body yet"
        self.need(can_make, node, why)
        given = self._by_name(node, fields, f"{kind.name}(…)")
        values = tuple(
            (name, self.expressions.typed(arg, fields[name]))
            for name, arg in given.items()
        )
        self._complete(given, fields)
        return tree.MakeStruct(values, kind)

    # --- calls that are statements

    def statement(self, node: ast.Call) -> Statement:
        """Return the tree of a call that is a statement. Raises Stopped if it is refused."""
        match self.context.meaning(node.func):
            case Word("create"):
                return self.opening.statement(node, None)
            case Word(name) if name in _STATEMENTS:
                return _STATEMENTS[name](self, node)
            case Word(name):
                raise self.stopped(node, f"the result of {name}(…) is not used")
        match node.func:
            case ast.Attribute(ast.Name(program), name) if (
                program in self.context.accounts
            ):
                return self._program_call(node, program, name)
        return self._perform(node)

    def whole_value(self, node: ast.expr) -> Expression:
        """Return the tree of a value that is assigned or returned as it is. A helper may change state first."""
        self.whole = node
        return self.expressions.value(node)

    def _perform(self, node: ast.Call) -> Statement:
        self.whole = node
        found = self.value(node)
        self.expressions.known(found)
        if isinstance(found, tree.HelperCall) and found.type is NOTHING:
            return tree.Perform(found)
        raise self.stopped(
            node, f"the result of {ast.unparse(node.func)}(…) is not used"
        )

    def error(self, node: ast.expr) -> str:
        """Return the name of one of the program's errors; "" if it is refused."""
        found = self.context.meaning(node)
        if isinstance(found, ErrorName):
            return found.name
        self._refuse_name(node, "error", self.context.scope.model.errors)
        return ""

    def failure(self, node: ast.expr) -> tree.Raise:
        """Return what `raise error` and `raise error.carrying(…)` do."""
        match node:
            case ast.Call(ast.Attribute(error, "carrying"), [carried], []):
                return tree.Raise(self.error(error), self._carried(carried))
        return tree.Raise(self.error(node))

    def _carried(self, node: ast.expr) -> Expression:
        """Return the bytes that an error carries: state that the body opened, or bytes of a fixed length."""
        name, context = ast.unparse(node), self.context
        if name in context.opened and name in context.accounts:
            state = context.accounts[name].rules.state or ""
            kind = Array(U8, context.scope.size_of(state))
            found: Expression = tree.StateBytes(name, kind)
        else:
            found = self.expressions.value(node)
            self.expressions.known(found)
        why = f"an error carries opened state or bytes of a fixed length, not {name}"
        self.need(is_bytes(found.type), node, why)
        assert isinstance(found.type, Array)
        count = found.type.count
        is_short = isinstance(count, int) and count <= _MOST_CARRIED
        self.need(is_short, node, f"an error carries at most {_MOST_CARRIED} bytes")
        return found

    def _refuse_name(
        self, node: ast.expr, kind: str, declared: Iterable[ErrorCode | Event]
    ) -> None:
        """Refuse an expression that names no *kind* of the program."""
        shown = ast.unparse(node)
        owner = "self" if self.context.is_method else self.context.scope.program_name
        near = suggest(shown, [f"{owner}.{each.name}" for each in declared])
        self.refuse(node, f"{shown} is not an {kind} of the program. {near}".strip())

    def require(self, node: ast.Call) -> Statement:
        """`require(condition, error)`."""
        self.positional(node, 2)
        condition = self.expressions.condition(node.args[0])
        return tree.Require(condition, self.error(node.args[1]))

    def emit(self, node: ast.Call) -> Statement:
        """`emit(self.Event(field=…))`."""
        self.positional(node, 1)
        return tree.Emit(*self._event_values(node.args[0]))

    def emit_cpi(self, node: ast.Call) -> Statement:
        """`emit_cpi(self.Event(field=…), authority=…, program=…)`."""
        named = {each.arg: each.value for each in node.keywords}
        is_whole = len(node.args) == 1 and set(named) == {"authority", "program"}
        self.need(
            is_whole,
            node,
            "emit_cpi takes an event, and authority= and program= by name",
        )
        self.need(
            self.context.is_method,
            node,
            "a helper calls no program: emit in the method",
        )
        event, values = self._event_values(node.args[0])
        authority, program = (
            self.context.always_there(named[name]) for name in ("authority", "program")
        )
        model, pda = self.context.scope.model, self.context.accounts[authority].pda
        is_own = self.context.accounts[program].address == model.address is not None
        why = f"{program} is not the program itself: declare it with its address"
        self.need(is_own, named["program"], why)
        self.context.need_required(named["authority"], authority, _NO_SEEDS)
        why = f"{authority} has no seeds of this program, so it cannot sign"
        self.need(pda is not None and pda.program is None, named["authority"], why)
        starts = [ix.discriminator.value for ix in model.instructions]
        can_take = any(
            start and ids.EVENT_CPI_TAG.startswith(start) for start in starts
        )
        why = "no instruction takes events: one needs the discriminator b'\\xe4' and RemainingBytes"
        self.need(can_take, node, why)
        return tree.EmitCall(event, values, authority, program)

    def _event_values(
        self, node: ast.expr
    ) -> tuple[str, tuple[tuple[str, Expression], ...]]:
        """Return an event that is made, and its fields. Raises Stopped."""
        made, event = self._event(node)
        fields = self.context.scope.event_fields(event)
        given = self._by_name(made, fields, f"{event}(…)")
        values = [
            (name, self._event_value(event, name, arg, fields[name]))
            for name, arg in given.items()
        ]
        self._complete(given, fields)
        return event, tuple(values)

    def _event(self, node: ast.expr) -> tuple[ast.Call, str]:
        """Return the call that makes an event, and the event's name. Raises Stopped."""
        func = node
        if isinstance(node, ast.Call):
            func = node.func
            meaning = self.context.meaning(func)
            if isinstance(meaning, EventName):
                return node, meaning.name
        self._refuse_name(func, "event", self.context.scope.model.events)
        raise Stopped

    def _complete(self, given: Collection[str], wanted: Collection[str]) -> None:
        """Raise Stopped if some of *wanted* were refused."""
        if len(given) != len(wanted):
            raise Stopped

    def _event_value(
        self, event: str, name: str, node: ast.expr, kind: Type
    ) -> Expression:
        if self.context.scope.is_usable(kind):
            return self.expressions.typed(node, kind)
        why = f"{event}.{name} is {type_name(kind)}, which cannot be used in a body yet"
        return self.refuse(node, why)

    def _by_name(
        self, node: ast.Call, wanted: dict[str, Type], shown: str
    ) -> dict[str, ast.expr]:
        """Return the arguments of a call that gives each of them by name."""
        if node.args:
            self.refuse(
                node.args[0], f"{shown} takes its arguments by name, as in name=value"
            )
        given: dict[str, ast.expr] = {}
        for keyword in node.keywords:
            name = keyword.arg or "**"
            if name in wanted:
                given[name] = keyword.value
            else:
                near = suggest(name, wanted)
                self.refuse(keyword.value, f"{shown} has no {name!r}. {near}".strip())
        for name in wanted:
            if name not in given and not node.args:
                self.refuse(node, f"{shown} needs {name!r}")
        return given

    def close(self, node: ast.Call) -> Statement:
        """`close(account, to)`."""
        self.positional(node, 2)
        source, to = (self._writable(each) for each in node.args)
        why = "close takes accounts that are always there"
        for each, name in zip(node.args, (source, to), strict=True):
            self.context.need_required(each, name, why)
        account = self.context.accounts[source]
        has_state = account.rules.state is not None
        self.need(has_state, node.args[0], f"{source} holds no state of the program")
        by_constraint = (account.rules.init, account.rules.close) != (None, None)
        why = f"a constraint of {source} creates or closes it already"
        self.need(not by_constraint, node.args[0], why)
        why = f"{source} was opened here: an account that is closed has its state in the signature"
        self.need(source not in self.context.opened, node.args[0], why)
        self.need(self.context.is_method, node, "only a method closes accounts")
        self.need(source != to, node.args[1], "an account cannot get its own lamports")
        self.need(
            source not in self.context.closed, node, f"{source} is closed already"
        )
        self.need(
            not self.context.loops,
            node,
            "a loop cannot close an account: it is closed once",
        )
        self.context.closed.add(source)
        return tree.CloseAccount(source, to)

    def _writable(self, node: ast.expr) -> str:
        """Return the name of a writable account. Raises Stopped."""
        name = self.context.always_there(node)
        is_writable = self.context.accounts[name].writable
        self.need(is_writable, node, f"{name} is written: declare it as Mut[…]")
        return name

    # --- calls of other programs

    def _program_call(self, node: ast.Call, program: str, name: str) -> Statement:
        account, shown = self.context.accounts[program], f"{program}.{name}(…)"
        calls = self._calls_of(account)
        why = f"{shown} cannot be called: only a token program or the associated one can be called from a body yet"
        self.need(bool(calls), node, why)
        assert isinstance(node.func, ast.Attribute)
        self.context.need_there(node.func.value, account)
        why = "a helper calls no program: return what the method needs for the call"
        self.need(self.context.is_method, node, why)
        call = calls.get(name)
        if call is None:
            near = suggest(name, calls)
            why = f"{shown} cannot be called from a body yet. {near}".strip()
            raise self.stopped(node, why)
        wanted = {**dict.fromkeys(call.roles, U64), **call.values}
        given = self._by_name(node, wanted, shown)
        self._complete(given, wanted)
        accounts = self._roles(call, given)
        values = tuple(
            (key, self.expressions.typed(value, call.values[key]))
            for key, value in given.items()
            if key in call.values
        )
        self._complete(accounts, call.roles)
        signer = self._signer(given[call.authority], accounts[call.authority])
        ordered = tuple((role, accounts[role]) for role in call.roles)
        by_interface = account.address != ids.TOKEN_PROGRAM
        return tree.CallProgram(program, name, ordered, values, signer, by_interface)

    def _calls_of(self, account: Account) -> dict[str, ProgramCall]:
        """Return the calls of the program that an account is; none of a program that bodies cannot call."""
        if account.address == ids.ASSOCIATED_TOKEN_PROGRAM:
            return ASSOCIATED_CALLS
        return PROGRAM_CALLS if self._is_token_program(account) else {}

    def _is_token_program(self, account: Account) -> bool:
        """Return whether an account is SPL Token, Token-2022, or one of both."""
        allowed = _programs(account)
        return bool(allowed) and set(allowed) <= set(ids.TOKEN_PROGRAMS)

    def _roles(self, call: ProgramCall, given: dict[str, ast.expr]) -> dict[str, str]:
        """Return the account of each role; those that are refused are left out."""
        accounts: dict[str, str] = {}
        for role in call.roles:
            with suppress(Stopped):
                accounts[role] = self._role(call, role, given[role])
        return accounts

    def _role(self, call: ProgramCall, role: str, node: ast.expr) -> str:
        """Return the account that a call gives a role. Raises Stopped."""
        if not isinstance(node, ast.Name) or node.id not in self.context.accounts:
            raise self.stopped(node, f"{role} is one of the instruction's accounts")
        name, account = node.id, self.context.accounts[node.id]
        self.context.need_there(node, account)
        wanted = call.others.get(role, _ANY if call.pays else _READ)
        self._need_program(wanted, role, node)
        is_writable = account.writable >= wanted.written
        self.need(is_writable, node, f"{role} is written: declare {name} as Mut[…]")
        fits = wanted.kind in (None, kind_of(self.context, account)) or is_free(account)
        self.need(
            fits, node, f"{role} is a {_KIND_NAMES[wanted.kind]}, which {name} is not"
        )
        return name

    def _need_program(self, wanted: Role, role: str, node: ast.Name) -> None:
        """Refuse an account that may be another program than the call needs. Raises Stopped."""
        allowed = _programs(self.context.accounts[node.id])
        fits = bool(allowed) and set(allowed) <= set(wanted.one_of)
        why = (
            f"expected {wanted.program} as {role}, got {node.id}:"
            f" declare an account of {wanted.program}, and give that"
        )
        self.need(fits or not wanted.program, node, why)

    def _signer(self, node: ast.expr, name: str) -> str | None:
        """Return the authority if the program signs for it, None if it signs the transaction."""
        account = self.context.accounts[name]
        if account.signer is True:
            return None
        self.context.need_required(node, name, _NO_SEEDS)
        if account.pda is None or account.pda.program is not None:
            self.refuse(
                node, f"{name} neither signs nor has seeds, so nobody can sign for it"
            )
        return name


def _programs(account: Account) -> tuple[str, ...]:
    """Return the addresses that an account may have; none if it may have any."""
    return account.rules.one_of or tuple(filter(None, [account.address]))


def _decided(
    condition: ast.expr, filters: list[ast.expr], which: Literal["all", "any"]
) -> ast.expr:
    """Return the condition of `all` or `any` on every item, those included that its filters leave out."""
    if not filters:
        return condition
    tests = filters
    join: ast.boolop = ast.And()
    if which == "all":
        join = ast.Or()
        tests = [
            ast.copy_location(ast.UnaryOp(ast.Not(), each), each) for each in filters
        ]
    return ast.copy_location(ast.BoolOp(join, [*tests, condition]), condition)


_STATEMENTS: dict[str, Callable[[Calls, ast.Call], Statement]] = {
    "require": Calls.require,
    "emit": Calls.emit,
    "emit_cpi": Calls.emit_cpi,
    "close": Calls.close,
}
