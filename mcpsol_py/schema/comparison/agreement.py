"""Whether two descriptions of one program contradict each other.

Sources differ in how much they say: a list of tools has no docs and no events, an IDL may lack seeds. So only what both
say is compared: instructions with the same discriminator, their arguments and their accounts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mcpsol_py.model.program import Account, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.names import snake
from mcpsol_py.schema.comparison.facts import (
    comparable,
    exact_type,
    flat_accounts,
    seeds_text,
)

__all__ = ["contradictions"]

_Key = tuple[bytes, str]


def contradictions(
    left: ProgramModel,
    right: ProgramModel,
    *,
    lists_of_tools: tuple[bool, bool] = (False, False),
) -> list[str]:
    """Return the paths of what two programs state differently; an empty list if they agree.

    *lists_of_tools*: whether each is a list of tools. Such a list may leave out instructions, and which accounts are
    optional. Other sources have every instruction, so one that lacks an instruction contradicts the other.
    """
    left, right = comparable(left, right)
    one, other = _instructions(left, right), _instructions(right, left)
    left_is_tools, right_is_tools = lists_of_tools
    lacking = [
        *(() if right_is_tools else one.keys() - other.keys()),
        *(() if left_is_tools else other.keys() - one.keys()),
    ]
    found = [snake((one.get(key) or other[key]).name) for key in lacking]
    resolvers = Resolver(left), Resolver(right)
    for key in one.keys() & other.keys():
        stated = dict(_stated(resolvers[0], one[key]))
        also = dict(_stated(resolvers[1], other[key]))
        found += [
            f"{snake(one[key].name)}.{path}"
            for path in stated.keys() & also.keys()
            if stated[path] != also[path]
            and not (any(lists_of_tools) and path.endswith(".optional"))
        ]
    return sorted(found)


def _instructions(model: ProgramModel, other: ProgramModel) -> dict[_Key, Instruction]:
    """Return the instructions by discriminator, and by name too where several in a program share one."""
    counts = _discriminators(model) | _discriminators(other)
    return {_key(ix, counts): ix for ix in model.instructions}


def _discriminators(model: ProgramModel) -> Counter[bytes]:
    return Counter(ix.discriminator.value for ix in model.instructions)


def _key(ix: Instruction, counts: Counter[bytes]) -> _Key:
    value = ix.discriminator.value
    return value, snake(ix.name) if counts[value] > 1 else ""


def _stated(resolver: Resolver, ix: Instruction) -> Iterator[tuple[str, object]]:
    """Yield what a source says of an instruction, by path. What it leaves out has no path."""
    accounts = list(flat_accounts(ix.accounts))
    yield "accounts", [name for name, _ in accounts]
    for name, account in accounts:
        yield from _stated_account(f"accounts.{name}", account)
    if ix.disabled is not None:
        return  # its arguments are not known for certain
    given = [arg for arg in ix.args if not arg.is_constant]
    yield "args", [snake(arg.name) for arg in given]
    for arg in given:
        yield f"args.{snake(arg.name)}", exact_type(resolver, arg.type)
    if ix.returns is not None:
        yield "returns", exact_type(resolver, ix.returns)


def _stated_account(at: str, account: Account) -> Iterable[tuple[str, object]]:
    stated: dict[str, object] = {
        "signer": account.signer,
        "writable": account.writable,
        "optional": account.optional,
        "address": account.address,
        "seeds": None if account.pda is None else seeds_text(account.pda),
    }
    return [
        (f"{at}.{name}", value) for name, value in stated.items() if value is not None
    ]
