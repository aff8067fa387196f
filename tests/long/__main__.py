"""`python -m tests.long bodies TARGET` and `python -m tests.long mutants`: what `make full` runs beside the suite."""

from __future__ import annotations

import sys

import click

from tests.long import bodies, mutants


@click.group()
def main() -> None:
    """Long runs. Each goes on where the last one ended."""


@main.command("bodies")
@click.argument("target", type=click.Choice(["pinocchio", "native", "anchor"]))
@click.option("--bodies", "count", default=1000, show_default=True)
@click.option("--calls", default=100, show_default=True, help="The calls of each body.")
def random_bodies(target: str, count: int, calls: int) -> None:
    """Compare random bodies in Python and in an SVM."""
    sys.exit(0 if bodies.run(target, count, calls) else 1)


@main.command("mutants")
def compiler_mutants() -> None:
    """Run mutants of the compiler of bodies against random bodies and the unit tests."""
    sys.exit(0 if mutants.run() else 1)


if __name__ == "__main__":
    main()
