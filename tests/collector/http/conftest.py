"""Fixtures of the tests of the page."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, async_playwright

from tests.collector.http.browser import ARGUMENTS, CHROMIUM


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """Yield a browser page."""
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        page = await browser.new_page(viewport={"width": 1440, "height": 900})
        yield page
        await browser.close()
