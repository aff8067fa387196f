"""Checks of derived addresses: which accounts of an instruction a client can derive from what the document says."""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.errors import abbr, suggest
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
from mcpsol_py.model.types import Field, Link, Struct, Type
from mcpsol_py.names import snake

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
            checker.pda(account.pda, owner, f"{path}.{step}.pda")
        if account.default is not None:
            checker.value(account.default, owner, f"{path}.{step}.defaultValue")
    for circle in _circles(checker.needs):
        checker.warn(path, _circle_message(circle))


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
        self.args = {arg.name: arg for arg in ix.args}
        self.account_types = {a.name: a.type for a in reversed(context.model.accounts)}
        #: account -> the accounts that it is derived from
        self.needs: dict[AccountPath, set[AccountPath]] = {}

    def warn(self, path: str, message: str) -> None:
        self.context.findings.warning(path, message, "underivable-seed")

    def pda(self, pda: Pda, owner: AccountPath, path: str) -> None:
        if len(pda.seeds) > MAX_SEEDS:
            message = f"{len(pda.seeds)} seeds; an address has at most {MAX_SEEDS} and a bump"
            self.context.findings.error(path, message, "seed")
        for i, seed in enumerate(pda.seeds):
            self.seed(seed, owner, f"{path}.seeds[{i}]")
        if pda.program is not None:
            self.value(pda.program, owner, f"{path}.program")

    def seed(self, seed: Seed, owner: AccountPath, path: str) -> None:
        match seed:
            case ConstSeed(data) if len(data) > MAX_SEED_BYTES:
                message = f"a seed of {len(data)} bytes; at most {MAX_SEED_BYTES} are allowed"
                self.context.findings.error(path, message, "seed")
            case ArgSeed():
                self.arg(seed.path, path)
            case AccountSeed():
                self.account(seed.account, seed.field, seed.account_type, owner, path)
                if seed.other:
                    self.account(seed.other, (), None, owner, path)
            case UnknownSeed(why):
                self.warn(path, f"the address cannot be derived: {why}")

    def value(self, value: Value, owner: AccountPath, path: str, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            return
        match value:
            case PdaValue(pda):
                self.pda(pda, owner, path)
            case ArgValue(steps):
                self.arg(steps, path)
            case AccountValue(account, field, kind):
                self.account(account, field, kind, owner, path)
            case AccountBumpValue(account):
                self.account(account, (), None, owner, path)
            case ResolverValue(name) if path.endswith(".program"):
                self.warn(path, f"the address cannot be derived: {name}")
            case ConditionalValue():
                self.conditional(value, owner, path, depth)

    def conditional(
        self, value: ConditionalValue, owner: AccountPath, path: str, depth: int
    ) -> None:
        if not isinstance(value.condition, (AccountValue, ResolverValue)):
            self.value(value.condition, owner, f"{path}.condition", depth + 1)
        for branch in (value.then, value.otherwise):
            if branch is not None:
                self.value(branch, owner, path, depth + 1)

    def arg(self, steps: tuple[str, ...], path: str) -> None:
        field = self.args.get(steps[0]) if steps else None
        if field is None:
            name = ".".join(steps)
            hint = suggest(name, self.args)
            self.warn(path, f"no argument named {abbr(name, 60)}, {_GIVE_IT}. {hint}")
            return
        self.follow(field.type, steps[1:], path)

    def follow(self, node: Type, steps: tuple[str, ...], path: str) -> None:
        """Follow *steps* through the fields of structs."""
        for step in steps:
            if isinstance(node, Link) and node.name not in self.context.type_names:
                return  # check_link reports it
            node = self.context.resolver.target(node)
            if not isinstance(node, Struct):
                if not isinstance(node, Link):
                    self.warn(path, f"there is no field {abbr(step, 40)} to follow, {_GIVE_IT}")
                return
            field = _field_named(node.fields, step)
            if field is None:
                hint = suggest(step, [f.name for f in node.fields])
                self.warn(path, f"no field named {abbr(step, 40)}, {_GIVE_IT}. {hint}")
                return
            node = field.type

    def account(
        self,
        steps: AccountPath,
        field: tuple[str, ...],
        kind: str | None,
        owner: AccountPath,
        path: str,
    ) -> None:
        if steps not in self.leaves:
            name = ".".join(steps)
            hint = suggest(name, [".".join(leaf) for leaf in self.leaves])
            self.warn(path, f"no account named {abbr(name, 60)}, {_GIVE_IT}. {hint}")
            return
        if field and steps == owner:
            name = ".".join(owner)
            message = f"{name} is derived from its own data, so callers must give its address"
            self.context.findings.info(path, message, "own-fields")
        else:
            self.needs.setdefault(owner, set()).add(steps)
        if field:
            self.account_field(steps, field, kind, path)

    def account_field(
        self, steps: AccountPath, field: tuple[str, ...], kind: str | None, path: str
    ) -> None:
        if kind in self.account_types:
            self.follow(self.account_types[kind], field, path)
        elif kind is not None and kind in self.context.type_names:
            self.follow(Link(kind), field, path)
        else:
            lacking = f"its type {kind!r} is not described here" if kind else "its type is missing"
            name = abbr(".".join(field), 60)
            self.warn(path, f"the field {name} of {steps[-1]!r} is needed, but {lacking}")


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
    names = [".".join(account) for account in circle]
    how = "derives from itself" if len(circle) == 1 else "derive from one another"
    return f"{' → '.join([*names, names[0]])}: {how}; give one of them"


def _field_named(fields: tuple[Field, ...], name: str) -> Field | None:
    for field in fields:
        if field.name == name:
            return field
    wanted = snake(name)
    return next((field for field in fields if snake(field.name) == wanted), None)
