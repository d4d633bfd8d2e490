"""`flyball diagnose` and `flyball advice` against a real collector's HTTP side."""

import asyncio
import json

import typer
from typer.testing import CliRunner, Result

from flyball.command import advice, diagnose
from flyball.command.errors import CommandError
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.testing import make_parts, serving
from flyball_collector.timeline.testing import make_event


async def run(*words: str, columns: str = "200") -> Result:
    """Run a command without blocking the event loop, on which the collector answers."""
    app = typer.Typer()
    app.command()(diagnose.diagnose)
    app.command()(advice.advice)
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), env={"COLUMNS": columns})


async def test_a_host_is_diagnosed_in_sections() -> None:
    """What bounds it, what stands with the time left, scores, and what to change with the gain."""
    async with serving(diagnosed()) as url:
        shown = (await run("diagnose", "a", "--collector", url)).output
    assert shown.startswith("a  bounded by disk  runs r")
    assert "90 s" in shown
    assert "5 min (3 min … 8 min)" in shown
    assert "████████████████····" in shown
    assert "plain shares of plain limits: cpu 40%, memory –" in shown
    assert "memory_exhaustion  a GPU 3  5 min" in shown
    assert "   a GPU 3: reads wait" in shown
    assert "faster by ×1.20 to ×1.50 · 80% sure · effort: setting · for people only" in shown


async def test_long_advice_goes_on_below_its_beginning() -> None:
    """In a narrow terminal each line but the first is set in as far as the words of the first."""
    async with serving(diagnosed()) as url:
        first, *others = (await run("advice", "a", "--collector", url, columns="32")).output.splitlines()
    assert first.startswith("1. cache")
    assert len(others) > 4
    assert all(line.startswith("   ") and line[3] != " " for line in others if line.strip() and line[0] != "2")


async def test_a_run_is_diagnosed_when_no_host_has_the_name() -> None:
    """Its hosts, each with what bounds it; JSON for programs."""
    async with serving(diagnosed()) as url:
        shown = (await run("diagnose", "r", "--collector", url)).output
        told = json.loads((await run("diagnose", "r", "--collector", url, "--format", "json")).output)
    assert shown.startswith("run r  bounded by disk")
    assert "straggler" in shown
    assert told["hosts"][0] == {"host": "a", "primary": "disk"}


async def test_the_same_of_several_gpus_is_one_entry() -> None:
    """Eight GPUs in one state are told once, with the shortest time; another kind stays its own entry."""
    parts = diagnosed()
    parts.timeline.take(
        [
            make_event("thermal_slowdown", at=20 + n, subject=Subject("c", f"GPU-{n}"), seconds_left=100.0 - n)
            for n in range(8)
        ]
    )
    async with serving(parts) as url:
        shown = (await run("diagnose", "c", "--collector", url)).output
    assert shown.count("thermal_slowdown") == 1
    assert "thermal_slowdown  c 8 GPUs  93 s left" in shown


async def test_a_quiet_host_is_said_to_be_quiet() -> None:
    """Nothing stands; no section is empty."""
    async with serving(diagnosed()) as url:
        shown = (await run("diagnose", "c", "--collector", url)).output
    assert "nothing stands" in shown
    assert "what to change" not in shown


async def test_a_name_that_nobody_has_is_answered_with_those_alike() -> None:
    """Neither host nor run: both are said."""
    async with serving(diagnosed()) as url:
        result = await run("diagnose", "rr", "--collector", url)
    assert isinstance(result.exception, CommandError)
    assert "no host is called 'rr'" in str(result.exception)
    assert "did you mean r?" in str(result.exception)


async def test_advice_is_listed_of_all_or_of_one() -> None:
    """For people a paragraph each, for programs JSON; none is said too."""
    async with serving(diagnosed()) as url:
        everything = (await run("advice", "--collector", url)).output
        of_run = json.loads((await run("advice", "r", "--collector", url, "--format", "json")).output)
    assert "1. cache" in everything
    assert "2. y" in everything
    assert "with the owner's consent" in everything
    assert [each["rule"] for each in of_run] == ["storage", "batch"]
    async with serving(make_parts()) as url:
        assert "No advice" in (await run("advice", "--collector", url)).output
