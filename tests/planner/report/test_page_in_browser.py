"""The page of a plan in a real browser."""

from pathlib import Path

import pytest
from playwright.async_api import async_playwright

from flyball_planner.report.render import ReportFormat, render
from flyball_planner.report.testing import hostile_plan, sample_plan

CHROMIUM = "/usr/bin/chromium"

pytestmark = pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Debian's chromium is not installed")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_page_asks_for_nothing_and_shows_its_drawings(scheme: str, tmp_path: Path) -> None:
    """No request but for the file, no complaint, four drawings with a size, nothing wider than the window."""
    file = tmp_path / "plan.html"
    file.write_text(render(sample_plan(), ReportFormat.HTML), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page(color_scheme=scheme, viewport={"width": 420, "height": 800})  # type: ignore[arg-type]
        asked: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        await page.goto(file.as_uri())
        boxes = [await drawing.bounding_box() for drawing in await page.locator("svg").all()]
        width = await page.evaluate("document.documentElement.scrollWidth")
        await browser.close()
    assert asked == [file.as_uri()]
    assert complaints == []
    assert len(boxes) == 4
    assert all(box is not None and box["width"] > 200 and box["height"] > 40 for box in boxes)
    assert width <= 420


async def test_a_narrow_page_can_be_read(tmp_path: Path) -> None:
    """On a telephone letters of drawings keep a readable size, and all columns of an ordinary table are in sight."""
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
    """On a desk no table needs to be moved sideways."""
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


async def test_foreign_names_stay_text(tmp_path: Path) -> None:
    """A script in a model's name neither runs nor becomes an element."""
    file = tmp_path / "plan.html"
    file.write_text(render(hostile_plan(), ReportFormat.HTML), encoding="utf-8")
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = await browser.new_page()
        ran: list[str] = []
        page.on("dialog", lambda dialog: ran.append(dialog.message))
        await page.goto(file.as_uri())
        assert await page.locator("script").count() == 0
        assert "<script>alert(1)</script>" in await page.locator("h1").inner_text()
        await browser.close()
    assert ran == []
