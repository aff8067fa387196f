"""The options of the priority fee, with one meaning in every command that sends."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mcpsol_py.whole_numbers import read_u64

if TYPE_CHECKING:
    from mcpsol_py.calls.priority import Price

__all__ = ["priority_options"]


class _PriceType(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """Micro-lamports for each compute unit, or "auto"."""

    name = "price"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Price:
        text = str(value)
        if text == "auto":
            return "auto"
        price = read_u64(text)
        if price is None:
            self.fail(
                f'expected micro-lamports for each compute unit, or "auto", got {text!r}.'
            )
        return price


def priority_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--priority-fee`` and ``--max-priority-fee``; the command's parameter is `priority`, a PriorityFee."""

    @functools.wraps(function)
    def wrapped(
        *args: Any, price: Price | None, most: int | None, **kwargs: Any
    ) -> Any:
        from mcpsol_py.calls.priority import MOST_LAMPORTS, PriorityFee

        priority = PriorityFee(price, MOST_LAMPORTS if most is None else most)
        return function(*args, priority=priority, **kwargs)

    decorated: Callable[..., Any] = wrapped
    for option in (
        click.option(
            "--max-priority-fee",
            "most",
            type=click.IntRange(0),
            metavar="LAMPORTS",
            help="The most that the priority fee of one transaction may be (default: 1,000,000).",
        ),
        click.option(
            "--priority-fee",
            "price",
            type=_PriceType(),
            metavar="N|auto",
            help="Micro-lamports for each compute unit, or what others paid recently.",
        ),
    ):
        decorated = option(decorated)
    return decorated
