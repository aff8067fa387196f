"""Checks of derived addresses: which accounts of an instruction a client can derive from the document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatchmethod
from itertools import pairwise

from mcpsol_py.errors import UnresolvedName, abbr, suggest
from mcpsol_py.items import items_by_name, names_of, types_by_name
from mcpsol_py.model.check_context import CheckContext
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    Instruction,
    Pda,
    PdaValue,
    ResolverValue,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.seed_types import is_of_any_length, is_plain_seed, why_no_seed
from mcpsol_py.model.types import Field, Link, Struct, Type
from mcpsol_py.names import ByName

__all__ = ["check_seeds"]

MAX_SEEDS = 15  # and the bump
MAX_SEED_BYTES = 32
MAX_DEPTH = 32

#: The name of an account, below the names of the groups that it is in.
AccountPath = tuple[str, ...]

_GIVE_IT = "so the address must be given"


def check_seeds(
    context: CheckContext,
    ix: Instruction,
    leaves: dict[AccountPath, tuple[Account, str]],
    path: str,
) -> None:
    """Check how the accounts of *ix* are derived. *leaves*: each account with the step to it from *path*."""
    checker = _SeedChecker(context, ix, leaves)
    for owner, (account, step) in leaves.items():
        if account.pda is not None:
            checker.pda(account.pda, _Place(owner, f"{path}.{step}.pda"))
        if account.default is not None:
            checker.value(account.default, _Place(owner, f"{path}.{step}.defaultValue"))
    for circle in _circles(checker.needs):
        checker.warn(path, _circle_message(circle))


@dataclass(frozen=True, slots=True)
class _Place:
    """The account that is derived, and the path of the part under check. `depth`: how deep values nest there."""

    owner: AccountPath
    path: str
    depth: int = 0

    def below(self, step: str) -> _Place:
        return _Place(self.owner, self.path + step, self.depth + 1)


class _SeedChecker:
    """Checks one instruction, and collects which account needs which."""

    def __init__(
        self,
        context: CheckContext,
        ix: Instruction,
        leaves: dict[AccountPath, tuple[Account, str]],
    ) -> None:
        self.context = context
        self.leaves = leaves
        self.args = items_by_name(ix.args)
        self.account_types = types_by_name(reversed(context.model.accounts))
        #: paths of seeds that are texts or bytes of any length
        self.of_any_length: set[str] = set()
        #: account -> the accounts that it is derived from
        self.needs: dict[AccountPath, set[AccountPath]] = {}

    def warn(self, path: str, message: str) -> None:
        self.context.findings.warning(path, message, "underivable-seed")

    def pda(self, pda: Pda, place: _Place) -> None:
        if len(pda.seeds) > MAX_SEEDS:
            message = (
                f"{len(pda.seeds)} seeds; an address has at most {MAX_SEEDS} and a bump"
            )
            self.context.findings.error(place.path, message, "seed")
        for i, seed in enumerate(pda.seeds):
            self.seed(seed, place.below(f".seeds[{i}]"))
        self.run_together(pda, place.path)
        if pda.program is not None:
            self.value(pda.program, place.below(".program"))

    def run_together(self, pda: Pda, path: str) -> None:
        """Report texts that follow one another: "ab" and "c" have the address of "a" and "bc"."""
        varying = [
            i for i, seed in enumerate(pda.seeds) if not isinstance(seed, ConstSeed)
        ]
        texts = [f"{path}.seeds[{i}]" in self.of_any_length for i in varying]
        for one, other in pairwise(zip(varying, texts, strict=True)):
            if one[1] and other[1]:
                message = (
                    f"seeds {one[0]} and {other[0]} are texts of any length: 'ab' and 'c' have the address of 'a' and"
                    " 'bc'; put an address or a number between them, or use one of them"
                )
                self.context.findings.warning(path, message, "seeds-run-together")

    # --- one kind of seed each

    @singledispatchmethod
    def seed(self, seed: Seed, place: _Place) -> None:
        """Check one seed. The kinds without a method need no check."""

    @seed.register
    def _const_seed(self, seed: ConstSeed, place: _Place) -> None:
        if len(seed.value) > MAX_SEED_BYTES:
            message = f"a seed of {len(seed.value)} bytes; at most {MAX_SEED_BYTES} are allowed"
            self.context.findings.error(place.path, message, "seed")

    @seed.register
    def _arg_seed(self, seed: ArgSeed, place: _Place) -> None:
        self.seed_type(seed, self.arg(seed.path, place.path), place)

    @seed.register
    def _account_seed(self, seed: AccountSeed, place: _Place) -> None:
        node = self.account(seed.account, seed.field, seed.account_type, place)
        self.seed_type(seed, node, place)
        if seed.other:
            self.account(seed.other, (), None, place)

    @seed.register
    def _unknown_seed(self, seed: UnknownSeed, place: _Place) -> None:
        self.warn(place.path, f"the address cannot be derived: {seed.why}")

    def seed_type(
        self, seed: ArgSeed | AccountSeed, node: Type | None, place: _Place
    ) -> None:
        """Check that every program makes the same seed of an argument or field of type *node*."""
        if node is not None and is_of_any_length(self.context.resolver, node):
            self.of_any_length.add(place.path)
        if (
            node is None
            or seed.type is not None
            or is_plain_seed(self.context.resolver, node)
        ):
            return
        self.warn(place.path, f"{why_no_seed(node)}, {_GIVE_IT}")

    # --- one kind of value each

    def value(self, value: Value, place: _Place) -> None:
        if place.depth <= MAX_DEPTH:
            self.checked_value(value, place)

    @singledispatchmethod
    def checked_value(self, value: Value, place: _Place) -> None:
        """Check one value. The kinds without a method need no check."""

    @checked_value.register
    def _pda_value(self, value: PdaValue, place: _Place) -> None:
        self.pda(value.pda, place)

    @checked_value.register
    def _arg_value(self, value: ArgValue, place: _Place) -> None:
        self.arg(value.path, place.path)

    @checked_value.register
    def _account_value(self, value: AccountValue, place: _Place) -> None:
        self.account(value.account, value.field, value.account_type, place)

    @checked_value.register
    def _bump_value(self, value: AccountBumpValue, place: _Place) -> None:
        self.account(value.account, (), None, place)

    @checked_value.register
    def _resolver_value(self, value: ResolverValue, place: _Place) -> None:
        if place.path.endswith(".program"):
            self.warn(place.path, f"the address cannot be derived: {value.name}")

    @checked_value.register
    def _conditional_value(self, value: ConditionalValue, place: _Place) -> None:
        if not isinstance(value.condition, (AccountValue, ResolverValue)):
            self.value(value.condition, place.below(".condition"))
        for branch in (value.then, value.otherwise):
            if branch is not None:
                self.value(branch, place.below(""))

    # --- references

    def arg(self, steps: tuple[str, ...], path: str) -> Type | None:
        """Check a reference to an argument, or to a field in it. Returns its type, if there is one."""
        field = self.args.get(steps[0]) if steps else None
        if field is None:
            name = ".".join(steps)
            hint = suggest(name, self.args)
            self.warn(path, f"no argument named {abbr(name, 60)}, {_GIVE_IT}. {hint}")
            return None
        return self.follow(field.type, steps[1:], path)

    def follow(self, node: Type, steps: tuple[str, ...], path: str) -> Type | None:
        """Check that *steps* lead through the fields of structs. Returns the type at their end."""
        for step in steps:
            field = self.field(node, step, path)
            if field is None:
                return None
            node = field.type
        return node

    def field(self, node: Type, step: str, path: str) -> Field | None:
        """Return the field *step* of *node*. Reports a missing one."""
        try:
            target = self.context.resolver.target(node)
        except UnresolvedName:
            return None  # check_link reports it
        if not isinstance(target, Struct):
            self.warn(path, f"the type has no field {abbr(step, 40)}, {_GIVE_IT}")
            return None
        field = _field_named(target.fields, step)
        if field is None:
            hint = suggest(step, names_of(target.fields))
            self.warn(path, f"no field named {abbr(step, 40)}, {_GIVE_IT}. {hint}")
        return field

    def account(
        self,
        steps: AccountPath,
        field: tuple[str, ...],
        kind: str | None,
        place: _Place,
    ) -> Type | None:
        """Check a reference to an account, or with *field* to a field of its data, which *kind* decodes.

        Returns the type of the field, if it is known.
        """
        if steps not in self.leaves:
            name = ".".join(steps)
            hint = suggest(name, list(map(".".join, self.leaves)))
            self.warn(
                place.path, f"no account named {abbr(name, 60)}, {_GIVE_IT}. {hint}"
            )
            return None
        if field and steps == place.owner:
            name = ".".join(steps)
            message = (
                f"{name} is derived from its own data, so callers must give its address"
            )
            self.context.findings.info(place.path, message, "own-fields")
        else:
            self.needs.setdefault(place.owner, set()).add(steps)
        return self.account_field(steps, field, kind, place.path) if field else None

    def account_field(
        self, steps: AccountPath, field: tuple[str, ...], kind: str | None, path: str
    ) -> Type | None:
        if kind in self.account_types:
            return self.follow(self.account_types[kind], field, path)
        if kind is not None and kind in self.context.type_names:
            return self.follow(Link(kind), field, path)
        lacking = (
            f"its type {kind!r} is not described here"
            if kind
            else "its type is missing"
        )
        name = abbr(".".join(field), 60)
        self.warn(path, f"the field {name} of {steps[-1]!r} is needed, but {lacking}")
        return None


def _circles(needs: dict[AccountPath, set[AccountPath]]) -> Iterator[list[AccountPath]]:
    """Yield accounts that are derived from one another in a circle, found by a depth-first search."""
    done: set[AccountPath] = set()
    for start in needs:
        if start in done:
            continue
        trail = [(start, iter(sorted(needs[start])))]
        on_trail = {start}
        while trail:
            account, rest = trail[-1]
            following = next(rest, None)
            if following is None:
                trail.pop()
                on_trail.discard(account)
                done.add(account)
            elif following in on_trail:
                names = [name for name, _ in trail]
                yield names[names.index(following) :]
            elif following not in done:
                on_trail.add(following)
                trail.append((following, iter(sorted(needs.get(following, ())))))


def _circle_message(circle: list[AccountPath]) -> str:
    names = list(map(".".join, circle))
    how = "derives from itself" if len(circle) == 1 else "derive from one another"
    return f"{' → '.join([*names, names[0]])}: {how}; give one of them"


def _field_named(fields: tuple[Field, ...], name: str) -> Field | None:
    return ByName(items_by_name(reversed(fields))).get(name)
