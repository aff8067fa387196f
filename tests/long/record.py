"""What a long run has done so far, in a file that outlives the run."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
CACHE = (
    Path(os.environ.get("MCPSOL_CACHE") or Path.home() / ".cache" / "mcpsol") / "long"
)
#: What the results depend on.
_SOURCES = (
    "mcpsol_py/bodies",
    "mcpsol_py/render",
    "mcpsol_py/sources",
    "mcpsol_py/testing",
    "templates",
    "tests/long",
    "tests/support",
)


def sources_digest() -> str:
    """A digest of the sources that the results depend on."""
    digest = sha256()
    for folder in _SOURCES:
        for file in sorted((REPO / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(REPO)).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


class Record:
    """The results of one part, by key. Each is written down as soon as it is known."""

    def __init__(self, part: str, digest: str | None = None) -> None:
        CACHE.mkdir(parents=True, exist_ok=True)
        self.file = CACHE / f"{part}-{digest or sources_digest()}.jsonl"
        self.results: dict[str, dict[str, Any]] = {}
        if self.file.exists():
            for line in self.file.read_text(encoding="utf-8").splitlines():
                result = json.loads(line)
                self.results[result.pop("key")] = result

    def add(self, key: str, **result: Any) -> None:
        """Keep a result."""
        self.results[key] = result
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, **result}) + "\n")
