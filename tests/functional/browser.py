"""Chromium, driven by playwright: Debian's, since playwright's own is not downloaded (.ci/chromium.sh installs it)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

__all__ = ["chromium", "executable"]

FLAGS = [
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars"),
]


def executable() -> str | None:
    """Where Chromium is, or None."""
    for name in (
        os.environ.get("MCPSOL_CHROMIUM"),
        "chromium",
        "chromium-browser",
        "google-chrome",
    ):
        if name and (found := shutil.which(name)):
            return found
    return None


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser. Raises RuntimeError where there is none."""
    path = executable()
    if path is None:
        raise RuntimeError("no Chromium on this machine: .ci/chromium.sh installs it")
    expect.set_options(timeout=20_000)  # the machine may be busy
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=FLAGS, headless=True
        )
        try:
            yield browser
        finally:
            browser.close()
