"""What a command is given: SOURCE in all its forms, where the chain is, and JSON arguments."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mcpsol_py.bundled import bundled_programs, bundled_so
from mcpsol_py.errors import InvalidProgram, SourceError, abbr, suggest

if TYPE_CHECKING:
    from solders.keypair import Keypair
    from solders.pubkey import Pubkey

    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.client.discovery import Discovery
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.transport import Transport
    from mcpsol_py.model.program import ProgramModel
    from mcpsol_py.program import Program
    from mcpsol_py.x402.chain import PaymentChain

__all__ = [
    "PROFILES",
    "Chain",
    "Source",
    "address",
    "build_record",
    "built",
    "chain_options",
    "database_beside",
    "default_id",
    "endpoint",
    "endpoint_at",
    "files_of",
    "json_list",
    "json_object",
    "key_file",
    "load_source",
    "names_an_id",
    "payment_chain",
    "read_elf",
    "local_options",
    "refuse_errors",
    "source_argument",
    "source_of",
    "transport_of",
]

#: what `--client` takes: the MCP clients whose limits are known (FIELD-NOTES D)
PROFILES = ("default", "claude", "openai", "codex", "vscode", "gemini", "cursor", "strict")

#: short names for --url, as the Solana CLI has them
CLUSTERS = {
    "localhost": "http://127.0.0.1:8899",
    "localnet": "http://127.0.0.1:8899",
    "devnet": "https://api.devnet.solana.com",
    "testnet": "https://api.testnet.solana.com",
    "mainnet": "https://api.mainnet-beta.solana.com",
    "mainnet-beta": "https://api.mainnet-beta.solana.com",
}

_LONGEST = 4096
_MAX_BYTES = 50 * 1024 * 1024
_BASE58 = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*)?")


@dataclass(frozen=True, slots=True)
class Chain:
    """Where instructions run: a JSON-RPC `url`, or the local cluster with a `.so`, a setup and a ledger file."""

    url: str | None = None
    program_id: str | None = None
    so: Path | None = None
    setup: Path | None = None
    ledger: Path | None = None
    #: one that is open already: several programs can share it
    cluster: LocalCluster | None = None

    @property
    def local(self) -> bool:
        """Was the local cluster asked for by an option?"""
        return any(part is not None for part in (self.so, self.setup, self.ledger, self.cluster))


@dataclass(slots=True)
class Source:
    """A program, and what came with it.

    `kind`: "document" (an IDL), "spec", "so", "bundled" or "chain". `cluster` is the local cluster that runs it, if
    any; `url` the RPC endpoint. `how` says in words where the schema came from.
    """

    model: ProgramModel
    kind: str
    how: str
    program_id: Pubkey | None = None
    cluster: LocalCluster | None = None
    url: str | None = None
    pages: list[bytes] = field(default_factory=list)
    _program: Program | None = None

    @property
    def program(self) -> Program:
        """The model with its codecs; made when first asked for, since reading and converting needs none."""
        if self._program is None:
            from mcpsol_py.program import Program

            self._program = Program(self.model)
        return self._program


source_argument = click.argument("source", metavar="SOURCE")


def chain_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--url`` and ``--program-id``; the parameter is `chain`."""

    @functools.wraps(function)
    def wrapped(*args: Any, url: str | None, program_id: str | None, **kwargs: Any) -> Any:
        local = {k: kwargs.pop(k) for k in ("so", "setup", "ledger") if k in kwargs}
        kwargs["chain"] = Chain(url=endpoint(url) if url else None, program_id=program_id, **local)
        return function(*args, **kwargs)

    with_id = click.option(
        "--program-id", metavar="ID", help="The program's id, where SOURCE does not say it."
    )(wrapped)
    return url_option()(with_id)


def pages_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--descriptions`` and ``--form``: how pages of list_tools are written."""
    for option in (
        click.option(
            "--form",
            type=click.Choice(["compact", "verbose"]),
            default="compact",
            show_default=True,
            help="Which of mcpsol's two forms its pages have.",
        ),
        click.option(
            "--descriptions",
            type=click.Choice(["full", "short", "none"]),
            default="full",
            show_default=True,
            help="How much prose its pages have.",
        ),
    ):
        function = option(function)
    return function


def url_option(*, required: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--url``; `endpoint` says what it means."""
    return click.option(
        "--url",
        "-u",
        metavar="URL",
        envvar="IDL2MCP_URL",
        required=required,
        help="JSON-RPC endpoint, or localhost, devnet, testnet, mainnet (also $IDL2MCP_URL).",
    )


