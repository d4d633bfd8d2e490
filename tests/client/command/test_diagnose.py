"""`flyball diagnose` and `flyball advice` against a real collector's HTTP side."""

import asyncio
import json

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from flyball.command import advice, diagnose
from flyball.command.errors import NotFound
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.testing import make_parts, serving
from flyball_collector.timeline.testing import make_event
from tests.client.terminal import terminal


async def run(*words: str, columns: int = 200) -> Result:
    """Run a command in a thread, because the collector answers on the event loop."""
    app = typer.Typer()
    app.command()(diagnose.diagnose)
    app.command()(advice.advice)
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), env=terminal(columns))


async def test_a_host_is_diagnosed_in_sections() -> None:
    """Primary bottleneck, active problems with the time left, scores, and advice with the gain."""
    async with serving(diagnosed()) as url:
        shown = (await run("diagnose", "a", "--collector", url)).output
    assert shown.startswith("a  limited by disk  runs r")
    assert "Active problems" in shown
    assert "32 s left" in shown  # 90 s when it was raised, 58 s ago
    assert "5 min (3 min 20 s … 8 min 20 s)" in shown
    assert "████████████████····" in shown
    assert "utilisation: cpu 40 %, memory –" in shown
    assert "memory_exhaustion  a GPU 3  5 min" in shown
    assert "   a GPU 3: reads wait" in shown
    assert "faster by ×1.20 to ×1.50 · 80 % confidence · effort: setting · only a person may do it" in shown


@pytest.mark.parametrize(("tried", "safety"), [("", "only a person may do it"), ("tried", "an adjustment can do it")])
def test_what_flyball_does_is_not_only_for_people(tried: str, safety: str) -> None:
    """Advice for people is also followed by an adjustment where a run declares the value."""
    known = {"change": "c", "because": "b", "confidence": 0.8, "effort": "code", "safety": "A0", "tried": tried,
             "changes_results": False, "caution": "", "rule": "r", "source": "s", "gain_low": None, "gain_high": None,
             "host": "a", "gpu": None, "gpu_index": None, "run": "r", "rank": None, "resource": None}  # fmt: skip
    (grid,) = advice.advice_view([known])
    console = Console(width=200)
    with console.capture() as shown:
        console.print(grid)
    assert f"effort: code · {safety}" in shown.get()


async def test_long_advice_is_indented() -> None:
    """In a narrow terminal, each further line begins below the first word."""
    async with serving(diagnosed()) as url:
        first, *others = (await run("advice", "a", "--collector", url, columns=32)).output.splitlines()
    assert first.startswith("1. cache")
    assert len(others) > 4
    assert all(line.startswith("   ") and line[3] != " " for line in others if line.strip() and line[0] != "2")


async def test_a_run_is_diagnosed_if_no_host_has_the_name() -> None:
    """With its hosts and their primary bottlenecks; also as JSON."""
    async with serving(diagnosed()) as url:
        shown = (await run("diagnose", "r", "--collector", url)).output
        document = json.loads((await run("diagnose", "r", "--collector", url, "--format", "json")).output)
    assert shown.startswith("run r  limited by disk")
    assert "straggler" in shown
    assert document["hosts"][0] == {"host": "a", "primary": "disk"}


async def test_equal_problems_of_several_gpus_are_one_entry() -> None:
    """It has the shortest time left; another kind is another entry."""
    parts = diagnosed()
    parts.timeline.add_events(
        [
            make_event("thermal_slowdown", at=20 + n, subject=Subject("c", f"GPU-{n}"), seconds_left=100.0 - n)
            for n in range(8)
        ]
    )
    async with serving(parts) as url:
        shown = (await run("diagnose", "c", "--collector", url)).output
    assert shown.count("thermal_slowdown") == 1
    assert "thermal_slowdown  c 8 GPUs  1 min 33 s left" in shown


async def test_a_host_without_problems_has_no_sections() -> None:
    """Only the heading is shown."""
    async with serving(diagnosed()) as url:
        shown = (await run("diagnose", "c", "--collector", url)).output
    assert "no active problems" in shown
    assert "What to change" not in shown


async def test_an_unknown_name_is_answered_with_similar_ones() -> None:
    """There is neither a host nor a run of this name: a wrong argument."""
    async with serving(diagnosed()) as url:
        result = await run("diagnose", "rr", "--collector", url)
    assert isinstance(result.exception, NotFound)
    assert "'rr'" in str(result.exception)
    assert "did you mean 'r'?" in str(result.exception)


async def test_advice_is_listed_for_the_fleet_or_for_one_subject() -> None:
    """One paragraph each, or JSON; an empty list is one sentence."""
    async with serving(diagnosed()) as url:
        everything = (await run("advice", "--collector", url)).output
        of_run = json.loads((await run("advice", "r", "--collector", url, "--format", "json")).output)
    assert "1. cache" in everything
    assert "2. y" in everything
    assert "needs the owner's consent" in everything
    assert [each["rule"] for each in of_run] == ["storage", "batch"]
    async with serving(make_parts()) as url:
        assert "No advice" in (await run("advice", "--collector", url)).output
