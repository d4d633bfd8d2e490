"""The page of a review in a real browser."""

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from flyball_audit.choices import ReviewFormat
from flyball_audit.report.render import render
from flyball_audit.report.testing import sample_patch, sample_review

CHROMIUM = "/usr/bin/chromium"

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Debian's chromium is not installed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_asks_for_nothing_and_fits_a_narrow_window(scheme: str, tmp_path: Path) -> None:
    """No request but for the file, no complaint, a drawing with a size, nothing wider than the window."""
    file = tmp_path / "audit.html"
    file.write_text(render(sample_review(), ReviewFormat.HTML, sample_patch), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(color_scheme=scheme, viewport={"width": 420, "height": 800})  # type: ignore[arg-type]
        asked: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        await page.goto(file.as_uri())
        box = await page.locator("svg").bounding_box()
        width = await page.evaluate("document.documentElement.scrollWidth")
        await browser.close()
    assert asked == [file.as_uri()]
    assert complaints == []
    assert box is not None
    assert box["width"] > 200
    assert width <= 420
