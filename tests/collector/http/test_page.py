"""The page in a real browser."""

import asyncio
from dataclasses import replace

from playwright.async_api import Page, expect

from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.diagnosis_testing import DISK, GPU, diagnosed
from flyball_collector.http.testing import MachineDouble, WallClock, denied, fetch, inventory_of, make_parts, serving
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, cleared, make_event
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.collector.http.browser import HOSTILE, browser_needed, collect_problems


@browser_needed
async def test_a_host_page_and_hostile_text(page: Page) -> None:
    """A click on a host shows charts, GPU cards and unavailable readings. Hostile text is never markup."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    machine = MachineDouble("node-1", 2)
    state = parts.fleet.ensure("node-1")
    state.unavailable = (denied(), UnavailableReading("xid", HOSTILE, HOSTILE, denied().reason, HOSTILE, HOSTILE))
    state.inventory = inventory_of(machine)
    state.inventory.operating_system = HOSTILE
    state.tenancy = pb.Tenancy(members=[pb.Member(pid=1, run=HOSTILE, user=HOSTILE, command=HOSTILE)])
    parts.fleet.ensure(HOSTILE)
    problems = collect_problems(page)

    async def live() -> None:
        for second in range(1000):
            clock.now_ns += 10**9
            parts.fleet.apply(machine.tick(second, clock.now_ns))
            await asyncio.sleep(0.2)

    async with serving(parts) as url:
        feeding = asyncio.create_task(live())
        await page.goto(url)
        row = page.locator(".body .row", has_text="node-1")
        await expect(row.locator(".gpus i")).to_have_count(2)
        await expect(row.locator(".meter .value").first).to_contain_text("%")
        await expect(page.locator(".body .row", has_text=HOSTILE)).to_have_count(1)
        await row.click()
        await expect(page.locator("h1")).to_have_text("node-1")
        await expect(page.locator(".js-plotly-plot")).to_have_count(8)
        await expect(page.locator(".gpu-card")).to_have_count(2)
        await expect(page.locator(".gpu-card").first).to_contain_text("H100")
        await expect(page.locator("main")).to_contain_text("CAP_DAC_READ_SEARCH")
        await expect(page.locator("main")).to_contain_text(HOSTILE)
        assert await page.locator("main img").count() == 0
        await page.get_by_role("button", name="Dark").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        feeding.cancel()
        assert problems == []  # before the server stops, because the page would report failed requests


@browser_needed
async def test_hosts_that_do_not_report(page: Page) -> None:
    """The page explains an empty fleet, a host that stopped reporting, an unknown host and a lost collector."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    async with serving(parts) as url:
        await page.goto(url)
        await expect(page.locator(".empty")).to_contain_text("flyball agent --set collector=")
        parts.fleet.apply(MachineDouble("node-1", 1).tick(0, clock.now_ns))
        clock.now_ns += 60 * 10**9
        await expect(page.locator(".row .dot.not_reporting")).to_have_count(1)
        await page.goto(f"{url}/#/host/node-1")
        await expect(page.locator(".notice")).to_contain_text("has not reported since")
        await page.goto(f"{url}/#/host/nobody")
        await expect(page.locator(".empty")).to_contain_text("Unknown host")
    await expect(page.locator("#link")).to_contain_text("collector unreachable")


@browser_needed
async def test_refused_agents_are_a_section(page: Page) -> None:
    """The newest are a table with their reasons, as text; without refused agents there is no section."""
    clock = WallClock()
    refused = RefusedAgents(clock=lambda: clock() / 1e9)
    parts = replace(make_parts(clock=clock), refused_agents=refused.recent)
    problems = collect_problems(page)
    async with serving(parts) as url:
        await page.goto(url)
        await expect(page.locator(".empty")).to_contain_text("No host has reported yet")
        await expect(page.locator(".refused")).to_have_count(0)
        for number in range(7):
            refused.record(host=f"node-{number}", certificate="node-8", address="10.0.0.9", reason="wrong certificate")
        refused.record(host=HOSTILE, certificate="", address="10.0.0.7", reason=HOSTILE)
        clock.now_ns += 10**9
        section = page.locator(".refused")
        await expect(section.locator("h3")).to_have_text("Refused agents")
        await expect(section.locator("tbody tr")).to_have_count(5)
        await expect(section.locator("tbody tr").first).to_contain_text(HOSTILE)
        await expect(section.locator("tbody tr").nth(1)).to_contain_text("node-6")
        await expect(section.locator("tbody tr").nth(1)).to_contain_text("wrong certificate")
        await expect(section.locator(".more")).to_have_text("3 more")
        assert await page.locator("main img").count() == 0
        assert problems == []


@browser_needed
async def test_thousands_of_hosts_stay_fast(page: Page) -> None:
    """Of 2,048 hosts only visible rows exist, and the search finds one."""
    clock = WallClock()
    parts = make_parts(clock=clock)
    tick = MachineDouble("x", 8).tick(0, clock.now_ns)
    for number in range(2048):
        tick.host = f"node-{number:04d}"
        parts.fleet.apply(tick)
    async with serving(parts) as url:
        await page.goto(url)
        await expect(page.locator("#summary")).to_contain_text("2048 hosts")
        assert await page.locator(".body .row").count() < 60
        await page.get_by_role("searchbox").fill("node-2047")
        await expect(page.locator(".body .row")).to_have_count(1)


_CUT_OFF = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"


_BROKEN = """all => all.flatMap(cell => [...cell.textContent.matchAll(/[^ ]+/g)].filter(word => {
  const range = document.createRange();
  range.setStart(cell.firstChild, word.index);
  range.setEnd(cell.firstChild, word.index + word[0].length);
  return range.getClientRects().length > 1;
}).map(word => word[0]))"""
"""Words that are broken across lines."""


