"""SOURCE in all its forms, and the options that say which chain it runs on."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from idl2mcp.program_files import (
    build_record,
    built,
    has_magic,
    is_elf,
    own_id,
    read_elf,
)
from idl2mcp.streams import is_stream, kept_in_file, name_of, read_stream
from idl2mcp.versions_file import lists_versions, read_versions
from mcpsol_py.bundled import bundled_programs, bundled_so
from mcpsol_py.errors import InvalidProgram, SourceError, TransportError, abbr, suggest
from mcpsol_py.names import clean_text
from mcpsol_py.solana.address_book import AddressBook
from mcpsol_py.solana.clusters import CLUSTER_URLS, cluster_url
from mcpsol_py.solana.ids import KNOWN_MINTS
from mcpsol_py.sources.well_known import is_well_known, well_known, well_known_names

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.client.discovery import Discovery
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.transport import Transport
    from mcpsol_py.model.program import ProgramModel
    from mcpsol_py.program import Program
    from mcpsol_py.versions import Versions
    from mcpsol_py.x402.chain import PaymentChain

__all__ = [
    "PROFILES",
    "Chain",
    "Source",
    "address",
    "book_at",
    "chain_options",
    "database_beside",
    "endpoint",
    "endpoint_at",
    "files_of",
    "key_file",
    "load_source",
    "names_an_id",
    "no_exec_option",
    "open_cluster",
    "optional_source_argument",
    "payment_chain",
    "local_options",
    "refuse_errors",
    "source_bytes",
    "source_argument",
    "source_of",
    "transport_of",
]

#: Values of `--client`: the MCP clients with known limits.
PROFILES = (
    "default",
    "claude",
    "openai",
    "codex",
    "vscode",
    "gemini",
    "cursor",
    "strict",
)

_LONGEST = 4096
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*)?")


@dataclass(frozen=True, slots=True)
class Chain:
    """The chain that runs instructions: a JSON-RPC `url`, or the local cluster with its files."""

    url: str | None = None
    program_id: str | None = None
    so: Path | None = None
    setup: Path | None = None
    ledger: Path | None = None
    #: a cluster that is open already; several programs can share it
    cluster: LocalCluster | None = None

    @property
    def local(self) -> bool:
        """True if an option asks for the local cluster."""
        return any(
            part is not None
            for part in (self.so, self.setup, self.ledger, self.cluster)
        )


@dataclass(slots=True)
class Source:
    """A loaded program.

    `kind` is "document" (an IDL), "spec", "so", "bundled" or "chain". `how` describes the origin of the schema.
    `cluster` is the local cluster that runs the program, if any; `url` is its RPC endpoint.
    """

    model: ProgramModel
    kind: str
    how: str
    program_id: Pubkey | None = None
    cluster: LocalCluster | None = None
    url: str | None = None
    pages: list[bytes] = field(default_factory=list)
    #: all versions of the program, if SOURCE lists them; `model` is the newest
    versions: Versions | None = None
    _program: Program | None = None

    @property
    def program(self) -> Program:
        """The model with its codecs, made at first use: reading and converting do not need them."""
        if self._program is None:
            from mcpsol_py.program import Program

            self._program = Program(self.model)
        return self._program


def at_program_id(source: Source) -> ProgramModel:
    """Return the program at the address that --program-id gives, or else at its own."""
    if source.program_id is None:
        return source.model
    from mcpsol_py.sources.relocate import at_address

    return at_address(source.model, str(source.program_id))


def program_id_of(source: Source) -> str | None:
    """Return the id at which a source's program runs: the one given or found, else the one that it names itself."""
    return source.model.address if source.program_id is None else str(source.program_id)


