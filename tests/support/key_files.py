"""Key files as the Solana CLI writes them."""

from __future__ import annotations

import json
from pathlib import Path

from solders.keypair import Keypair

__all__ = ["write_key"]


def write_key(path: Path, key: Keypair) -> Path:
    """Write *key* to *path*, which only its owner can read, and return *path*."""
    path.touch(0o600)
    path.write_text(json.dumps(list(bytes(key))))
    return path
