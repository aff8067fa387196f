"""`idl2mcp inspect SOURCE`: summarize a program on a page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from idl2mcp import inputs, report
from mcpsol_py.names import clean_text

_MAX_FINDINGS = 20


@click.command("inspect")
@inputs.source_argument
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Show every type, event, error and constant, and every finding.",
)
@inputs.chain_options
@report.json_option
def command(source: str, everything: bool, chain: inputs.Chain, as_json: bool) -> None:
    """Summarize SOURCE: tools, accounts, types and findings."""
    with report.progress(f"reading {source}"):
        loaded = inputs.load_source(source, chain)
        document = describe(loaded)
    report.emit(document, text(document, everything=everything), as_json=as_json)


def describe(source: inputs.Source) -> dict[str, Any]:
    """Return the summary as plain data. Text from the source is untrusted, so it is cleaned."""
    from mcpsol_py.model.check import check, unusable
    from mcpsol_py.model.type_text import type_text

    model = source.model
    why_not = unusable(model)
    return {
        "name": clean_text(model.name, 200),
        "address": str(source.program_id) if source.program_id else model.address,
        "facade_of": model.facade_of,
        "version": clean_text(model.version, 80),
        "dialect": model.dialect,
        "source": source.how,
        "docs": _docs(model.docs),
        "instructions": [
            instruction_row(ix, why_not.get(ix.name)) for ix in model.instructions
        ],
        "accounts": [
            {
                "name": clean_text(a.name, 200),
                "discriminator": "0x" + a.discriminator.value.hex(),
                "size": a.size,
                "docs": _docs(a.docs),
            }
            for a in model.accounts
        ],
        "events": [
            {
                "name": clean_text(e.name, 200),
                "discriminator": "0x" + e.discriminator.value.hex(),
            }
            for e in model.events
        ],
        "errors": [
            {
                "code": e.code,
                "name": clean_text(e.name, 200),
                "message": clean_text(e.message, 400),
            }
            for e in model.errors
        ],
        "types": [
            {
                "name": clean_text(t.name, 200),
                "type": clean_text(type_text(t.type), 2000),
            }
            for t in model.types
        ],
        "constants": [
            {
                "name": clean_text(c.name, 200),
                "type": type_text(c.type),
                "value": clean_text(c.value, 400),
            }
            for c in model.constants
        ],
        "findings": [
            {"level": f.level, "rule": f.rule, "path": f.path, "message": f.message}
            for f in check(model)
        ],
    }


def instruction_row(ix: Any, why_not: str | None = None) -> dict[str, Any]:
    """Return one instruction as plain data: discriminator, arguments with types, accounts with flags."""
    from mcpsol_py.model.type_text import type_text

    return {
        "name": clean_text(ix.name, 200),
        "discriminator": "0x" + ix.discriminator.value.hex(),
        "docs": _docs(ix.docs),
        "args": [
            {
                "name": clean_text(a.name, 200),
                "type": clean_text(type_text(a.type), 2000),
                "docs": _docs(a.docs),
            }
            for a in ix.args
            if not (a.default is not None and a.default.omitted)
        ],
        "accounts": account_rows(ix.accounts),
        "remaining_accounts": [clean_text(r.name, 200) for r in ix.remaining],
        "returns": None if ix.returns is None else type_text(ix.returns),
        **({"unusable": why_not} if why_not else {}),
    }


def account_rows(items: Any, group: str = "") -> list[dict[str, Any]]:
    """Return the accounts, flat and in order; those of a group are named "group.name"."""
    from mcpsol_py.model.program import AccountGroup

    rows: list[dict[str, Any]] = []
    for item in items:
        name = f"{group}{clean_text(item.name, 200)}"
        if isinstance(item, AccountGroup):
            rows += account_rows(item.accounts, f"{name}.")
        else:
            rows.append(
                {
                    "name": name,
                    "writable": item.writable,
                    "signer": item.signer,
                    "optional": item.optional,
                    "address": item.address,
                    "pda": item.pda is not None,
                }
            )
    return rows


def _docs(docs: tuple[str, ...]) -> str:
    return clean_text("\n".join(docs), 2000).strip()


def text(d: dict[str, Any], *, everything: bool) -> list[str]:
    """Return the summary for people, as lines. Without *everything*, long sections are cut."""
    lines = _head(d)
    lines += ["", report.count(len(d["instructions"]), "instruction")]
    for row in d["instructions"]:
        lines += _instruction_lines(row)
    for section in _SECTIONS:
        rows = d[section.key]
        if rows:
            shown = len(rows) if everything else section.shown
            lines += ["", report.count(len(rows), section.noun)]
            lines += [
                "  " + section.line(row).replace("\n", " ") for row in rows[:shown]
            ]
            lines += _cut(len(rows), shown)
    return lines + _findings(d["findings"], everything=everything)


def _head(d: dict[str, Any]) -> list[str]:
    name = f"{d['name']} {d['version']}" if d["version"] else d["name"]
    lines = [f"{name} · {d['address'] or 'no address'}", f"  {d['source']}"]
    if d["facade_of"]:
        lines.append(f"  a facade of {d['facade_of']}: calls are passed on to it")
    return lines + _first_line(d["docs"], "  ")


def _first_line(docs: str, indent: str) -> list[str]:
    return [indent + line for line in docs.splitlines()[:1]]


def signature(row: dict[str, Any]) -> str:
    """Return an instruction as "name(arg: type, …)"."""
    args = ", ".join(f"{arg['name']}: {arg['type']}" for arg in row["args"])
    return f"{row['name']}({args})"


def _instruction_lines(row: dict[str, Any]) -> list[str]:
    returns = f" -> {row['returns']}" if row["returns"] else ""
    lines = [f"  {signature(row)}{returns}  [{row['discriminator']}]"]
    lines += _first_line(row["docs"], "      ")
    if row["accounts"]:
        lines.append("      accounts: " + ", ".join(map(flags, row["accounts"])))
    if "unusable" in row:
        lines.append(f"      cannot be used: {row['unusable']}")
    return lines


def _cut(count: int, shown: int) -> list[str]:
    return [f"  … {count - shown} more (--all)"] if shown < count else []


def _findings(findings: list[dict[str, Any]], *, everything: bool) -> list[str]:
    shown = len(findings) if everything else _MAX_FINDINGS
    title = report.count(len(findings), "finding")
    lines = ["", f"{title}:" if findings else title]
    lines += [
        f"  {row['level']}: {row['path']}: {row['message']}" for row in findings[:shown]
    ]
    return lines + _cut(len(findings), shown)


def _account_type_line(row: dict[str, Any]) -> str:
    size = f"  {row['size']} bytes" if row["size"] else ""
    return f"{row['name']}  [{row['discriminator']}]{size}"


def _error_line(row: dict[str, Any]) -> str:
    message = f": {row['message']}" if row["message"] else ""
    return f"{row['code']} {row['name']}{message}"


@dataclass(frozen=True, slots=True)
class _Section:
    """One section of the summary. Without --all it shows the first rows only."""

    key: str
    noun: str
    line: Callable[[dict[str, Any]], str]
    shown: int = 6


_SECTIONS = (
    _Section("accounts", "account type", _account_type_line, shown=sys.maxsize),
    _Section("events", "event", lambda row: f"{row['name']}  [{row['discriminator']}]"),
    _Section("errors", "error", _error_line),
    _Section("types", "type", lambda row: f"{row['name']} = {row['type']}"),
    _Section(
        "constants",
        "constant",
        lambda row: f"{row['name']}: {row['type']} = {row['value']}",
    ),
)


def flags(account: dict[str, Any]) -> str:
    """Return an account with its marks: s signs, w is written, ? is optional, * is derived."""
    marks = {"s": "signer", "w": "writable", "?": "optional", "*": "pda"}
    text = "".join(mark for mark, flag in marks.items() if account[flag])
    return f"{account['name']} ({text})" if text else str(account["name"])
