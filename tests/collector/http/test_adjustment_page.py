"""Adjustments on the page, in a real browser."""

from pathlib import Path

from playwright.async_api import Page, expect

from flyball_collector.adjustments.settings import AdjustmentsSettings
from flyball_collector.http.adjustment_testing import AdjustableTraining
from flyball_collector.http.testing import serving
from flyball_collector.security.tokens import Role, TokensFile, new_token
from tests.collector.http.browser import HOSTILE, browser_needed, collect_problems


@browser_needed
async def test_an_operator_changes_a_value_on_the_page_of_the_run(page: Page) -> None:
    """The change, its decisions and what it brought are shown; the buttons follow the state; text is text."""
    run = await AdjustableTraining("team/r").begin()
    run.play(30)
    problems = collect_problems(page)
    async with serving(run.parts) as url:
        await page.goto(f"{url}/#/runs/team%2Fr")
        section = page.locator(".run .adjustments")
        await expect(section).to_contain_text("Nothing was changed yet.")
        row = section.locator("tr", has_text="workers")
        await expect(section.locator("tr", has_text="compiled")).to_contain_text("blocked: compiled")
        await row.get_by_role("combobox").select_option("4")
        await row.get_by_role("button", name="Change").click()
        await section.get_by_label("Reason").fill(HOSTILE)
        await section.get_by_role("button", name="Confirm").click()
        change = section.locator("tr", has_text="workers 2 → 4")
        await expect(change).to_contain_text("offered")
        await expect(change).to_contain_text(HOSTILE)
        await expect(change.get_by_role("button", name="Veto")).to_have_count(1)
        run.answer()
        await expect(change).to_contain_text("measuring")
        run.play(40, step_seconds=0.16)
        await expect(change.locator(".badge")).to_have_text("kept")
        await expect(change).to_contain_text("200 ms → 160 ms a step")
        await change.get_by_role("button", name="Details").click()
        await expect(section).to_contain_text("4applied")
        await expect(section).to_contain_text("a local user")
        await change.get_by_role("button", name="Undo").click()
        await section.get_by_role("button", name="Confirm").click()
        await expect(section.locator("tr", has_text="workers 4 → 2")).to_contain_text("offered")
        await section.get_by_role("button", name="off", exact=True).click()
        await section.get_by_role("button", name="Cancel").click()
        assert run.governor.policy("team/r") == "ask"
        await section.get_by_role("button", name="off", exact=True).click()
        await section.get_by_role("button", name="Confirm").click()
        await expect(section.get_by_role("button", name="off", exact=True)).to_have_attribute("aria-pressed", "true")
        assert await page.locator("main img").count() == 0
        await page.goto("about:blank")
    assert problems == []


@browser_needed
async def test_what_waits_for_a_person_is_on_the_overview(page: Page) -> None:
    """It is approved there. A refusal is shown beside the form. On a phone nothing scrolls sideways."""
    run = await AdjustableTraining().begin()
    run.play(30)
    async with serving(run.parts) as url:
        waiting = run.propose()
        await page.set_viewport_size({"width": 420, "height": 900})
        await page.goto(url)
        card = page.locator(".adjusted")
        await expect(card).to_contain_text("waits for approval")
        await expect(card).to_contain_text("the CPU is idle during calls")
        assert await page.locator("main").evaluate("each => each.scrollWidth <= each.clientWidth")
        await card.get_by_role("button", name="Approve").click()
        await card.get_by_label("Reason").fill("quiet hour")
        run.governor.veto(waiting.id, "otto")
        await card.get_by_role("button", name="Confirm").click()
        await expect(card.locator("form")).to_contain_text("does not wait for approval")
        await expect(card).to_contain_text("vetoed by otto")
        await card.get_by_role("link", name="r", exact=True).click()
        await expect(page.locator("h1")).to_have_text("r")
        await page.goto("about:blank")


@browser_needed
async def test_newer_adjustments_do_not_displace_what_waits(page: Page) -> None:
    """Proposals come first on the overview, also if more adjustments have ended since than the card reads."""
    run = await AdjustableTraining().begin()
    run.play(30)
    run.propose()
    for _ in range(24):
        run.governor.veto(run.governor.propose("r", "micro_batch", 8, who="otto").id, "otto")
    async with serving(run.parts) as url:
        await page.goto(url)
        await expect(page.locator(".adjusted li").first).to_contain_text("waits for approval")
        await expect(page.locator(".adjusted")).to_contain_text("or more others")
        await page.goto("about:blank")


@browser_needed
async def test_viewers_see_no_buttons_and_nothing_shows_without_adjustments(page: Page, tmp_path: Path) -> None:
    """A viewer sees the list; on a collector without adjustments there is no section."""
    token, line = new_token(Role.VIEWER, "vera")
    (tmp_path / "tokens").write_text(f"{line}\n")
    run = await AdjustableTraining(tokens=TokensFile(tmp_path / "tokens")).begin()
    run.play(30)
    run.propose()
    async with serving(run.parts) as url:
        await page.goto(f"{url}/#/runs/r")
        await page.get_by_label("Token").fill(token)
        await page.get_by_role("button", name="Continue").click()
        section = page.locator(".run .adjustments")
        await expect(section).to_contain_text("waits for approval")
        await expect(section.get_by_role("button", name="Details")).to_have_count(1)
        assert await section.get_by_role("button").count() == 1
        assert await section.get_by_role("combobox").count() == 0
        await page.goto("about:blank")
    off = await AdjustableTraining(settings=AdjustmentsSettings()).begin()
    async with serving(off.parts) as url:
        await page.goto(f"{url}/#/runs/r")
        async with page.expect_response(lambda answer: "/values" in answer.url):
            await page.reload()
        await expect(page.locator(".ranks tbody tr").first).to_be_visible()
        assert await page.locator(".run .adjustments *").count() == 0
        await page.goto("about:blank")
