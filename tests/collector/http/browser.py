"""Parts that the tests of the page in a real browser share."""

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")
HOSTILE = "<img src=x onerror=alert(1)>"

expect.set_options(timeout=20_000)  # a long timeout for busy machines; what is expected stays the same

browser_needed = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Debian's chromium is not installed")


def collect_problems(page: Page) -> list[str]:
    """Return a list of the page's errors, dialogs and requests to other machines. It grows as they happen."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: None if "127.0.0.1" in request.url else problems.append(request.url))
    return problems