def local_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--so``, ``--setup`` and ``--ledger``: the local cluster. Stands above `chain_options`, which collects them."""
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
    """The URL that ``--url`` means. Raises click.BadParameter where it is none."""
    url = CLUSTERS.get(url, url)
    if not url.startswith(("http://", "https://")):
        raise click.BadParameter(
            f"{abbr(url)} is no http(s) URL, and none of {', '.join(CLUSTERS)}.", param_hint="--url"
        )
    return url


def address(text: str, option: str) -> Pubkey:
    """*text* as an address. Raises click.BadParameter where it is none."""
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{abbr(text)} is no address (base58 of 32 bytes).", param_hint=option
        ) from error


# --- SOURCE ----------------------------------------------------------------------------------------------------------


def load_source(text: str, chain: Chain | str | None = None) -> Source:
    """SOURCE as a program.

    In this order: an existing file (a `.so`, a Python spec, else an IDL of any dialect), the name of a bundled
    program, a program id (with a URL), a Python module. *chain* may be a URL.

    Raises SourceError and its kind for what cannot be read, NoSchema and TransportError for a chain's answers, and
    click.UsageError where an option is missing.
    """
    chain = Chain(url=chain) if isinstance(chain, str) else chain or Chain()
    if len(text) > _LONGEST:
        raise SourceError(f"{len(text):,} characters are no name of a program", origin=text[:80])
    path = built(Path(text))
    try:
        there = path.exists()
    except OSError:  # a part of it is longer than the file system allows
        there = False
    if text.endswith(".so") or (there and _is_elf(path)):
        return _from_so(path, chain)
    if not there and _looks_like_a_path(text) and (near := _near_file(path)):
        raise SourceError(f"there is no such file. {near}", origin=text)
    if there or _looks_like_a_path(text):
        return _from_file(path, chain)
    if text in bundled_programs():
        return _from_bundled(text, chain)
    if _BASE58.fullmatch(text) and _is_address(text):
        return _from_chain(text, chain)
    if _MODULE.fullmatch(text):
        try:
            return _from_module(text, chain)
        except SourceError as error:
            if not _is_missing(error.__cause__, text):
                raise
    raise SourceError(
        f"is no file, no program id and no Python module, and none of the bundled programs. {_near(text)}",
        origin=text[:200],
    )


def _is_missing(cause: BaseException | None, module: str) -> bool:
    """Is the module itself not there? One that it imports may be missing as well."""
    return (
        isinstance(cause, ModuleNotFoundError)
        and cause.name is not None
        and f"{module}.".startswith(f"{cause.name}.")
    )


def _near(text: str) -> str:
    """What may have been meant: a file beside the one that was named, or a bundled program."""
    return _near_file(Path(text)) or suggest(text, bundled_programs())


def _near_file(path: Path) -> str:
    with suppress(OSError):
        files = sorted(
            p.name for p in path.parent.iterdir() if p.suffix in (".json", ".py", ".so")
        )[:200]
        near = get_close_matches(path.name, files, n=1, cutoff=0.7)
        if near:
            return f"Did you mean {str(path.with_name(near[0]))!r}?"
    return ""


def built(path: Path) -> Path:
    """*path*; of "X.so" that is not there, where X is a crate's folder: the one .so that was built in it."""
    if path.suffix != ".so" or path.exists() or not path.with_suffix("").is_dir():
        return path
    found = sorted(path.with_suffix("").glob("*.so"))
    return found[0] if len(found) == 1 else path


def built_in(folder: Path) -> Path:
    """The one .so in a crate's folder: <name>.so where several stand there. Raises SourceError."""
    found = sorted(folder.glob("*.so"))
    named = folder / f"{folder.absolute().name}.so"
    if named in found or len(found) == 1:
        return named if named in found else found[0]
    said = f"has {len(found)} .so files" if found else "has no .so"
    raise SourceError(
        f"{said}. Build it with `idl2mcp build`, or name one with --so", origin=str(folder)
    )


