"""`flyball runs` against a real collector's HTTP side."""

import asyncio
import io
import json
from dataclasses import replace
from typing import Any

import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from flyball.command import runs
from flyball_collector.advice.advice import Advice, Effort, Safety
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.run_testing import RunFindingsDouble, TrainingDouble
from flyball_collector.http.testing import MachineDouble, make_parts, serving
from flyball_collector.tick import Tick
from flyball_collector.timeline.testing import make_event
from flyball_proto.v1 import telemetry_pb2 as pb
from tests.client.terminal import terminal

SECOND = 10**9
PIPE = {"TTY_COMPATIBLE": "0", "FORCE_COLOR": ""}


def _known(name: str, state: str, seconds_ago: float) -> dict[str, Any]:
    return {"run": name, "state": state, "last_seen": {"unix": 10_000.0 - seconds_ago}}


async def run(*words: str, pipe: bool = False) -> Result:
    """Run the command in a thread, because the collector answers on the event loop."""
    app = typer.Typer()
    app.command()(runs.runs)
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), env=PIPE if pipe else terminal(200))


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
    """One line for each run, with dashes for unknown values: those that train, those that ended recently, a summary."""
    async with serving(training()) as url:
        shown = (await run("--collector", url)).output
    lines = [line.split() for line in shown.splitlines()]
    assert lines[0][:4] == ["RUN", "STATE", "USER", "HOSTS"]
    assert lines[1][:9] == ["[slurm]-7", "running", "ada", "1", "1", "1", "of", "4", "–"]
    assert lines[2][:2] == ["r", "running"]
    assert lines[2][-2:] == ["critical", "(4)"]
    assert lines[3][:2] == ["old-1", "ended"]
    assert lines[4] == ["2", "runs,", "1", "GPU,", "1", "ended"]


async def test_the_table_is_readable_in_a_terminal_of_60_columns() -> None:
    """No heading is cut, each run has one line, and a long name is shortened."""
    parts = training()
    parts.fleet.apply(_tick_of("x" * 200, parts.clock()))
    parts.fleet.ranks.settle()
    async with serving(parts) as url:
        document = json.loads((await run("--collector", url, "--format", "json")).output)
    out = io.StringIO()
    screen = Console(file=out, width=60)
    screen.print(runs.runs_table([each for each in document["runs"] if len(each["run"]) < 20], 2e9, width=60))
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert lines[0] == ["RUN", "STATE", "STEP", "STEP", "TIME", "LEFT", "PROBLEMS"]
    assert [line[0] for line in lines[1:3]] == ["[slurm]-7", "r"]
    assert lines[2][1:5] == ["running", "70", "500.0", "ms"]
    async with serving(parts) as url:
        wide = (await run("--collector", url)).output
    assert f"{'x' * 59}… " in wide
    assert "x" * 60 not in wide


def _tick_of(name: str, now_ns: int) -> Tick:
    """Return a record of host c with a report of a run."""
    tick = MachineDouble("c", 1).tick(1, now_ns)
    tick.extras = pb.Record(
        steps=[pb.StepReport(run=name, world_size=1, step=5, steps=2, step_seconds=1.0)]
    ).SerializeToString()
    return tick


def test_runs_that_ended_long_ago_need_an_option() -> None:
    """Without `--all` only those of the last hour are listed, after those that have not ended."""
    known = [_known("a", "ended", 7200.0), _known("b", "ended", 60.0), _known("c", "running", 0.0),
             _known("d", "not_reporting", 9000.0)]  # fmt: skip
    assert [each["run"] for each in runs.listed_runs(known, 10_000.0, all_=False)] == ["c", "d", "b"]
    assert [each["run"] for each in runs.listed_runs(known, 10_000.0, all_=True)] == ["c", "d", "a", "b"]


async def test_runs_as_json() -> None:
    """The document has the collector's answers."""
    async with serving(training()) as url:
        document = json.loads((await run("--collector", url, "--format", "json")).output)
    assert [(each["run"], each["state"], each["step"]) for each in document["runs"]] == [
        ("[slurm]-7", "running", None),
        ("r", "running", 70),
        ("old-1", "ended", None),
    ]


async def test_no_runs_are_not_an_error() -> None:
    """A sentence instead of an empty table."""
    async with serving(make_parts()) as url:
        result = await run("--collector", url)
    assert result.exit_code == 0
    assert result.output.startswith("No run holds a GPU or reports steps.")


