"""The `idl2mcp` command: its list of commands, and the handling of every failure.

A command's module is imported only when the command runs, so that `idl2mcp convert` does not load what `serve` needs.
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

#: Command -> description. The code of "list-tools" is `command` in idl2mcp/commands/list_tools.py.
COMMANDS: dict[str, str] = {
    "new": "Make a project: a program in Python, its tests and a README.",
    "inspect": "Show a program's tools, accounts, types and findings.",
    "convert": "Convert a program's schema to mcpsol JSON, pages, MCP tools or an Anchor IDL.",
    "stubs": "Write type stubs of a program, for editors and type checkers.",
    "lint": "Check a source, and its tools against the limits of MCP clients.",
    "render": "Render a program as a Rust crate.",
    "build": "Compile a crate to a .so; show its size, rent and list_tools cost.",
    "test": "Run a program's tests; list the lines and errors that they never reach.",
    "attack": "Attack a compiled program in every way that its spec must prevent.",
    "deploy": "Deploy or upgrade a program; a stopped run continues.",
    "publish-idl": "Publish a program's IDL in its Program Metadata account.",
    "fetch": "Fetch the IDL of a deployed program.",
    "list-tools": "Ask a deployed program or a .so for its own schema.",
    "verify": "Compare two sources, or a source with its lock.",
    "call": "Build, simulate or send one instruction, with a summary.",
    "account": "Read and decode one account of a program.",
    "decode": "Explain a transaction, a signature or instruction data.",
    "sign": "Show, sign and send a transaction that somebody else built.",
    "catalog": "Keep a catalogue of programs: add, search, show, compare and export them.",
    "serve": "Serve programs as MCP tools, over stdio or HTTP.",
    "install": "Write a server into an MCP client's configuration.",
    "demo": "Run the main features offline, on an embedded SVM.",
    "lock": "Lock a reviewed source, for `verify --lock` and `serve`.",
    "wallet": "Make and show encrypted key files, which a bridge signs with.",
    "audit": "Verify the log of what a bridge sent.",
    "x402": "Pay and sell: payments, an agent's wallet, sales, a facilitator, a worker.",
    "help": "Show the help of a command.",
}


#: The exit code after Ctrl-C.
_STOPPED = 130
_FIRST_STEPS = [
    ("idl2mcp demo", "See the main features, offline; nothing is installed or signed."),
    (
        "idl2mcp serve --demo --transport http",
        "Two programs as MCP tools and as web pages, at http://127.0.0.1:8765/",
    ),
    ("idl2mcp inspect idl.json", "See what a program can do."),
    (
        "idl2mcp serve idl.json --print-config claude",
        "Print the configuration for your MCP client.",
    ),
]


class LazyGroup(click.Group):
    """A group that imports a command's module when it runs; `--help` only needs the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Command names in the table's order, if their module exists."""
        folder = os.path.join(os.path.dirname(__file__), "commands")  # noqa: PTH118, PTH120  # pathlib is slow to import
        there = set(os.listdir(folder))  # noqa: PTH208  # as above
        return [
            n
            for n in COMMANDS
            if f"{n.replace('-', '_')}.py" in there or n.replace("-", "_") in there
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(
            f"idl2mcp.commands.{cmd_name.replace('-', '_')}"
        )
        command: click.Command = module.command
        return command

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list in --help, without importing any command."""
        with formatter.section("First steps"):
            formatter.write_dl(_FIRST_STEPS)
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, COMMANDS[name]) for name in self.list_commands(ctx)]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does; for an unknown name, suggest the nearest."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            from mcpsol_py.errors import suggest

            raise click.UsageError(
                f"no command {name!r}. {suggest(name, self.list_commands(ctx))}", ctx
            )
        return super().resolve_command(ctx, args)


