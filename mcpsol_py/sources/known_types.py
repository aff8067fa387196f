"""Types of Solana's own crates that IDLs name without defining them.

Shank and the IDL builders before Anchor 0.30 saw the source of one crate only, and Codama's
hand-written roots leave such types to the generators. The table holds only names that mean the same
thing everywhere. If a document defines such a name, its own definition counts.
"""

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

__all__ = ["known_type", "known_type_note"]

#: solana-clock's aliases; spl-pod's numbers (little-endian bytes) and its address in which zeros
#: mean absent.
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
    """Return what *name* (in Rust's spelling or Codama's camelCase) means in Solana's crates, or
    None.
    """
    known = _KNOWN.get(name)
    if known is None and name[:1].islower():
        return _KNOWN.get(pascal(name))
    return known


def known_type_note(name: str, node: Type) -> str:
    """Return the finding for a name that was read this way."""
    return (
        f"this document does not define {abbr(name, 60)}; read as {type_text(node)}, as Solana's "
        "crates define it"
    )
