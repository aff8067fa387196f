"""Types of Solana's own crates that IDLs name and do not define: Shank and the IDL builders before Anchor 0.30 saw one
crate's source alone, and Codama's hand-written roots leave them to the generators.

Only names that mean one thing wherever they stand. A document that defines such a name means its own."""

from __future__ import annotations

from mcpsol_py.errors import abbr
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    BOOL,
    I16,
    I32,
    I64,
    I128,
    PUBKEY,
    U16,
    U32,
    U64,
    U128,
    Type,
    ZeroableOption,
)
from mcpsol_py.names import pascal

__all__ = ["known_type", "said_of"]

#: solana-clock's aliases; spl-pod's numbers (little-endian bytes) and its key whose zeros mean none
_KNOWN: dict[str, Type] = {
    "Epoch": U64,
    "Slot": U64,
    "UnixTimestamp": I64,
    "PodBool": BOOL,
    "PodI16": I16,
    "PodI32": I32,
    "PodI64": I64,
    "PodI128": I128,
    "PodU16": U16,
    "PodU32": U32,
    "PodU64": U64,
    "PodU128": U128,
    "OptionalNonZeroPubkey": ZeroableOption(PUBKEY),
}


def known_type(name: str) -> Type | None:
    """What *name* (Rust's, or Codama's camelCase) means in Solana's crates; None for other names."""
    return _KNOWN.get(name) or (_KNOWN.get(pascal(name)) if name[:1].islower() else None)


def said_of(name: str, node: Type) -> str:
    """The finding that tells of such a reading."""
    return (
        f"nothing here defines {abbr(name, 60)}; read as that of Solana's crates, {type_text(node)}"
    )