async def test_a_run_has_a_screen() -> None:
    """It shows progress, time left, speed, loss, parts of the step, services, levels, problems, ranks and advice."""
    training = TrainingDouble("team/bert [3]")
    change = Advice(
        rule="batch",
        subject=Subject(run="team/bert [3]"),
        because="x",
        change="Grow the batch",
        confidence=0.8,
        safety=Safety.CONSENT,
        effort=Effort.SETTING,
        source="a paper",
    )
    slow = make_event("straggler", subject=Subject("b", run="team/bert [3]", rank=3))
    training.parts.timeline.add_events([slow, make_event("bottleneck_disk", subject=Subject("a"), confidence=0.7)])
    findings = RunFindingsDouble("team/bert [3]")
    async with serving(replace(training.parts, findings=findings, advice=lambda: (change,))) as url:
        shown = (await run("team/bert [3]", "--collector", url)).output
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert lines[0] == "team/bert [3] running"
    assert lines[1].startswith("ada · a, b · started 1 min 11 s ago · attempt 1 · reported 0 s ago · team=nlp")
    assert "step 44 of 400 ██·················· 11.0 % 1 min 29 s left (1 min 20 s … 1 min 39 s)" in lines
    assert "limited by disk 70 % confidence" in lines
    assert "step time 200.0 ms slowest 300.0 ms, rank 3" in lines
    assert "loss 2.500" in lines
    step = lines.index("A step")
    assert [line.split()[0] for line in lines[step + 1 : step + 4]] == ["backward", "forward", "data"]
    assert "kato 16 2 5.0 ms 44 44 704" in lines
    assert next(line for line in lines if line.startswith("node0")).endswith("1,760")
    assert next(line for line in lines if line.startswith("3 b")).endswith("warning")
    assert any(line.startswith("warning straggler") for line in lines)
    assert "1. Grow the batch" in lines


async def test_many_ranks_need_an_option() -> None:
    """Sixteen of many ranks are shown, with the number of the others; `--all` shows all of them."""
    training = TrainingDouble(seconds=1)
    for rank in range(4, 24):
        training.parts.fleet.ranks.add_reports("c", [training.report(rank, 4)], training.clock(), training.clock())
    training.parts.fleet.ranks.settle()
    async with serving(training.parts) as url:
        some = (await run("r", "--collector", url)).output.splitlines()
        everything = (await run("r", "--collector", url, "--all")).output.splitlines()
    assert some[-1] == "and 8 ranks more: --all lists them"
    assert len(some) - some.index("Ranks") == 1 + 1 + 16 + 1
    assert len(everything) - everything.index("Ranks") == 1 + 1 + 24


async def test_what_is_unknown_is_a_dash_or_left_out() -> None:
    """A run with steps alone has no rows and columns for what it does not report."""
    training = TrainingDouble(seconds=0)
    reports = [pb.StepReport(run="plain", step=7, steps=2, step_seconds=1.0, loss=float("nan"))]
    training.parts.fleet.ranks.add_reports("c", reports, training.clock(), training.clock())
    training.parts.fleet.ranks.settle()
    async with serving(training.parts) as url:
        shown = (await run("plain", "--collector", url)).output
    assert "The loss is NaN or infinite in the last 1 report." in shown
    for absent in ("tokens/s", "memory peak", "Services", "Levels", "A step", "left", "gpu"):
        assert absent not in shown
    assert "waiting for data  –" in shown


async def test_a_run_without_steps_is_explained() -> None:
    """The screen shows which lines make it report, and lists its processes."""
    async with serving(training()) as url:
        shown = (await run("[slurm]-7", "--collector", url)).output
    assert "This run reports no steps." in shown
    assert "run = flyball.run('[slurm]-7')" in shown
    assert "limited by" not in shown
    assert "GPU-1" in shown


async def test_a_run_as_json() -> None:
    """The document is the collector's answer; unknown values are null."""
    async with serving(training()) as url:
        document = json.loads((await run("r", "--collector", url, "--format", "json")).output)
    assert (document["run"]["run"], document["progress"]["step"]) == ("r", 70)
    assert document["progress"]["total_steps"] is None


async def test_text_of_a_run_cannot_control_the_terminal() -> None:
    """Control characters and markup in names, users, labels, sections and services are shown, not obeyed."""
    evil = "\x1b[2J[bold]x\n"
    training = TrainingDouble(evil)
    for second in range(2):
        calls = [pb.CallReport(service=evil, count=1, seconds=1.0)]
        levels = [pb.LevelReport(level=evil, items=1, seconds=1.0)]
        training.second(second, section_seconds={evil: 0.2}, calls=calls, levels=levels)
    async with serving(training.parts) as url:
        shown = (await run("--collector", url, "--", evil)).output
    assert "\x1b" not in shown
    assert shown.count("[bold]x") >= 4


async def test_an_unknown_run_names_similar_ones() -> None:
    """The error has the nearest name, and the command that lists all."""
    async with serving(training()) as url:
        near = await run("slurm-7", "--collector", url)
        far = await run("zzzzzzzz", "--collector", url)
    assert str(near.exception) == "no run named 'slurm-7'; did you mean '[slurm]-7'? `flyball runs` lists all."
    assert str(far.exception) == "no run named 'zzzzzzzz'; `flyball runs` lists them"


async def test_watching_needs_a_terminal() -> None:
    """In a pipe, the error names the command for scripts."""
    async with serving(training()) as url:
        result = await run("r", "--watch", "--collector", url, pipe=True)
    assert "`flyball runs r --format json`" in str(result.exception)
