"""The pages of runs in a real browser."""

from dataclasses import replace

from playwright.async_api import Page, expect

from flyball_collector.captures.request import CaptureRequest
from flyball_collector.captures.targets import targets_of
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.run_testing import RunFindingsDouble, TrainingDouble
from flyball_collector.http.testing import serving
from flyball_collector.timeline.testing import make_event
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.captures.conftest import part
from tests.collector.http.browser import HOSTILE, browser_needed, collect_problems
from tests.collector.http.test_capture_routes import captures_of, with_run


@browser_needed
async def test_runs_are_a_page(page: Page) -> None:
    """Runs that report and runs that only have processes are listed with links to their hosts; their text is text."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    members = [pb.Member(run=HOSTILE, rank=1, world_size=4, user=HOSTILE, source=HOSTILE, gpus=["GPU-1"])]
    state.tenancy = pb.Tenancy(members=members)
    parts.fleet.runs.advance(parts.clock(), {"c": state})
    problems = collect_problems(page)
    async with serving(parts) as url:
        await page.goto(url)
        await page.locator("a.nav", has_text="Runs").click()
        await expect(page.locator("h1")).to_have_text("Runs")
        await expect(page.locator("h2")).to_have_text("Running: 2")
        row = page.locator("tbody tr", has_text=HOSTILE)
        await expect(row).to_contain_text("1 of 4")
        await expect(page.locator("tbody tr", has_text="70")).to_contain_text("500 ms")
        await row.get_by_role("link", name="c", exact=True).click()
        await expect(page.locator("h1")).to_have_text("c")
        await page.goto("about:blank")  # no more requests, because the collector ends
    assert problems == []


@browser_needed
async def test_a_run_is_a_page(page: Page) -> None:
    """It is live, and shows progress, speed, charts, parts of the step, services, levels, ranks and what limits it."""
    training = TrainingDouble("team/bert 3", seconds=21)
    slow = make_event("straggler", subject=Subject("b", run="team/bert 3", rank=3))
    training.parts.timeline.add_events([slow, make_event("bottleneck_disk", subject=Subject("a"), confidence=0.7)])
    problems = collect_problems(page)
    async with serving(replace(training.parts, findings=RunFindingsDouble("team/bert 3"))) as url:
        await page.goto(f"{url}/#/runs")
        await page.locator("tbody").get_by_role("link", name="team/bert 3").click()
        await expect(page.locator("h1")).to_have_text("team/bert 3")
        await expect(page).to_have_title("team/bert 3 · Flyball")
        await expect(page.locator(".title")).to_contain_text("a, b · ada · started")
        await expect(page.locator(".progress")).to_contain_text("Step 84 of 400")
        await expect(page.locator(".progress")).to_contain_text("1 min left (1 min … 2 min)")
        await expect(page.locator(".tiles > div", has_text="Limited by")).to_contain_text("disk")
        await expect(page.locator(".tiles > div", has_text="Limited by")).to_contain_text("70 % confidence")
        await expect(page.locator(".tiles > div", has_text="Step time")).to_contain_text("max 300 ms, rank 3")
        await expect(page.locator(".js-plotly-plot")).to_have_count(4)
        await expect(page.locator(".run-charts")).to_contain_text("Loss")
        await expect(page.locator(".stacked > div")).to_have_count(4)
        await expect(page.locator(".keys li", has_text="backward")).to_contain_text("100 ms")
        await expect(page.locator(".card", has_text="Services").locator("tbody tr")).to_have_text(
            "kato2.005.0 ms84 in the last minute1,344"
        )
        await expect(page.locator(".card", has_text="Levels").last).to_contain_text("node0")
        await expect(page.locator("h3:has-text('problems of the run') + .active")).to_contain_text("straggler")
        await expect(page.locator(".ranks tbody tr")).to_have_count(4)
        await expect(page.locator(".ranks tbody tr").last).to_contain_text("warning")
        await expect(page.locator("h2", has_text="Timeline")).to_have_count(1)
        link = await page.locator(".ranks").get_by_role("link", name="b").first.element_handle()
        training.second(21, loss=float("nan"))
        await expect(page.locator(".progress")).to_contain_text("Step 88 of 400")
        await expect(page.locator(".notice.bad")).to_contain_text("NaN or infinite in the last report")
        assert await link.evaluate("each => each.isConnected")  # a click during a refresh is not lost
        await page.locator(".ranks").get_by_role("link", name="b").first.click()
        await expect(page.locator("h1")).to_have_text("b")
        await page.locator("td").get_by_role("link", name="team/bert 3").first.click()
        await expect(page.locator("h1")).to_have_text("team/bert 3")
        await page.goto("about:blank")
    assert problems == []


@browser_needed
async def test_captures_of_a_run_are_shown_with_their_text(page: Page) -> None:
    """Stacks are opened in place and never as markup. A failed one shows its reason. Without any there is nothing."""
    parts = with_run()
    problems = collect_problems(page)
    text = f"Thread 1\\n    {HOSTILE}\\n"
    async with captures_of(parts) as url:
        await page.goto(f"{url.removesuffix('/api/v1/captures')}/#/runs/a%2Fb")
        await expect(page.locator("h1")).to_have_text("a/b")
        await expect(page.get_by_role("heading", name="Captures")).to_have_count(0)
        done, failed = parts.captures.order(CaptureRequest("a/b", "stacks", by="otto"), targets_of(parts.fleet, "a/b"))
        parts.captures.take(done.host, part(done.id, text.encode(), file_name="stacks.txt"))
        parts.captures.take(failed.host, pb.Captured(id=failed.id, state=pb.Captured.FAILED, detail=HOSTILE))
        await expect(page.get_by_role("heading", name="Captures")).to_have_count(1)
        section = page.locator(".captures")
        await expect(section.locator("tbody tr")).to_have_count(2)
        await expect(section).to_contain_text(f"failed: {HOSTILE}")
        await expect(section).to_contain_text("otto")
        await section.get_by_role("button", name="Show").click()
        await expect(section.locator("pre")).to_contain_text(HOSTILE)
        async with page.expect_download() as download:
            await section.get_by_role("button", name="Download").click()
        assert (await download.value).suggested_filename == "a-b-rank0-stacks.txt"
        await section.get_by_role("button", name="Show").click()
        await expect(section.locator("pre")).to_have_count(0)
        assert await page.locator("main img").count() == 0
        assert problems == []


@browser_needed
async def test_a_run_without_steps_is_explained(page: Page) -> None:
    """The page shows which lines make it report, and what is known without them. An unknown run leads to the list."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    members = [
        pb.Member(run="slurm-7", rank=rank, world_size=2, user="eve", source="slurm", gpus=["G"]) for rank in range(2)
    ]
    state.tenancy = pb.Tenancy(members=members)
    parts.fleet.runs.advance(parts.clock(), {"c": state})
    async with serving(parts) as url:
        await page.goto(f"{url}/#/runs/slurm-7")
        await expect(page.locator(".notice")).to_contain_text("This run reports no steps.")
        await expect(page.locator(".notice pre")).to_contain_text('run = flyball.run("slurm-7")')
        await expect(page.locator(".notice")).to_contain_text("flyball run -- python train.py")
        await expect(page.locator(".title")).to_contain_text("c · eve · found by slurm")
        await expect(page.locator(".ranks tbody tr")).to_have_count(2)
        await expect(page.locator(".tiles")).to_have_count(0)
        await page.goto(f"{url}/#/runs/slurm")
        await expect(page.locator(".empty")).to_contain_text("did you mean 'slurm-7'?")
        await page.locator(".empty a").click()
        await expect(page.locator("h1")).to_have_text("Runs")


