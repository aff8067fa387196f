"""The catalogue pages of the explorer: all programs with a filter, the versions of one, and the schema of a version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from urllib.parse import quote, urlencode

import anyio.to_thread

from mcpsol_py.bridge.explorer.content import (
    Block,
    Cell,
    FactsBlock,
    Filter,
    FilterField,
    PageContent,
    TableBlock,
)
from mcpsol_py.catalog.catalog import Catalog
from mcpsol_py.catalog.records import Conflict, ProgramRow, VersionRow
from mcpsol_py.errors import McpsolError
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Struct, Type
from mcpsol_py.names import clean_text
from mcpsol_py.schema.comparison.diff import comparable, differences, facts
from mcpsol_py.utc import time_of

__all__ = ["CataloguePage"]

_PAGE, _MOST_ROWS = 100, 300
_LONGEST_DOCS, _LONGEST_LINE = 400, 600
_HASH = 12
#: Places of a conflict that are named.
_PATHS = 3
_TOP = (("/catalogue", "Catalogue"),)


class CataloguePage:
    """A `Section`: /catalogue lists programs, /catalogue/<key> shows one, /catalogue/<key>/<hash> the schema then."""

    slug = "catalogue"
    title = "Catalogue"
    for_operators = False

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def page(
        self, path: Sequence[str], query: Mapping[str, str]
    ) -> PageContent | None:
        """See Section. Raises McpsolError."""
        return await anyio.to_thread.run_sync(partial(self._page, path, query))

    def _page(
        self, path: Sequence[str], query: Mapping[str, str]
    ) -> PageContent | None:
        match path:
            case []:
                return _list_page(self._catalog, query)
            case [key]:
                row = self._catalog.records.program_at(key)
                return None if row is None else _program_page(self._catalog, row, query)
            case [key, start]:
                row = self._catalog.records.program_at(key)
                version = None if row is None else _version_with(row, start)
                if row is None or version is None:
                    return None
                return _schema_page(row, version, self._catalog.records.model(version))
        return None


def _program_path(key: str) -> str:
    return f"/catalogue/{quote(key, safe='')}"


def _version_path(row: ProgramRow, version: VersionRow) -> str:
    return f"{_program_path(row.key)}/{version.hash[:_HASH]}"


def _version_with(row: ProgramRow, start: str) -> VersionRow | None:
    """Return the version whose hash starts with *start*; of several with one schema, the one that counts."""
    return next(
        (one for one in row.versions if start and one.hash.startswith(start)), None
    )


# --- the list --------------------------------------------------------------------------------------------------------


def _list_page(catalog: Catalog, query: Mapping[str, str]) -> PageContent:
    words, category = query.get("show", "")[:100], query.get("category", "")[:100]
    after = query.get("after", "")[:100]
    listed = catalog.listed(
        after=after, limit=_PAGE + 1, words=words, category=category
    )
    shown = listed[:_PAGE]
    table = TableBlock(
        "",
        ("Program", "Address", "Categories", "Versions", "Source", "Notes"),
        [_list_row(catalog, row, categories) for row, categories in shown],
        empty="No program fits.",
    )
    blocks: list[Block] = [table]
    if len(listed) > _PAGE:
        again = urlencode(
            {"show": words, "category": category, "after": shown[-1][0].key}
        )
        more = Cell("The next programs", href=f"/catalogue?{again}")
        blocks.append(FactsBlock("", [("More", more)]))
    counts = catalog.categories()
    choices = [
        ("", "all"),
        *((name, f"{name} ({number})") for name, number in counts.items()),
    ]
    fields = [
        FilterField("show", "Name or address", words),
        FilterField("category", "Category", category, choices),
    ]
    programs, versions = catalog.records.count()
    return PageContent(
        "Catalogue",
        f"{programs:,} programs in {versions:,} versions. Clients find their instructions with search_tools, and add "
        "a program with use_program.",
        blocks,
        filter=Filter("/catalogue", "Programs of the catalogue", fields),
    )


def _list_row(
    catalog: Catalog, row: ProgramRow, categories: Sequence[str]
) -> Sequence[Cell]:
    name = Cell(clean_text(row.name, 80) or "no name", href=_program_path(row.key))
    return (
        name,
        _address(row),
        Cell(", ".join(categories)),
        Cell(str(len(row.versions)), "number"),
        Cell(row.current.source),
        _state(catalog, row),
    )


def _address(row: ProgramRow) -> Cell:
    return Cell("none known") if row.address is None else Cell(row.address, "code")


def _state(catalog: Catalog, row: ProgramRow) -> Cell:
    """Return the worst that is known of a program."""
    if catalog.records.conflicts(row):
        return Cell("sources differ", "bad")
    errors = (row.current.lint or {}).get("errors", 0)
    return Cell(f"{errors} lint errors", "bad") if errors else Cell("")


# --- one program -----------------------------------------------------------------------------------------------------


def _program_page(
    catalog: Catalog, row: ProgramRow, query: Mapping[str, str]
) -> PageContent:
    rows: list[tuple[str, Cell]] = [
        ("Address", _address(row)),
        (
            "Schema",
            Cell(
                "Instructions, accounts and events",
                href=_version_path(row, row.current),
            ),
        ),
        ("First seen", Cell(time_of(row.seen_ms))),
    ]
    blocks: list[Block] = [
        FactsBlock("", rows),
        _versions(row),
        *_conflicts(catalog, row),
    ]
    older = (
        _version_with(row, query.get("older", ""))
        or row.versions[min(1, len(row.versions) - 1)]
    )
    newer = _version_with(row, query.get("newer", "")) or row.current
    if len(row.versions) > 1:
        blocks.append(_difference(catalog, older, newer))
    about = (
        "It has no known address, so it cannot be called."
        if row.address is None
        else ""
    )
    return PageContent(
        row.name,
        about or f"{len(row.versions)} known versions, the one that counts now first.",
        blocks,
        filter=_comparison(row, older, newer),
        back=_TOP,
    )


def _comparison(row: ProgramRow, older: VersionRow, newer: VersionRow) -> Filter | None:
    if len(row.versions) < 2:
        return None
    choices = [(one.hash[:_HASH], _version_name(one)) for one in row.versions]
    fields = [
        FilterField("older", "Compare", older.hash[:_HASH], choices),
        FilterField("newer", "with", newer.hash[:_HASH], choices),
    ]
    return Filter(_program_path(row.key), "Versions to compare", fields, "Compare")


def _version_name(version: VersionRow) -> str:
    return clean_text(
        f"{version.hash[:_HASH]} ({version.source}, slot {_slots(version)})", 120
    )


def _slots(version: VersionRow) -> str:
    if version.first_slot is None:
        return "unknown"
    return f"{version.first_slot} to {'now' if version.last_slot is None else version.last_slot}"


def _versions(row: ProgramRow) -> TableBlock:
    columns = ("Schema", "Source", "From", "Slots", "Lint", "Build", "Seen")
    return TableBlock(
        "Versions", columns, [_version_row(row, one) for one in row.versions]
    )


def _version_row(row: ProgramRow, version: VersionRow) -> Sequence[Cell]:
    return (
        Cell(version.hash[:_HASH], "code", _version_path(row, version)),
        Cell(version.source),
        Cell(_origin(version)),
        Cell(_slots(version)),
        _lint(version),
        Cell((version.build_hash or "")[:_HASH], "code")
        if version.build_hash
        else Cell("not verified"),
        Cell(time_of(version.seen_ms)),
    )


def _origin(version: VersionRow) -> str:
    """Return where a version was read, without folders of this machine."""
    return version.origin.replace("\\", "/").rpartition("/")[2]


def _lint(version: VersionRow) -> Cell:
    if version.lint is None:
        return Cell("not checked")
    errors, warnings = version.lint.get("errors", 0), version.lint.get("warnings", 0)
    text = f"{errors} errors, {warnings} warnings"
    return Cell(text, "bad") if errors else Cell(text)


def _conflicts(catalog: Catalog, row: ProgramRow) -> list[Block]:
    rows = list(map(_conflict_row, catalog.records.conflicts(row)))
    columns = ("One source", "Another at the same time", "Where", "What counts")
    return [TableBlock("Conflicts", columns, rows)] if rows else []


def _conflict_row(conflict: Conflict) -> Sequence[Cell]:
    return (
        Cell(_version_name(conflict.preferred)),
        Cell(_version_name(conflict.other)),
        Cell(_short(", ".join(conflict.paths[:_PATHS]))),
        Cell(f"{conflict.preferred.source} counts"),
    )


def _difference(catalog: Catalog, older: VersionRow, newer: VersionRow) -> TableBlock:
    heading = f"From {older.hash[:_HASH]} to {newer.hash[:_HASH]}"
    columns = ("Kind", "Where", "Before", "After")
    try:
        models = comparable(catalog.records.model(older), catalog.records.model(newer))
        found = differences(*map(facts, models))
    except McpsolError as error:
        return TableBlock(
            heading, columns, [], empty=f"They cannot be compared: {error}"
        )
    rows = [
        (
            Cell(one.kind),
            Cell(_short(one.path)),
            Cell(_short(one.left)),
            Cell(_short(one.right)),
        )
        for one in found[:_MOST_ROWS]
    ]
    return TableBlock(heading, columns, rows, empty="No differences.")


# --- the schema of a version -----------------------------------------------------------------------------------------


def _schema_page(
    row: ProgramRow, version: VersionRow, model: ProgramModel
) -> PageContent:
    blocks: list[TableBlock | FactsBlock] = [
        FactsBlock(
            "", [("Version", Cell(_version_name(version))), ("Address", _address(row))]
        ),
        _instructions(model),
        _types("Accounts", ((one.name, one.type) for one in model.accounts)),
        _types("Events", ((one.name, one.type) for one in model.events)),
        _types("Types", ((one.name, one.type) for one in model.types)),
        _errors(model),
        _findings(version),
    ]
    shown: list[Block] = [one for one in blocks if one.rows]
    docs = _short(" ".join(islice(model.docs, 20)))
    return PageContent(
        row.name, docs, shown, back=(*_TOP, (_program_path(row.key), row.name))
    )


def _instructions(model: ProgramModel) -> TableBlock:
    columns = ("Instruction", "Accounts", "In the program's words")
    rows = [
        (Cell(_signature(ix)), Cell(_all_accounts(ix)), Cell(_docs(ix)))
        for ix in model.instructions[:_MOST_ROWS]
    ]
    return TableBlock(f"Instructions ({len(model.instructions):,})", columns, rows)


def _signature(ix: Instruction) -> str:
    args = ", ".join(f"{one.name}: {type_text(one.type)}" for one in ix.args)
    return _short(f"{ix.name}({args})")


def _docs(ix: Instruction) -> str:
    return clean_text(" ".join(islice(ix.docs, 20)), _LONGEST_DOCS)


def _all_accounts(ix: Instruction) -> str:
    more = [f"any number of {one.name}" for one in ix.remaining]
    return _short(", ".join(filter(None, [_accounts(ix.accounts), *more])))


def _accounts(items: Iterable[AccountItem]) -> str:
    return _short(", ".join(map(_account, islice(items, 100))))


def _account(item: AccountItem) -> str:
    if isinstance(item, AccountGroup):
        return f"{item.name} ({_accounts(item.accounts)})"
    flags = ", ".join(word for word, holds in _flags(item) if holds)
    return f"{item.name} ({flags})" if flags else item.name


def _flags(account: Account) -> tuple[tuple[str, bool], ...]:
    return (
        ("writable", account.writable),
        ("signs", account.signer is True),
        ("may sign", account.signer == "either"),
        ("optional", account.optional),
    )


def _types(heading: str, named: Iterable[tuple[str, Type]]) -> TableBlock:
    rows = [
        (Cell(_short(name)), Cell(_short(_type_line(node)))) for name, node in named
    ]
    return TableBlock(heading, ("Name", "Fields"), rows[:_MOST_ROWS])


def _type_line(node: Type) -> str:
    if isinstance(node, Struct):
        return ", ".join(f"{one.name}: {type_text(one.type)}" for one in node.fields)
    return type_text(node)


def _errors(model: ProgramModel) -> TableBlock:
    rows = [
        (
            Cell(str(one.code), "number"),
            Cell(_short(one.name)),
            Cell(_short(one.message)),
        )
        for one in model.errors[:_MOST_ROWS]
    ]
    return TableBlock("Errors", ("Code", "Name", "Message"), rows)


def _findings(version: VersionRow) -> TableBlock:
    rows = [(Cell(text),) for text in (version.lint or {}).get("findings", ())]
    return TableBlock("Lint", ("Finding",), rows)


def _short(text: str) -> str:
    return clean_text(text, _LONGEST_LINE)
