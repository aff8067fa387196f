"""The page of one tool: its form, and the result of a call made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcpsol_py.bridge.bridge import Reply
from mcpsol_py.bridge.explorer.call_result import call_result
from mcpsol_py.bridge.explorer.form_arguments import BUTTON, arguments_of, edited
from mcpsol_py.bridge.explorer.form_errors import show_errors
from mcpsol_py.bridge.explorer.forms import FormGroup, FormPart, form_parts
from mcpsol_py.bridge.explorer.program_pages import tool_facts
from mcpsol_py.bridge.explorer.rendering import HtmlPage, Renderer
from mcpsol_py.bridge.explorer.site import Site, price_notice
from mcpsol_py.bridge.replies import error_reply
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.errors import McpsolError
from mcpsol_py.items import without

__all__ = ["tool_page"]

#: The name of the button that sends.
SEND = "~send"

_FOLDED = "Accounts that are filled in if left empty"
#: (required, account) -> heading, in the order of the page.
_HEADINGS = {
    (True, False): "Arguments",
    (True, True): "Accounts",
    (False, False): "Optional arguments",
    (False, True): _FOLDED,
}


async def tool_page(
    site: Site, renderer: Renderer, tool: BridgeTool, posted: Mapping[str, str] | None
) -> HtmlPage:
    """Return the page of *tool*. *posted* are the texts of its form if it was submitted.

    A paid tool is not called, because these pages do not take payments.
    """
    price = site.bridge.price(tool.name)
    texts: Mapping[str, str] = without(posted or {}, SEND)
    signature = ""
    reply: Reply | None = None
    if posted is not None:
        changed_form = edited(texts)
        if changed_form is not None:
            texts = changed_form
        elif price is not None:
            reply = Reply(price_notice(price), is_error=True)
        else:
            reply = await site.build.call(tool.name, arguments_of(tool, texts))
            if SEND in posted:
                reply, signature = await _sent(site, reply)
    return _page(site, renderer, tool, form_parts(tool, texts), reply, price, signature)


async def _sent(site: Site, reply: Reply) -> tuple[Reply, str]:
    """Send a reply's transaction with the local chain's wallets. Return the reply or an error, and the signature."""
    transaction = (reply.structured or {}).get("transaction")
    if site.play is None or transaction is None:
        return reply, ""
    try:
        return reply, await site.play(transaction)
    except McpsolError as error:
        return error_reply(error), ""


def _page(
    site: Site,
    renderer: Renderer,
    tool: BridgeTool,
    parts: list[FormPart],
    reply: Reply | None,
    price: str | None,
    signature: str,
) -> HtmlPage:
    first_error, result, transaction = "", None, ""
    if reply is not None:
        result = call_result(site, reply, reads=tool.kind != "instruction")
        transaction = (reply.structured or {}).get("transaction", "")
        if reply.is_error:
            first_error = show_errors(parts, reply.details, reply.text)
    program = None
    if tool.served is not None:
        program = site.program_facts(tool.served.label)
    return renderer.template(
        "tool",
        here="/",
        tool=tool_facts(tool),
        price=price,
        program=program,
        groups=_grouped(parts),
        grouped=any(isinstance(part, FormGroup) for part in parts),
        do=BUTTON,
        first=first_error,
        reply=reply,
        result=result,
        transaction="" if signature else transaction,
        signature=signature,
        send=SEND if _can_send(site, tool) else "",
        named=site.local_names,
    )


def _can_send(site: Site, tool: BridgeTool) -> bool:
    return (
        site.play is not None
        and tool.sends_in("send")
        and site.bridge.price(tool.name) is None
    )


def _grouped(parts: Sequence[FormPart]) -> list[tuple[str, list[FormPart], bool]]:
    """Return the inputs under headings, required ones first, as (heading, inputs, folded)."""
    groups: dict[str, list[FormPart]] = {heading: [] for heading in _HEADINGS.values()}
    for part in parts:
        groups[_HEADINGS[part.required, part.account]].append(part)
    return [(heading, inputs, heading == _FOLDED) for heading, inputs in groups.items()]
