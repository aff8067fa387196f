"""`idl2mcp inspect SOURCE`: what a program is, on a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from idl2mcp import inputs, report
from mcpsol_py.names import clean_text


@click.command("inspect")
@inputs.source_argument
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every type, event, error and constant, not only how many.",
)
@inputs.chain_options
@report.json_option
def command(source: str, everything: bool, chain: inputs.Chain, as_json: bool) -> None:
    """Show what SOURCE is: tools, accounts, types and findings."""
    with report.progress(f"reading {source}"):
        loaded = inputs.load_source(source, chain)
        document = describe(loaded)
    report.emit(document, text(document, everything=everything), as_json=as_json)


def describe(source: inputs.Source) -> dict[str, Any]:
    """The summary as plain data; text from the source is cleaned (it is untrusted)."""
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
        "instructions": [instruction_row(ix, why_not.get(ix.name)) for ix in model.instructions],
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
            {"name": clean_text(e.name, 200), "discriminator": "0x" + e.discriminator.value.hex()}
            for e in model.events
        ],
        "errors": [
            {"code": e.code, "name": clean_text(e.name, 200), "message": clean_text(e.message, 400)}
            for e in model.errors
        ],
        "types": [
            {"name": clean_text(t.name, 200), "type": clean_text(type_text(t.type), 2000)}
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
    """One instruction as plain data: discriminator, arguments with types, accounts with flags."""
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
    """The accounts, flat and in order; those of a group are named "group.name"."""
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
    """The summary for people."""
    count = len(d["instructions"])
    lines = [
        f"{d['name']}"
        + (f" {d['version']}" if d["version"] else "")
        + f" · {d['address'] or 'no address'}"
    ]
    lines.append(f"  {d['source']}")
    if d["facade_of"]:
        lines.append(f"  a facade of {d['facade_of']}: calls are passed on to it")
    if d["docs"]:
        lines.append("  " + d["docs"].splitlines()[0])
    lines += ["", f"{count} instruction{'' if count == 1 else 's'}"]
    for ix in d["instructions"]:
        args = ", ".join(f"{a['name']}: {a['type']}" for a in ix["args"])
        lines.append(
            f"  {ix['name']}({args})"
            + (f" -> {ix['returns']}" if ix["returns"] else "")
            + f"  [{ix['discriminator']}]"
        )
        if ix["docs"]:
            lines.append("      " + ix["docs"].splitlines()[0])
        if ix["accounts"]:
            lines.append("      accounts: " + ", ".join(flags(a) for a in ix["accounts"]))
        if "unusable" in ix:
            lines.append(f"      cannot be used: {ix['unusable']}")
    sections: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        (
            "accounts",
            lambda a: (
                f"{a['name']}  [{a['discriminator']}]"
                + (f"  {a['size']} bytes" if a["size"] else "")
            ),
        ),
        ("events", lambda e: f"{e['name']}  [{e['discriminator']}]"),
        (
            "errors",
            lambda e: f"{e['code']} {e['name']}" + (f": {e['message']}" if e["message"] else ""),
        ),
        ("types", lambda t: f"{t['name']} = {t['type']}"),
        ("constants", lambda c: f"{c['name']}: {c['type']} = {c['value']}"),
    ]
    for kind, render in sections:
        rows = d[kind]
        if not rows:
            continue
        title = {"accounts": "account type"}.get(kind, kind[:-1])
        lines += ["", f"{len(rows)} {title}{'' if len(rows) == 1 else 's'}"]
        shown = rows if everything or kind == "accounts" else rows[:6]
        lines += ["  " + render(row).replace("\n", " ") for row in shown]
        if len(shown) < len(rows):
            lines.append(f"  … {len(rows) - len(shown)} more (--all)")
    findings = d["findings"]
    lines += [
        "",
        f"{len(findings)} finding{'' if len(findings) == 1 else 's'}" + (":" if findings else ""),
    ]
    lines += [
        f"  {f['level']}: {f['path']}: {f['message']}"
        for f in (findings if everything else findings[:20])
    ]
    if not everything and len(findings) > 20:
        lines.append(f"  … {len(findings) - 20} more (--all)")
    return lines


def flags(a: dict[str, Any]) -> str:
    """An account with its marks: s signs, w is written, ? is optional, * is derived."""
    marks = "".join(
        mark
        for mark, on in (
            ("s", a["signer"]),
            ("w", a["writable"]),
            ("?", a["optional"]),
            ("*", a["pda"]),
        )
        if on
    )
    return f"{a['name']} ({marks})" if marks else str(a["name"])
