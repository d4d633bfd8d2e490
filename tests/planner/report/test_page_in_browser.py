"""Tests of the HTML page of a plan in a browser."""

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from flyball_planner.report.render import ReportFormat, render
from flyball_planner.report.testing import hostile_plan, sample_plan

CHROMIUM = "/usr/bin/chromium"

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Debian's chromium is not installed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_loads_nothing_and_shows_its_charts(scheme: str, tmp_path: Path) -> None:
    """The page has no other request and no console message, four visible charts and no horizontal overflow."""
    file = tmp_path / "plan.html"
    file.write_text(render(sample_plan(), ReportFormat.HTML), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(color_scheme=scheme, viewport={"width": 420, "height": 800})  # type: ignore[arg-type]
        requests: list[str] = []
        messages: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: messages.append(message.text))
        await page.goto(file.as_uri())
        boxes = [await chart.bounding_box() for chart in await page.locator("svg").all()]
        width = await page.evaluate("document.documentElement.scrollWidth")
        await browser.close()
    assert requests == [file.as_uri()]
    assert messages == []
    assert len(boxes) == 4
    assert all(box is not None and box["width"] > 200 and box["height"] > 40 for box in boxes)
    assert width <= 420


async def test_a_narrow_page_is_readable(tmp_path: Path) -> None:
    """On a phone the text of charts has a readable size, and all columns of an ordinary table are visible."""
    file = tmp_path / "plan.html"
    file.write_text(render(sample_plan(), ReportFormat.HTML), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 390, "height": 800})
        await page.goto(file.as_uri())
        letters = await page.evaluate(
            "[...document.querySelectorAll('svg text')].map(each => each.getBoundingClientRect().height)"
        )
        hidden = await page.evaluate(
            "[...document.querySelectorAll('.scroll')].filter(each => !each.querySelector('.many'))"
            ".map(each => each.scrollWidth - each.clientWidth)"
        )
        await browser.close()
    assert min(letters) >= 8
    assert hidden
    assert max(hidden) <= 0


async def test_a_wide_page_hides_nothing(tmp_path: Path) -> None:
    """On a desktop no table scrolls horizontally."""
    file = tmp_path / "plan.html"
    file.write_text(render(sample_plan(), ReportFormat.HTML), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(file.as_uri())
        hidden = await page.evaluate(
            "[...document.querySelectorAll('.scroll')].map(each => each.scrollWidth - each.clientWidth)"
        )
        await browser.close()
    assert hidden
    assert max(hidden) <= 0


async def test_names_are_escaped(tmp_path: Path) -> None:
    """A script in a model's name is not executed and does not become an element."""
    file = tmp_path / "plan.html"
    file.write_text(render(hostile_plan(), ReportFormat.HTML), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page()
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        await page.goto(file.as_uri())
        assert await page.locator("script").count() == 0
        assert "<script>alert(1)</script>" in await page.locator("h1").inner_text()
        await browser.close()
    assert dialogs == []