@browser_needed
async def test_nothing_is_cut_off(page: Page) -> None:
    """On a phone, usual names and bottlenecks fit; on a desktop, the values beside chart titles fit."""
    clock = WallClock()
    parts = diagnosed()
    machine = MachineDouble("demo-01", 8)
    parts.fleet.apply(machine.tick(0, clock.now_ns))
    async with serving(replace(parts, clock=clock)) as url:
        await page.set_viewport_size({"width": 420, "height": 900})
        await page.goto(url)
        await expect(page.locator(".body .row", has_text="demo-01")).to_have_count(1)
        assert await page.locator(".body .row .name span:last-child").evaluate_all(_CUT_OFF) == []
        await page.locator(".body .diagnosed").first.evaluate("each => { each.textContent = 'gpu compute' }")
        assert await page.locator(".body .diagnosed").evaluate_all(_CUT_OFF) == []
        await page.goto(f"{url}/#/timeline")
        kinds = page.locator("table.plain td:nth-child(3)", has_text=" ")
        await expect(kinds.first).to_be_visible()
        await kinds.evaluate_all("all => all.forEach(each => { each.textContent = 'bottleneck gpu memory' })")
        because = page.locator("table.plain td:nth-child(5)")
        await because.evaluate_all("all => all.forEach(each => { each.textContent = 'it is so '.repeat(20) })")
        assert await kinds.evaluate_all(_BROKEN) == []
        await page.set_viewport_size({"width": 1440, "height": 900})
        await page.goto(f"{url}/#/host/demo-01")
        titles = page.locator(".card h3:has(.key)")
        await expect(titles.first).to_be_visible()
        await titles.locator(".key").evaluate_all("all => all.forEach(each => { each.textContent = 'memory 100.0 %' })")
        assert await page.locator(".card:has(> h3 .key)").evaluate_all(_CUT_OFF) == []


@browser_needed
async def test_the_diagnosis_and_hostile_text(page: Page) -> None:
    """The most severe conditions link to the host, with scores, risks, advice and the timeline."""
    clock = WallClock(NOW_NS + 60 * SECOND_NS)
    parts = diagnosed()
    parts.timeline.add_events(
        [make_event("host_lost", at=5, subject=Subject(HOSTILE), because=HOSTILE, seconds_left=0.0)]
    )
    problems = collect_problems(page)
    async with serving(replace(parts, clock=clock)) as url:
        await page.goto(url)
        await expect(page.locator("#summary")).to_contain_text("2 critical")
        await expect(page.locator(".worst")).to_contain_text(HOSTILE)
        await expect(page.locator(".worst li")).to_have_count(4)
        row = page.locator(".body .row", has=page.locator(".name", has_text="a"))
        await expect(row.locator(".diagnosed")).to_have_class("diagnosed critical")
        await expect(row.locator(".diagnosed")).to_have_text("critical")  # not the bottleneck
        await page.locator(".worst a", has_text="a").first.click()
        await expect(page.locator("h1")).to_have_text("a")
        await expect(page.locator("main")).to_contain_text("limited by disk")
        await expect(page.locator(".active li").first).to_contain_text("5 min left (3 min … 8 min)")
        await expect(page.locator(".active li").first).to_contain_text("GPU 3")
        await expect(page.locator(".advice li").first).to_contain_text("GPU 3: reads wait")
        await expect(page.locator(f"table.plain [title='{GPU}']")).to_have_text("GPU 3")  # in the timeline
        assert GPU not in await page.locator("main").inner_text()
        await expect(page.locator(".scores .fill.raised")).to_have_count(1)
        await expect(page.locator(".advice li").first).to_contain_text("faster by ×1.20 to ×1.50")
        await expect(page.locator("main")).to_contain_text("Timeline")
        await page.goto(f"{url}/#/timeline")
        await expect(page.locator("main")).to_contain_text("Active now: 5")
        await expect(page.locator(".active li", has_text="host lost")).to_contain_text("now · ")
        await expect(page.locator("table.plain tbody tr")).to_have_count(5)
        parts.timeline.add_events([cleared(DISK)])
        await expect(page.locator("table.plain tbody tr")).to_have_count(6)
        hot = [make_event("power_brake", at=9, subject=Subject("c", f"GPU-{n}")) for n in range(8)]
        parts.timeline.add_events(hot)
        await expect(page.locator(".active")).to_contain_text("8 GPUs")
        await page.get_by_role("button", name="Critical").click()
        await expect(page.locator("table.plain tbody tr")).to_have_count(2)
        assert await page.locator("main img").count() == 0
    assert [each for each in problems if "ERR_CONNECTION_REFUSED" not in each] == []


async def test_files_are_cached() -> None:
    """plotly.js is cached forever by its version, and unchanged files are not sent again."""
    async with serving(make_parts()) as url:
        plotly = await fetch(f"{url}/page/plotly.min.js", headers={"Accept-Encoding": "gzip"})
        assert plotly.headers["content-encoding"] == "gzip"
        assert len(plotly.body) < 2_000_000
        assert "immutable" in plotly.headers["cache-control"]
        again = await fetch(f"{url}/page/plotly.min.js", headers={"If-None-Match": plotly.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
        assert b"PLOTLY_VERSION" not in (await fetch(url)).body
        for name in ("nothing.js", "index.html", "..%2fassets.py", "%2e%2e/assets.py"):
            assert (await fetch(f"{url}/page/{name}")).status == 404