def _looks_like_a_path(text: str) -> bool:
    return os.sep in text or text.endswith((".json", ".py", ".toml", ".ts", ".js"))


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _is_address(text: str) -> bool:
    from solders.pubkey import Pubkey

    try:
        Pubkey.from_string(text)
    except ValueError:
        return False
    return True


def names_an_id(text: str) -> bool:
    """Is SOURCE the id of a deployed program, and no file or bundled program?"""
    there = len(text) <= _LONGEST and Path(text).exists()
    return (
        not there
        and text not in bundled_programs()
        and bool(_BASE58.fullmatch(text))
        and _is_address(text)
    )


def files_of(text: str, chain: Chain) -> tuple[Path, ...]:
    """The files that SOURCE is read from; when one is written, the program may be another."""
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
            "is a folder; name a file in it (an IDL, a spec.py or a .so)", origin=str(path)
        )
    named = path if path.suffix else path.absolute()  # a bare word would be read as a module's name
    return _with_chain(read(named), "spec" if path.suffix == ".py" else "document", chain)


def _from_module(text: str, chain: Chain) -> Source:
    from mcpsol_py.sources.detect import read

    return _with_chain(read(text), "spec", chain)


def _with_chain(model: ProgramModel, kind: str, chain: Chain) -> Source:
    source = Source(model, kind, _how(model), program_id=_program_id(model, chain), url=chain.url)
    if chain.so is not None:
        source.cluster = open_cluster(chain, chain.so)
        elf = read_elf(chain.so)
        source.program_id = source.program_id or _own_id(chain.so)
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


def read_elf(path: Path) -> bytes:
    """The bytes of a compiled program. Raises SourceError where it is no ELF file, or over 50 MB."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise SourceError(
                f"{path.stat().st_size:,} bytes; a program has at most 10 MB", origin=str(path)
            )
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{error.strerror}. Name a file that exists", origin=str(path)) from error
    if data[:4] != b"\x7fELF":
        raise SourceError(
            f"starts with {abbr(data[:8])}; a program is an ELF file (made by `idl2mcp build`)",
            origin=str(path),
        )
    return data


def default_id(name: str) -> Pubkey:
    """An id for a program that does not say its own: made from its file's name, so that it stays when it is built
    anew.
    """
    import hashlib

    from solders.pubkey import Pubkey

    return Pubkey(hashlib.sha256(b"mcpsol local program: " + name.encode()).digest())


def build_record(so: Path) -> dict[str, Any]:
    """What `idl2mcp build` wrote down beside a .so; {} where it did not, or that is no record."""
    try:
        record = json.loads(so.with_suffix(".build.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _own_id(so: Path) -> Pubkey:
    """Where a .so is deployed when nobody says: at the id that it declares (Anchor programs run nowhere else), else
    at any.
    """
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(str(build_record(so)["program_id"]))
    except (KeyError, ValueError):
        return default_id(so.stem)


def open_cluster(chain: Chain, so: Path | None = None) -> LocalCluster:
    """The local cluster, with its ledger read and its setup applied. *so*: the program that it will run."""
    from idl2mcp.local_cluster import LocalCluster

    if chain.cluster is not None:
        return chain.cluster
    transport = None
    if (
        so is not None and build_record(so).get("route") == "std"
    ):  # such programs need every feature (SBF.md, route 2)
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
    first = address(chain.program_id, "--program-id") if chain.program_id else _own_id(path)
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
        raise click.UsageError(f"{text} is a program id: say where it is deployed, with --url.")
    program_id = address(text, "SOURCE")
    with endpoint_at(chain.url) as transport:
        return source_of(
            discover_sync(transport, program_id, all_pages=True), program_id, chain.url
        )


def source_of(found: Discovery, program_id: Pubkey, url: str) -> Source:
    """A program that was found on chain."""
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
    """A JSON-RPC endpoint for code without an event loop, closed at the end."""
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.transport import run

    transport = RpcTransport.blocking(url)
    try:
        yield transport
    finally:
        run(transport.close())


def payment_chain(url: str) -> PaymentChain:
    """The cluster at *url* (or of that name) for payments; whoever asks closes it. Raises TransportError."""
    from mcpsol_py.errors import TransportError
    from mcpsol_py.x402.chain import ChainUnavailable, rpc_chain

    try:
        return rpc_chain(endpoint(url))
    except ChainUnavailable as error:  # exit 3: the network's fault
        raise TransportError("the cluster", str(error)) from error


def database_beside(url: str, base: Path) -> str:
    """A database's URL from a configuration in *base*: a relative file of SQLite stands beside it."""
    prefix = "sqlite:///"
    return prefix + str(base / url.removeprefix(prefix)) if url.startswith(prefix) else url