_EPILOG = (
    "SOURCE is an IDL file in any dialect (Anchor, Anchor before 0.30, Shank, Codama), a Python spec (spec.py or "
    "package.module[:Class]; reading it runs it, --no-exec refuses it), a .so, the name of a program that ships with "
    "this package (counter, guard, vault, x402), or a program id with --url. Exit codes: 0 success, 1 wrong input, "
    "2 wrong usage, 3 chain or network."
)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=_EPILOG,
    invoke_without_command=False,
)
@click.version_option(
    package_name="mcpsol-py", prog_name="idl2mcp", message="%(prog)s %(version)s"
)
def cli() -> None:
    """Solana programs as MCP tools: from an IDL or a Python spec to on-chain schema pages, a client and a bridge."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code. Without *argv*, use the process's arguments and exit.

    No input ends in a traceback. Errors of this library become one sentence; any other error is reported as a bug in
    idl2mcp (IDL2MCP_DEBUG=1 shows the traceback).
    """
    args = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in args
    code = _run(args, as_json)
    if argv is None:
        _leave(code)
    return code


def _run(args: list[str], as_json: bool) -> int:
    try:
        result = cli.main(
            args=args, prog_name="idl2mcp", standalone_mode=False, obj=args
        )
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
            error,
            as_json=as_json,
            details={"reason": "input", "message": error.format_message()},
        )
    except (click.Abort, KeyboardInterrupt):
        return _stopped()
    except BrokenPipeError:  # the reader (head, less) closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return report.OK
    except McpsolError as error:
        return report.failure(error, as_json=as_json)
    except (OSError, EOFError) as error:
        if _debugging():
            raise
        return report.failure(error, as_json=as_json)
    except Exception as error:  # a bug of ours: report it in a sentence
        if _is_interrupted(error):
            return _stopped()
        if _debugging():
            raise
        inner = _single(error)
        if isinstance(inner, McpsolError):
            return report.failure(inner, as_json=as_json)
        return report.failure(inner, as_json=as_json, details=_fault(inner, args))
    except BaseException as error:
        # Ctrl-C in the moment in which asyncio's runner begins to listen to it: the runner forgets it was one.
        if type(error).__name__ == "CancelledError":
            return _stopped()
        # Rust code raises PanicException, which is not an Exception.
        if _debugging() or type(error).__name__ != "PanicException":
            raise
        return report.failure(error, as_json=as_json, details=_fault(error, args))


def _stopped() -> int:
    """Say that Ctrl-C ended the command. Returns its exit code."""
    report.note("Stopped.")
    return _STOPPED


def _is_interrupted(error: BaseException) -> bool:
    """Return whether Ctrl-C caused *error*: code in Rust, as pydantic's, hands it on as an error of its own."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KeyboardInterrupt):
            return True
        seen = seen.__cause__ or seen.__context__
    last = str(error).strip().rpartition("\n")[2].strip()
    return last.startswith(KeyboardInterrupt.__name__)


def _single(error: BaseException) -> BaseException:
    """Unwrap a task group's error group that holds a single error."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _fault(error: BaseException, args: Sequence[str]) -> dict[str, str]:
    """The report of an error that is not ours, for the command line *args*."""
    module = (
        getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    )
    extra = _EXTRAS.get(str(module).partition(".")[0])
    if extra is not None:
        if args[:1] == ["x402"]:
            extra = "x402"  # it includes the extra bridge
        message = (
            f"this command needs {module}, which is not installed. "
            f"Install the extra {extra}: pip install '.[{extra}]' in a clone of mcpsol-py"
        )
        return {"reason": "extra_missing", "message": message}
    message = (
        f"idl2mcp failed unexpectedly: {type(error).__name__}: {error}. "
        "This is a bug; please report it. IDL2MCP_DEBUG=1 shows the traceback."
    )
    return {"reason": "internal", "message": message}


#: Module -> the extra that installs it.
_EXTRAS = {
    **dict.fromkeys(
        ("mcp", "mcp_types", "uvicorn", "starlette", "cryptography", "pydantic"),
        "bridge",
    ),
    **dict.fromkeys(("sqlalchemy", "alembic"), "catalog"),
    "x402": "x402",
    **dict.fromkeys(("pyarrow", "numpy"), "arrow"),
}


def _debugging() -> bool:
    return bool(os.environ.get("IDL2MCP_DEBUG"))


def _leave(code: int) -> None:
    """Exit the process. A closed pipe is not a failure of the command."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if code == _STOPPED and _threads_run_on():
        os._exit(code)
    sys.exit(code)


def _threads_run_on() -> bool:
    """Return True if a thread would keep the process until the network answers it."""
    import threading

    others = {*threading.enumerate()} - {threading.main_thread()}
    return not all(thread.daemon for thread in others)
