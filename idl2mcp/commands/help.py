"""`idl2mcp help`: the help of any command, also of a nested one."""

from __future__ import annotations

import click

from mcpsol_py.errors import suggest


@click.command(name="help")
@click.argument("names", metavar="[COMMAND]…", nargs=-1)
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of COMMAND, e.g. `idl2mcp help x402 pay`. Without one, list all commands."""
    context = ctx.parent
    assert context is not None  # a command of the group always has one
    target: click.Command = context.command
    for name in names:
        found = (
            target.get_command(context, name)
            if isinstance(target, click.Group)
            else None
        )
        if found is None:
            raise click.UsageError(_unknown(target, name, context), ctx)
        target, context = found, click.Context(found, info_name=name, parent=context)
    click.echo(target.get_help(context))


def _unknown(target: click.Command, name: str, context: click.Context) -> str:
    if not isinstance(target, click.Group):
        return f"{target.name} has no command {name!r}; it has no commands at all."
    return f"no command {name!r}. {suggest(name, target.list_commands(context))}"