def transport_of(source: Source, *, blocking: bool = False) -> Transport | None:
    """The chain of a source: its local cluster, or its endpoint (*blocking*: for code without an event loop)."""
    if source.cluster is not None:
        return source.cluster.transport
    if source.url is not None:
        from mcpsol_py.client.rpc import RpcTransport

        return RpcTransport(source.url, blocking=blocking)
    return None


def key_file(path: Path) -> Keypair:
    """The key pair of a file: the Solana CLI's (a JSON list of 64 numbers), or one of `idl2mcp wallet new`, whose
    passphrase is then asked for. Raises SourceError; messages never show a file's content.
    """
    from solders.keypair import Keypair

    try:
        document = json.loads(path.read_bytes())
        if isinstance(document, dict) and "sealed" in document:
            from idl2mcp.passphrases import passphrase
            from mcpsol_py.client.keys import open_keypair

            return open_keypair(path, passphrase(path))
        return Keypair.from_bytes(bytes(document))
    except OSError as error:
        raise SourceError(f"{error.strerror}", origin=str(path)) from error
    except (ValueError, TypeError):
        raise SourceError(
            "no key file of the Solana CLI (a JSON list of 64 numbers)", origin=str(path)
        ) from None


# --- arguments -------------------------------------------------------------------------------------------------------


def json_object(text: str | None, option: str) -> dict[str, Any]:
    """An option's JSON object: the text itself, ``@file`` or ``-`` for stdin; None is {}.

    Integers keep every digit. Raises SourceError with line and column.
    """
    value, origin = _json(text, option)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SourceError(
            f'{abbr(value)}: a JSON object is wanted, like {{"amount": "5"}}', origin=origin
        )
    return value


def json_list(text: str | None, option: str) -> list[Any]:
    """As `json_object`, of a list; None is []."""
    value, origin = _json(text, option)
    if value is None:
        return []
    if not isinstance(value, list):
        raise SourceError(f"{abbr(value)}: a JSON list is wanted", origin=origin)
    return value


def _json(text: str | None, option: str) -> tuple[Any, str]:
    origin = option
    if text is None:
        return None, origin
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        origin = text[1:]
        try:
            text = Path(origin).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"cannot be read: {error}", origin=origin) from error
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique), origin
    except (ValueError, RecursionError) as error:
        raise SourceError(f"no JSON: {error}", origin=origin) from error


def _no_constant(name: str) -> float:
    raise ValueError(f'{name} stands bare; write "{name}", in quotes')


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"{key!r} stands twice")
        out[key] = value
    return out


#: Errors that leave no way to tell two instructions apart on chain: no program can be written from such a document.
#: Others disable what needs the faulty part, and are told.
_BLOCKING = re.compile(r"reserved-discriminator|shadowed-discriminator|duplicate-name")
_INSTRUCTION = re.compile(r"(program\.)?instructions\[\d+\](\.discriminator)?")


def refuse_errors(source: Source, *, deployed: bool = False) -> None:
    """Raises InvalidProgram with every finding that must be mended first, all at once.

    Of a spec, which is its author's to mend, that is every error; of an IDL only what makes instructions ambiguous,
    and the other errors are counted on stderr. *deployed*: the IDL is only described in another form, of a program
    that is what it is, so nothing of it is refused.
    """
    from idl2mcp.report import note
    from mcpsol_py.model.check import check

    errors = [f for f in check(source.model) if f.level == "error"]
    blocking = [
        f
        for f in errors
        if source.kind == "spec"
        or (not deployed and _BLOCKING.fullmatch(f.rule) and _INSTRUCTION.fullmatch(f.path))
    ]
    if blocking:
        raise InvalidProgram(blocking, source.model.origin)
    if errors:
        note(
            f"{source.model.origin}: findings of level error: {len(errors)}; what needs the faulty parts is left out "
            f"or marked (see `idl2mcp lint`). First: {errors[0]}"
        )