def no_exec_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--no-exec``, which holds until the command ends."""

    def forbid(context: click.Context, _: click.Parameter, given: bool) -> None:
        if given and not context.resilient_parsing:
            from mcpsol_py.sources.execution import no_execution

            context.with_resource(no_execution())

    return click.option(
        "--no-exec",
        is_flag=True,
        envvar="IDL2MCP_NO_EXEC",
        expose_value=False,
        is_eager=True,
        callback=forbid,
        help="Refuse Python specs: reading one runs it (also $IDL2MCP_NO_EXEC).",
    )(function)


def source_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add SOURCE, and ``--no-exec`` for a SOURCE that would be run."""
    return click.argument("source", metavar="SOURCE")(no_exec_option(function))


def optional_source_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add SOURCE as `source_argument` does, for a command that can do without."""
    return click.argument("source", metavar="[SOURCE]")(no_exec_option(function))


def chain_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--url`` and ``--program-id``; the command's parameter is `chain`."""

    @functools.wraps(function)
    def wrapped(
        *args: Any, url: str | None, program_id: str | None, **kwargs: Any
    ) -> Any:
        local = {k: kwargs.pop(k) for k in ("so", "setup", "ledger") if k in kwargs}
        kwargs["chain"] = Chain(
            url=endpoint(url) if url else None, program_id=program_id, **local
        )
        return function(*args, **kwargs)

    with_id = click.option(
        "--program-id",
        metavar="ID",
        help="The program's id, if SOURCE does not contain it.",
    )(wrapped)
    return url_option()(with_id)


def pages_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--descriptions`` and ``--form``: how to write pages of list_tools."""
    for option in (
        click.option(
            "--form",
            type=click.Choice(["compact", "verbose"]),
            default="compact",
            show_default=True,
            help="The form of the pages: one of mcpsol's two.",
        ),
        click.option(
            "--descriptions",
            type=click.Choice(["full", "short", "none"]),
            default="full",
            show_default=True,
            help="How much of the descriptions to include.",
        ),
    ):
        function = option(function)
    return function


def url_option(
    *, required: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--url``; `endpoint` interprets its value."""
    return click.option(
        "--url",
        "-u",
        metavar="URL",
        envvar="IDL2MCP_URL",
        required=required,
        help="JSON-RPC endpoint, or localhost, devnet, testnet, mainnet (also $IDL2MCP_URL).",
    )


