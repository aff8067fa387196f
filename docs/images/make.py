"""The screenshots of the explorer in docs/, anew: `python docs/images/make.py [FOLDER]`, with Chromium installed
(.ci/chromium.sh).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO))

from playwright.sync_api import Browser, Page  # noqa: E402  # the repository's root is on the path from here on

from tests.functional.browser import chromium  # noqa: E402
from tests.support.http_bridge import http_server  # noqa: E402

#: more than a megabyte is not committed, and a screen is less than a fifth of that
LARGEST = 200_000


def take(browser: Browser, url: str, folder: Path) -> list[Path]:
    """The pictures of the demo served at *url*."""
    taken: list[Path] = []

    def shot(page: Page, name: str, *, whole: bool = False) -> None:
        path = folder / f"explorer-{name}.png"
        page.screenshot(path=path, full_page=whole)
        taken.append(path)

    wide = browser.new_context(
        viewport={"width": 1100, "height": 760}, reduced_motion="reduce"
    )
    page = wide.new_page()
    page.goto(url)
    shot(page, "programs")
    page.goto(f"{url}/tools/counter_initialize")
    page.get_by_label("start").fill("7")
    page.get_by_label("authority").fill("@alice")
    page.get_by_role("button", name="Build and simulate").click()
    page.get_by_role("heading", name="It would succeed").wait_for()
    shot(page, "simulated", whole=True)
    page.goto(f"{url}/tools/counter_increment")
    page.get_by_label("amount").fill("1")
    page.get_by_label("authority").fill("@alice")
    page.get_by_role("button", name="Build and simulate").click()
    page.get_by_role("heading", name="It would fail").wait_for()
    page.goto(f"{url}/accounts/vault")
    shot(page, "accounts")
    page.goto(f"{url}/calls")
    shot(page, "calls")
    dark = browser.new_context(
        viewport={"width": 390, "height": 844},
        device_scale_factor=1,
        color_scheme="dark",
        is_mobile=True,
    )
    page = dark.new_page()
    page.goto(f"{url}/tools/vault_deposit")
    shot(page, "phone")
    return taken


def main(folder: Path) -> list[Path]:
    """Serves the demo and takes its pictures."""
    with tempfile.TemporaryDirectory() as scratch:
        place = type("_Cli", (), {"folder": Path(scratch)})()
        with http_server(place, "--demo") as url, chromium() as browser:
            return take(browser, url, folder)


if __name__ == "__main__":
    for path in main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent):
        print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201  # a command's output