@browser_needed
async def test_names_of_runs_are_never_markup_nor_paths(page: Page) -> None:
    """Each odd name leads from the list to its page and is shown as text there."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    names = [HOSTILE, "..", ".", "a/../b", "/x//", "100%", "ü ? # &", "x" * 200]
    state.tenancy = pb.Tenancy(members=[pb.Member(run=name, user=name, labels={name[:60]: name}) for name in names])
    parts.fleet.runs.advance(parts.clock(), {"c": state})
    problems = collect_problems(page)
    async with serving(parts) as url:
        for name in names:
            await page.goto(f"{url}/#/runs")
            await page.locator("tbody tr td:first-child a").get_by_text(name, exact=True).click()
            await expect(page.locator("h1")).to_have_text(name)
            await expect(page.locator(".notice")).to_contain_text("This run reports no steps.")
            assert await page.locator("main img").count() == 0
        await page.goto(f"{url}/#/runs/100%")  # typed without quotes
        await expect(page.locator("h1")).to_have_text("100%")
        await expect(page.locator(".notice")).to_have_count(1)
        await page.goto("about:blank")
    assert problems == []


@browser_needed
async def test_a_run_of_many_ranks_is_a_short_page(page: Page) -> None:
    """Of 1,024 ranks, 32 are rows, with the number of the others; on a phone nothing but the table scrolls sideways."""
    training = TrainingDouble(seconds=1)
    for host in range(128):
        reports = [training.report(8 * host + rank, 4) for rank in range(8)]
        training.parts.fleet.ranks.add_reports(f"node-{host:03d}", reports, training.clock(), training.clock())
    training.parts.fleet.ranks.settle()
    async with serving(training.parts) as url:
        await page.set_viewport_size({"width": 420, "height": 900})
        await page.goto(f"{url}/#/runs/r")
        await expect(page.locator(".ranks tbody tr")).to_have_count(32)
        await expect(page.locator("h2", has_text="ranks")).to_have_text("1,024 ranks")
        await expect(page.locator(".ranks")).to_contain_text("and 992 more")
        assert await page.locator("main").evaluate("each => each.scrollWidth <= each.clientWidth")
