"""The `idl2mcp` command: which commands there are, and how any failure ends.

A command's module is imported when it is called, never before, so that `idl2mcp convert` does not pay for what `serve`
needs.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click

from idl2mcp import report
from mcpsol_py.errors import McpsolError

__all__ = ["COMMANDS", "cli", "main"]

#: name -> what it does; the code of "list-tools" is idl2mcp/commands/list_tools.py, the attribute `command`
COMMANDS: dict[str, str] = {
    "inspect": "What a program is: its tools, accounts, types and findings.",
    "convert": "Write a program's schema as mcpsol JSON, pages, MCP tools or Anchor IDL.",
    "lint": "Findings in a source, and what an MCP client would refuse of its tools.",
    "render": "Write the Rust crate of a program.",
    "build": "Compile a crate to a .so; its size, rent and the cost of list_tools.",
    "attack": "Every attack that a spec's constraints admit, on its compiled program.",
    "deploy": "Put a .so on a cluster, or upgrade what is there; goes on where it was stopped.",
    "publish-idl": "Write a program's IDL to its Program Metadata account.",
    "fetch": "The IDL of a deployed program, and where it was found.",
    "list-tools": "What a deployed program or a .so says about itself.",
    "verify": "Where two sources differ, or a source from what was locked.",
    "call": "Build, simulate or send one instruction, with a readable summary.",
    "serve": "Programs as MCP tools, over stdio or HTTP.",
    "demo": "The whole way on an in-process SVM, offline.",
    "lock": "Remember a source as accepted, for `verify --lock` and `serve`.",
    "wallet": "The encrypted key file that a sending bridge signs with.",
    "audit": "Verify the log of what a bridge has sent.",
    "x402": "Payments: pay, an agent's wallet, what was paid and sold, a facilitator, a worker.",
    "help": "Show the help of a command.",
}


_FIRST_STEPS = [
    ("idl2mcp demo", "The whole way, offline: nothing is installed or signed."),
    (
        "idl2mcp serve --demo --transport http",
        "Two programs as MCP tools and as pages, at http://127.0.0.1:8765/",
    ),
    ("idl2mcp inspect idl.json", "What a program of yours can do."),
    (
        "idl2mcp serve idl.json --print-config claude",
        "What your MCP client needs to have it as tools.",
    ),
]


class LazyGroup(click.Group):
    """Loads a command's module when it is called; `--help` only needs the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order, those whose module is there."""
        folder = os.path.join(os.path.dirname(__file__), "commands")  # noqa: PTH118, PTH120  # pathlib is not loaded yet
        there = set(os.listdir(folder))  # noqa: PTH208  # as above
        return [
            n
            for n in COMMANDS
            if f"{n.replace('-', '_')}.py" in there or n.replace("-", "_") in there
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"idl2mcp.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in --help, without importing a single command."""
        with formatter.section("First steps"):
            formatter.write_dl(_FIRST_STEPS)
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's; an unknown name is answered with the nearest that exists."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from mcpsol_py.errors import suggest

            raise click.UsageError(
                f"no command {name!r}. {suggest(name, self.list_commands(ctx))}", ctx
            )
        return super().resolve_command(ctx, args)


_EPILOG = (
    "SOURCE is an IDL file of any dialect (Anchor, Anchor before 0.30, Shank, Codama), a Python spec (spec.py or "
    "package.module[:Class]), a .so, the name of a program that ships with this package (counter, vault, x402), or a "
    "program id with --url. Exit codes: 0 fine, 1 the input's fault, 2 usage, 3 chain or network."
)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
    invoke_without_command=False,
)
@click.version_option(package_name="mcpsol-py", prog_name="idl2mcp", message="%(prog)s %(version)s")
def cli() -> None:
    """Solana programs as MCP tools: from an IDL or a Python spec to on-chain schema pages, a client and a bridge."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and exits (`argv`: without the program's name; None: the process's own).

    No input ends in a traceback: what this library raises on purpose is one sentence, and what it does not is said to
    be a fault of idl2mcp's own (IDL2MCP_DEBUG=1 shows where).
    """
    args = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in args
    code = _run(args, as_json)
    if argv is None:
        _leave(code)
    return code


def _run(args: list[str], as_json: bool) -> int:
    try:
        result = cli.main(args=args, prog_name="idl2mcp", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else report.OK
    except click.UsageError as error:
        error.show()
        if as_json:
            sys.stdout.write(
                report.as_json_text(
                    {"error": {"reason": "usage", "message": error.format_message()}}
                )
                + "\n"
            )
        return report.USAGE
    except click.ClickException as error:
        return report.failure(
            error, as_json=as_json, details={"reason": "input", "message": error.format_message()}
        )
    except (click.Abort, KeyboardInterrupt):
        report.note("Stopped.")
        return 130
    except (
        BrokenPipeError
    ):  # the reader (head, less) has gone: nothing to say, and no one to say it to
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return report.OK
    except McpsolError as error:
        return report.failure(error, as_json=as_json)
    except (OSError, EOFError) as error:
        if _debugging():
            raise
        return report.failure(error, as_json=as_json)
    except (
        Exception
    ) as error:  # the last place: a fault of ours is told in a sentence, not as a traceback
        if _debugging():
            raise
        inner = _single(error)
        if isinstance(inner, McpsolError):
            return report.failure(inner, as_json=as_json)
        return report.failure(inner, as_json=as_json, details=_fault(inner, args))
    except BaseException as error:
        if (
            _debugging() or type(error).__name__ != "PanicException"
        ):  # what Rust code raises; no Exception
            raise
        return report.failure(error, as_json=as_json, details=_fault(error, args))


def _single(error: BaseException) -> BaseException:
    """The one error that a task group's group of errors holds; else *error* itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _fault(error: BaseException, args: Sequence[str]) -> dict[str, str]:
    """What is said of an error that nobody raised on purpose, in the command line *args*."""
    module = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    extra = _EXTRAS.get(str(module).partition(".")[0])
    if extra is not None:
        extra = (
            "x402" if args[:1] == ["x402"] else extra
        )  # which holds the other too: one answer is enough
        message = (
            f"this command needs {module}, which is not installed. "
            f"It comes with the extra {extra}: pip install '.[{extra}]' in a clone of mcpsol-py"
        )
        return {"reason": "extra_missing", "message": message}
    message = (
        f"idl2mcp itself failed: {type(error).__name__}: {error}. "
        "Your input met a case that was not thought of: IDL2MCP_DEBUG=1 shows where."
    )
    return {"reason": "internal", "message": message}


#: modules that come with an extra of the package -> the extra
_EXTRAS = {
    **dict.fromkeys(
        ("mcp", "mcp_types", "uvicorn", "starlette", "cryptography", "pydantic"), "bridge"
    ),
    **dict.fromkeys(("x402", "sqlalchemy", "alembic"), "x402"),
}


def _debugging() -> bool:
    return bool(os.environ.get("IDL2MCP_DEBUG"))


def _leave(code: int) -> None:
    """Ends the process. The flushes may meet a closed pipe, which is no failure of the command's."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