def local_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--so``, ``--setup`` and ``--ledger``, for the local cluster. `chain_options`, below it, collects them."""
    path = click.Path(dir_okay=False, path_type=Path)
    for option in (
        click.option(
            "--ledger",
            type=path,
            help="JSON file that keeps the local cluster's accounts between calls.",
        ),
        click.option(
            "--setup",
            type=path,
            help="TOML: wallets, mints, token accounts, programs of the local cluster.",
        ),
        click.option(
            "--so",
            type=path,
            help="Run this compiled program on the local cluster (for an IDL or a spec).",
        ),
    ):
        function = option(function)
    return function


def endpoint(url: str) -> str:
    """Return the URL that ``--url`` means. Raises click.BadParameter if it is neither a URL nor a cluster."""
    try:
        return cluster_url(url)
    except TransportError as error:
        raise click.BadParameter(error.why, param_hint="--url") from error


def address(text: str, option: str) -> Pubkey:
    """Parse an address. Raises click.BadParameter."""
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(text)
    except ValueError as error:
        raise click.BadParameter(
            f"expected an address (base58 of 32 bytes), got {abbr(text)}.",
            param_hint=option,
        ) from error


# --- SOURCE ----------------------------------------------------------------------------------------------------------


def load_source(text: str, chain: Chain | str | None = None) -> Source:
    """Load the program that SOURCE means.

    Tried in this order: stdin for "-", or a pipe (an IDL or a compiled program), an existing file (a `.so`, a Python
    spec, or an IDL in any dialect), the name of a bundled or well-known program, a program id (needs a URL), a Python
    module. *chain* may be a URL. A spec is run to read it.

    Raises SourceError or a subclass if it cannot be read, NoSchema and TransportError for a chain's answers, and
    click.UsageError if an option is missing.
    """
    chain = Chain(url=chain) if isinstance(chain, str) else chain or Chain()
    if len(text) > _LONGEST:
        raise SourceError(
            f"expected the name of a program, got {len(text):,} characters",
            origin=text[:80],
        )
    if is_stream(text):
        return _from_stream(text, chain)
    path = built(Path(text))
    there = _exists(path)
    if text.endswith(".so") or (there and is_elf(path)):
        return _from_so(path, chain)
    if not there and _looks_like_a_path(text) and (near := _near_file(path)):
        raise SourceError(f"no such file. {near}", origin=text)
    if there or _looks_like_a_path(text):
        return _from_file(path, chain)
    if text in bundled_programs():
        return _from_bundled(text, chain)
    if is_well_known(text):
        return _with_chain(well_known(text), "document", chain)
    if _BASE58.fullmatch(text) and _is_address(text):
        return _from_chain(text, chain)
    if _MODULE.fullmatch(text):
        try:
            return _from_module(text, chain)
        except SourceError as error:
            if not _is_missing(error.__cause__, text):
                raise
    raise SourceError(
        f"expected a file, a program id, a Python module or a bundled program; found none of that name. {_near(text)}",
        origin=text[:200],
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a part of the path is longer than the file system allows
        return False


def _is_missing(cause: BaseException | None, module: str) -> bool:
    """Return True if the module itself is missing, rather than one that it imports."""
    return (
        isinstance(cause, ModuleNotFoundError)
        and cause.name is not None
        and f"{module}.".startswith(f"{cause.name}.")
    )


def _near(text: str) -> str:
    """A suggestion: a file of a similar name in the same folder, or a bundled program."""
    return _near_file(Path(text)) or suggest(
        text, [*bundled_programs(), *well_known_names()]
    )


def _near_file(path: Path) -> str:
    with suppress(OSError):
        files = sorted(
            p.name for p in path.parent.iterdir() if p.suffix in (".json", ".py", ".so")
        )[:200]
        near = get_close_matches(path.name, files, n=1, cutoff=0.7)
        if near:
            return f"Did you mean {str(path.with_name(near[0]))!r}?"
    return ""


def _looks_like_a_path(text: str) -> bool:
    return os.sep in text or text.endswith((".json", ".py", ".toml", ".ts", ".js"))


def _is_address(text: str) -> bool:
    from solders.pubkey import Pubkey

    try:
        Pubkey.from_string(text)
    except ValueError:
        return False
    return True


def names_an_id(text: str) -> bool:
    """Return True if SOURCE is a program id, and not a file or a bundled program."""
    there = len(text) <= _LONGEST and Path(text).exists()
    return (
        not there
        and text not in bundled_programs()
        and bool(_BASE58.fullmatch(text))
        and _is_address(text)
    )


def files_of(text: str, chain: Chain) -> tuple[Path, ...]:
    """The files that SOURCE is read from. If one of them is written, the program may change."""
    found = [] if chain.so is None else [chain.so]
    if names_an_id(text):
        return tuple(found)
    if text in bundled_programs() and not Path(text).exists():
        return (*found, bundled_so(text))
    path = built(Path(text))
    return (*found, path) if path.is_file() else tuple(found)


def _program_id(model: ProgramModel, chain: Chain) -> Pubkey | None:
    if chain.program_id is not None:
        return address(chain.program_id, "--program-id")
    if model.address is None:
        return None
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(model.address)
    except ValueError:
        return None


def _from_file(path: Path, chain: Chain) -> Source:
    from mcpsol_py.sources.detect import read

    if path.is_dir():
        raise SourceError(
            "is a folder; give a file in it (an IDL, a spec.py or a .so)",
            origin=str(path),
        )
    if lists_versions(path):
        return _from_versions(path, chain)
    named = path if path.suffix else path.absolute()  # a bare word would mean a module
    return _with_chain(
        read(named), "spec" if path.suffix == ".py" else "document", chain
    )


def _from_versions(path: Path, chain: Chain) -> Source:
    versions = read_versions(path, chain.program_id)
    source = _with_chain(versions.newest.program.model, "document", chain)
    source.how = f"{len(versions.versions)} versions ({path}), the newest: {source.how}"
    source.versions = versions
    return source


def _from_stream(text: str, chain: Chain) -> Source:
    from mcpsol_py.sources.detect import read

    data = read_stream(text)
    if has_magic(data):
        return _from_so(kept_in_file(data, ".so"), chain)
    return _with_chain(read(data, origin=name_of(text)), "document", chain)


def source_bytes(text: str) -> bytes:
    """Return the bytes of a SOURCE that is a document."""
    return read_stream(text) if is_stream(text) else Path(text).read_bytes()


def _from_module(text: str, chain: Chain) -> Source:
    from mcpsol_py.sources.detect import read

    return _with_chain(read(text), "spec", chain)


def book_of(source: Source) -> AddressBook:
    """The names of addresses on the chain of *source*, and of its program."""
    book = book_at(source.url, source.cluster)
    if source.program_id is not None:
        book.add_program(str(source.program_id), clean_text(source.model.name, 60))
    return book


def book_at(url: str | None, cluster: LocalCluster | None) -> AddressBook:
    """The names of addresses on a chain: those of the local cluster, else the known ones of the public one at *url*."""
    if cluster is not None:
        return cluster.book
    names = (
        name for name, at in CLUSTER_URLS.items() if at == url and name in KNOWN_MINTS
    )
    return AddressBook(next(names, ""))


def _with_chain(model: ProgramModel, kind: str, chain: Chain) -> Source:
    source = Source(
        model, kind, _how(model), program_id=_program_id(model, chain), url=chain.url
    )
    if chain.so is not None:
        source.cluster = open_cluster(chain, chain.so)
        elf = read_elf(chain.so)
        source.program_id = source.program_id or own_id(chain.so)
        source.cluster.add_program(elf, source.program_id, str(chain.so))
    elif chain.local and chain.url is None:
        source.cluster = open_cluster(chain)
    return source


def _how(model: ProgramModel) -> str:
    dialect = model.dialect or "IDL"
    return f"{dialect} ({model.origin})" if model.origin else dialect


def _from_bundled(name: str, chain: Chain) -> Source:
    source = _from_so(bundled_so(name), chain)
    source.kind, source.how = "bundled", f"list_tools of the bundled program {name}"
    return source


def open_cluster(chain: Chain, so: Path | None = None) -> LocalCluster:
    """Open the local cluster: read its ledger and apply its setup. *so* is the program that it will run."""
    from idl2mcp.local_cluster import LocalCluster

    if chain.cluster is not None:
        return chain.cluster
    transport = None
    if so is not None and build_record(so).get("route") == "std":
        from mcpsol_py.client.svm import SvmTransport

        transport = SvmTransport(features="all")
    cluster = LocalCluster(transport, chain.ledger)
    if chain.setup is not None:
        cluster.apply_setup(chain.setup)
    return cluster


def _from_so(path: Path, chain: Chain) -> Source:
    from mcpsol_py.client.discovery import discover_sync

    elf = read_elf(path)
    cluster = open_cluster(chain, path)
    first = (
        address(chain.program_id, "--program-id") if chain.program_id else own_id(path)
    )
    cluster.add_program(elf, first, str(path))
    found = discover_sync(cluster.transport, first, all_pages=True)
    program_id = _program_id(found.program.model, chain) or first
    if program_id != first:
        cluster.add_program(elf, program_id, str(path))
    return Source(
        found.program.model,
        "so",
        f"{found.source} of {path}",
        program_id=program_id,
        cluster=cluster,
        pages=list(found.pages),
        _program=found.program,
    )


def _from_chain(text: str, chain: Chain) -> Source:
    from mcpsol_py.client.discovery import discover_sync

    if chain.url is None:
        raise click.UsageError(
            f"{text} is a program id. Add --url to say which cluster it is deployed on."
        )
    program_id = address(text, "SOURCE")
    with endpoint_at(chain.url) as transport:
        return source_of(
            discover_sync(transport, program_id, all_pages=True), program_id, chain.url
        )


def source_of(found: Discovery, program_id: Pubkey, url: str) -> Source:
    """The source of a program that was found on chain."""
    how = found.source + (f" {found.address}" if found.address else "")
    return Source(
        found.program.model,
        "chain",
        how,
        program_id=program_id,
        url=url,
        pages=list(found.pages),
        _program=found.program,
    )


@contextmanager
def endpoint_at(url: str) -> Iterator[RpcTransport]:
    """Open a JSON-RPC endpoint for code without an event loop, and close it at the end."""
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.transport import run

    transport = RpcTransport.blocking(url)
    try:
        yield transport
    finally:
        run(transport.close())


def payment_chain(url: str) -> PaymentChain:
    """Open the cluster at *url* (or of that name) for payments. The caller closes it. Raises TransportError."""
    from mcpsol_py.x402.chain import ChainUnavailable, rpc_chain

    try:
        return rpc_chain(endpoint(url))
    except ChainUnavailable as error:  # exit 3: the network's fault
        raise TransportError("the cluster", str(error)) from error


def database_beside(url: str, base: Path) -> str:
    """A database URL from a configuration file in *base*. Relative SQLite files are relative to *base*."""
    prefix = "sqlite:///"
    return (
        prefix + str(base / url.removeprefix(prefix)) if url.startswith(prefix) else url
    )


def transport_of(source: Source, *, blocking: bool = False) -> Transport | None:
    """The chain of a source: its local cluster or its endpoint. With *blocking*, for code without an event loop."""
    if source.cluster is not None:
        return source.cluster.transport
    if source.url is not None:
        from mcpsol_py.client.rpc import RpcTransport

        return RpcTransport(source.url, blocking=blocking)
    return None


def key_file(path: Path) -> Keypair:
    """Read the key pair of a file that only its owner can read.

    The file is one of the Solana CLI (a JSON list of 64 numbers), or one of `idl2mcp wallet new`, which needs its
    passphrase. Raises SourceError. Messages never show a file's content.
    """
    from solders.keypair import Keypair

    from mcpsol_py.client.keys import open_keypair, read_private_file

    try:
        document = json.loads(read_private_file(path))
        if isinstance(document, dict) and "sealed" in document:
            from idl2mcp.passphrases import passphrase

            return open_keypair(path, passphrase(path))
        return Keypair.from_bytes(bytes(document))
    except (ValueError, TypeError, RecursionError):
        raise SourceError(
            "expected a key file: a JSON list of 64 numbers (Solana CLI), or one of `idl2mcp wallet new`",
            origin=str(path),
        ) from None


#: Errors that make two instructions ambiguous on chain: no program can be written from such a document. Other errors
#: only disable the instructions that need the faulty part, and are reported.
_BLOCKING = re.compile(r"reserved-discriminator|shadowed-discriminator|duplicate-name")
_INSTRUCTION = re.compile(r"(program\.)?instructions\[\d+\](\.discriminator)?")


def refuse_errors(source: Source, *, deployed: bool = False) -> None:
    """Raise InvalidProgram with all findings that must be fixed first.

    For a spec, which its author can fix, these are all errors. For an IDL, these are errors that make instructions
    ambiguous; the number of other errors goes to stderr. With *deployed*, the program exists already and its IDL is
    only converted, so nothing is refused.
    """
    from idl2mcp.report import note
    from mcpsol_py.model.check import check

    errors = [f for f in check(source.model) if f.level == "error"]
    blocking = [
        f
        for f in errors
        if source.kind == "spec"
        or (
            not deployed
            and _BLOCKING.fullmatch(f.rule)
            and _INSTRUCTION.fullmatch(f.path)
        )
    ]
    if blocking:
        raise InvalidProgram(blocking, source.model.origin)
    if errors:
        note(
            f"{source.model.origin}: {len(errors)} errors; instructions that need the faulty parts are left out "
            f"or marked (see `idl2mcp lint`). First: {errors[0]}"
        )
