"""Keeps the code in Markdown equal to files that are run: `python .ci/snippets.py [--write]`.

A block that opens with a comment naming a file holds that file, whole:

    <!-- examples/readme.py -->
    ```python
    ...
    ```

Without --write, exits 1 and names the blocks that differ.
"""

import re
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"^<!-- (?P<path>\S+) -->\n```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def pages(repo: Path = REPO) -> list[Path]:
    """The Markdown files that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=repo,
        capture_output=True,
        check=True,
    )
    return [
        repo / name
        for name in sorted(listed.stdout.decode().split("\0"))
        if name and (repo / name).is_file()
    ]


def filled(text: str, repo: Path = REPO) -> str:
    """`text` with each named block holding its file as it is now; FileNotFoundError where that is not there."""

    def block(found: re.Match[str]) -> str:
        code = (repo / found["path"]).read_text(encoding="utf-8")
        return f"<!-- {found['path']} -->\n```{found['language']}\n{code}```"

    return BLOCK.sub(block, text)


def main() -> int:
    """Compares, or with --write mends."""
    stale = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (wanted := filled(text)) != text:
            stale.append(str(page.relative_to(REPO)))
            if "--write" in sys.argv[1:]:
                page.write_text(wanted, encoding="utf-8")
    if stale and "--write" not in sys.argv[1:]:
        print(
            f"not the files they name: blocks in {', '.join(stale)}; run `make regen`"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
