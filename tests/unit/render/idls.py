"""Small Anchor IDLs with relations between accounts."""

from __future__ import annotations

from typing import Any

AUTHORITY = {"name": "authority", "signer": True, "relations": ["vault"]}
VAULT = {"name": "vault", "writable": True}


def kind(name: str, *fields: str, type_: str = "pubkey") -> dict[str, Any]:
    listed = [{"name": field, "type": type_} for field in fields]
    return {"name": name, "type": {"kind": "struct", "fields": listed}}


def idl(
    *types: dict[str, Any], accounts: list[dict[str, Any]] | None = None, **more: Any
) -> Any:
    """An IDL with one instruction; each of *types* is an account type."""
    tags = {t["name"]: [place + 1] * 8 for place, t in enumerate(types)}
    return {
        "address": "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
        "metadata": {"name": "kept", "version": "1.0.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": "withdraw",
                "discriminator": [1, 2, 3, 4, 5, 6, 7, 8],
                "accounts": [VAULT, AUTHORITY] if accounts is None else accounts,
                "args": [],
            }
        ],
        "accounts": [
            {"name": name, "discriminator": tag} for name, tag in tags.items()
        ],
        "types": list(types),
        **more,
    }
