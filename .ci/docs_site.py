"""Prepare the pages of the documentation site: `python .ci/docs_site.py OUT`.

Copies docs/ to the folder OUT, makes README.md its home page, and turns links to files outside docs/ into plain text.
The same pages are read in the repository, where such links work.
"""

import re
import shutil
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
#: A Markdown link: its text and its target.
LINK = re.compile(r"\[([^\]\n]+)\]\(([^)\s]+)\)")


def home_page(readme: str) -> str:
    """README.md with its links as seen from docs/."""
    return page(LINK.sub(_from_docs, readme))


def _from_docs(link: re.Match[str]) -> str:
    text, target = link.groups()
    if ":" in target or target.startswith("#"):
        return link[0]
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')})"
    return f"[{text}](../{target})"


def page(markdown: str) -> str:
    """A page of docs/, with README.md as index.md and links to other outside files as plain text."""
    return LINK.sub(_inside, markdown)


def _inside(link: re.Match[str]) -> str:
    text, target = link.groups()
    if target.startswith("../README.md"):
        return f"[{text}](index.md{target.removeprefix('../README.md')})"
    return text if target.startswith("../") else link[0]


def main() -> None:
    """Writes all pages to the folder that the command line names."""
    out = Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(REPO / "docs", out)
    for path in out.rglob("*.md"):
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    (out / "index.md").write_text(home_page(readme), encoding="utf-8")


if __name__ == "__main__":
    main()
