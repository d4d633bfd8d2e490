"""`flyball runs` against a real collector's HTTP side."""

import asyncio
import json

import typer
from typer.testing import CliRunner, Result

from flyball.command import runs
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.testing import make_parts, serving
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.client.terminal import terminal

SECOND = 10**9


async def run(*words: str) -> Result:
    """Run the command in a thread, because the collector answers on the event loop."""
    app = typer.Typer()
    app.command()(runs.runs)
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), env=terminal(200))


def training() -> CollectorParts:
    """Return the parts of a fleet with a run that reports, one that does not, and one that has ended."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    now = parts.clock()
    for name, ago in (("old-1", 120), ("", 90), ("[slurm]-7", 0)):
        member = pb.Member(run=name, rank=1, world_size=4, user="ada", source="slurm", gpus=["GPU-1"])
        state.tenancy = pb.Tenancy(members=[member])
        parts.fleet.runs.advance(now - ago * SECOND, {"c": state})
    return parts


async def test_runs_are_listed_with_what_is_known() -> None:
    """One line for each run that has not ended, with dashes for unknown values, and a summary."""
    async with serving(training()) as url:
        shown = (await run("--collector", url)).output
        everything = (await run("--collector", url, "--all")).output
    lines = [line.split() for line in shown.splitlines()]
    assert lines[0][:4] == ["RUN", "STATE", "USER", "HOSTS"]
    assert lines[1][:9] == ["[slurm]-7", "running", "ada", "1", "1", "1", "of", "4", "–"]
    assert lines[2][:2] == ["r", "running"]
    assert lines[2][-1] == "warning"
    assert lines[3] == ["2", "runs,", "1", "GPU"]
    assert "old-1" not in shown
    assert [line.split()[:2] for line in everything.splitlines()][2] == ["old-1", "ended"]


async def test_runs_as_json() -> None:
    """The document has the collector's answers."""
    async with serving(training()) as url:
        document = json.loads((await run("--collector", url, "--format", "json")).output)
    assert [(each["run"], each["state"], each["step"]) for each in document["runs"]] == [
        ("[slurm]-7", "running", None),
        ("r", "running", 70),
    ]


async def test_no_runs_are_not_an_error() -> None:
    """A sentence instead of an empty table."""
    async with serving(make_parts()) as url:
        result = await run("--collector", url)
    assert result.exit_code == 0
    assert result.output.startswith("No run holds a GPU or reports steps.")
