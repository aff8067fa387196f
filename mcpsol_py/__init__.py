"""mcpsol-py: a Solana program's own MCP schema, from one source to its on-chain pages, its client and its MCP tools.

Everything below is imported when it is first used, so `import mcpsol_py` itself is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mcpsol_py import _moved

if TYPE_CHECKING:
    from mcpsol_py.bundled import bundled_so
    from mcpsol_py.client.rpc import RpcTransport
    from mcpsol_py.client.svm import SvmTransport
    from mcpsol_py.connection import connect, connect_sync
    from mcpsol_py.errors import (
        AccountNotFound,
        BuildError,
        CannotSign,
        ClientError,
        CodecError,
        DecodeError,
        DeployRefused,
        EditedByHand,
        EncodeError,
        InvalidProgram,
        InvalidSigner,
        InvalidTransaction,
        LandedDifferently,
        MalformedPage,
        McpsolError,
        MissingAccount,
        MissingSigner,
        NoProgram,
        NoSchema,
        NotUsable,
        PageTooLarge,
        PaymentError,
        PdaError,
        PolicyError,
        ProgramFailed,
        RenderError,
        SchemaError,
        SendUnknown,
        SourceError,
        StorageError,
        ToolchainMissing,
        TooManyArguments,
        TransactionTooLarge,
        TransportError,
        UnknownDialect,
        UnknownName,
        UnresolvedName,
        UnsupportedType,
        WrongArithmetic,
    )
    from mcpsol_py.program import Program, load
    from mcpsol_py.program_client import ProgramClient
    from mcpsol_py.render import render_crate
    from mcpsol_py.sync_client import SyncProgramClient

__version__ = "0.1.0"

_HOMES = {
    "load": "mcpsol_py.program",
    "Program": "mcpsol_py.program",
    "ProgramClient": "mcpsol_py.program_client",
    "SyncProgramClient": "mcpsol_py.sync_client",
    "connect": "mcpsol_py.connection",
    "connect_sync": "mcpsol_py.connection",
    "RpcTransport": "mcpsol_py.client.rpc",
    "SvmTransport": "mcpsol_py.client.svm",
    "bundled_so": "mcpsol_py.bundled",
    "render_crate": "mcpsol_py.render",
}

__all__ = [
    "load",
    "Program",
    "ProgramClient",
    "SyncProgramClient",
    "connect",
    "connect_sync",
    "RpcTransport",
    "SvmTransport",
    "bundled_so",
    "render_crate",
    # the error tree, mcpsol_py.errors
    "AccountNotFound",
    "BuildError",
    "CannotSign",
    "ClientError",
    "CodecError",
    "DecodeError",
    "DeployRefused",
    "EditedByHand",
    "EncodeError",
    "InvalidProgram",
    "InvalidSigner",
    "InvalidTransaction",
    "LandedDifferently",
    "MalformedPage",
    "McpsolError",
    "MissingAccount",
    "MissingSigner",
    "NoProgram",
    "NoSchema",
    "NotUsable",
    "PageTooLarge",
    "PaymentError",
    "PdaError",
    "PolicyError",
    "ProgramFailed",
    "RenderError",
    "SchemaError",
    "SendUnknown",
    "SourceError",
    "StorageError",
    "TooManyArguments",
    "ToolchainMissing",
    "TransactionTooLarge",
    "TransportError",
    "UnknownDialect",
    "UnknownName",
    "UnresolvedName",
    "UnsupportedType",
    "WrongArithmetic",
]


_moved.install()


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "mcpsol_py.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
