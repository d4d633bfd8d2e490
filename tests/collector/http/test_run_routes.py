"""Runs over HTTP: the list, one run, and its diagnosis."""

import time
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from flyball_collector.advice.advice import Advice, Effort, Safety
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.adjustment_testing import AdjustableTraining
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_testing import diagnosed
from flyball_collector.http.run_lookup import name_in_path
from flyball_collector.http.run_routes import MOST_RANKS
from flyball_collector.http.run_testing import SECOND, RunFindingsDouble, TrainingDouble
from flyball_collector.http.testing import fetch, serving
from flyball_collector.timeline.entry import entry_of
from flyball_collector.timeline.testing import make_event
from flyball_proto.v1 import adjust_pb2 as pb_adjust
from flyball_proto.v1 import telemetry_pb2 as pb

HOSTILE = (
    "team/bert 3/x",
    "/absolute",
    "a//b/",
    "..",
    ".",
    "a/../../b",
    "100%",
    "%2e%2e%2f",
    "<script>alert(1)</script>",
    "läuft-🚂",
    " ",
    "a?b#c&d=e",
    "runs/r/diagnosis",
    "diagnosis",
    "r" * 200,
    "quote\"'\\",
)


async def details(parts: CollectorParts, name: str = "r", **query: int) -> Any:
    """Return the answer about a run."""
    asked = "&".join([f"name={quote(name, safe='')}", *(f"{key}={value}" for key, value in query.items())])
    async with serving(parts) as url:
        answer = await fetch(f"{url}/api/v1/run?{asked}")
    assert answer.status == 200, answer.body
    return answer.json()


async def test_a_run_has_progress_speed_and_loss() -> None:
    """Progress has the remaining time with its interval; rates are those of all ranks, recent and overall."""
    training = TrainingDouble()
    found = await details(replace(training.parts, findings=RunFindingsDouble("r")))
    run, progress = found["run"], found["progress"]
    assert (run["run"], run["state"], run["source"], run["users"]) == ("r", "running", "client", ["ada"])
    assert (run["hosts"], run["gpus"], run["ranks"], run["world_size"]) == (["a", "b"], 4, 4, 4)
    assert (progress["step"], progress["total_steps"], progress["ratio"]) == (44, 400, 0.11)
    left = (progress["remaining_seconds"], progress["remaining_low_seconds"], progress["remaining_high_seconds"])
    assert left == (89.0, 80.0, 99.0)
    assert found["attempt"] == 1
    assert found["recent"]["step_seconds"] == pytest.approx(0.2)
    assert found["recent"]["data_wait_ratio"] == pytest.approx((3 * 0.25 + 0.2 / 1.2) / 4, abs=1e-4)
    assert found["overall"]["tokens_per_second"] == pytest.approx(1600, rel=0.2)
    assert found["recent"]["samples_per_second"] == pytest.approx(32, rel=0.2)
    assert (found["loss"], found["bad_losses"]) == (2.5, 0)
    assert (found["slowest_rank"], found["slowest_step_seconds"]) == (3, pytest.approx(0.3))
    assert (found["allocated_peak_bytes"], found["reserved_peak_bytes"]) == (1003, 2000)


async def test_a_run_has_sections_services_and_levels() -> None:
    """Parts of the step add up to it, calls are counted per step and sample, and levels have their rates."""
    found = await details(TrainingDouble().parts)
    sections = {each["name"]: (each["kind"], each["seconds"], each["ratio"]) for each in found["sections"]}
    assert sections["backward"] == ("section", pytest.approx(0.1), pytest.approx(0.5))
    assert sections["forward"] == ("section", pytest.approx(0.05), pytest.approx(0.25))
    assert sections["data wait"][0] == "data_wait"
    assert sum(seconds for _, seconds, _ in sections.values()) == pytest.approx(
        found["recent"]["step_seconds"], rel=0.02
    )
    (service,) = found["services"]
    assert (service["service"], service["calls"], service["errors"]) == ("kato", 704, 44)
    assert (service["calls_per_step"], service["calls_per_sample"]) == (16.0, 2.0)
    assert service["seconds_per_call"] == pytest.approx(0.005)
    (level,) = found["levels"]
    assert (level["level"], level["items"]) == ("node0", 1760)
    assert level["items_per_second"] == pytest.approx(160, rel=0.2)


async def test_a_section_for_the_input_is_not_counted_twice() -> None:
    """If the client has a section for its input, the wait is not another part. What no section covers is the rest."""
    training = TrainingDouble(seconds=0)
    for second in range(3):
        training.second(second, section_seconds={"data": 0.2, "forward": 0.4}, step_seconds=0.8)
    found = await details(training.parts)
    kinds = [(each["name"], each["kind"], round(each["ratio"], 2)) for each in found["sections"]]
    assert kinds == [("forward", "section", 0.5), ("data", "section", 0.25), ("rest", "rest", 0.25)]


async def test_a_run_has_its_ranks_with_their_gpus() -> None:
    """Each rank has its host, process, GPU, newest values, and the severity of its worst condition."""
    training = TrainingDouble()
    slow = make_event("straggler", subject=Subject("b", run="r", rank=3))
    hot = make_event("memory_exhaustion", at=1, subject=Subject("a", "GPU-0000-01"))
    training.parts.timeline.add_events([slow, hot])
    found = await details(training.parts)
    assert found["ranks_total"] == 4
    assert [(rank["rank"], rank["host"], rank["pid"]) for rank in found["ranks"]] == [
        (0, "a", 100), (1, "a", 101), (2, "b", 100), (3, "b", 101)]  # fmt: skip
    first, second, _, last = found["ranks"]
    assert first["gpus"] == [{"gpu": "GPU-0000-00", "gpu_index": None}]
    assert (first["step"], first["loss"], first["allocated_peak_bytes"]) == (44, 2.5, 1000)
    assert first["last_report"]["unix"] == found["time"]["unix"]
    assert (first["severity"], second["severity"], last["severity"]) == (None, "critical", "warning")
    assert {each["kind"] for each in found["diagnosis"]["conditions"]} == {"straggler", "memory_exhaustion"}


async def test_the_points_of_the_charts() -> None:
    """One point every five seconds in which a step ended. Unknown values are null."""
    training = TrainingDouble(seconds=0)
    for second in range(21):
        training.second(second, loss=float("nan"))
    trend = (await details(training.parts))["trend"]
    assert len(trend["times_unix"]) >= 3
    assert {round(b - a) for a, b in zip(trend["times_unix"], trend["times_unix"][1:], strict=False)} == {5}
    assert trend["tokens_per_second"] == pytest.approx([1600.0] * len(trend["times_unix"]))
    assert trend["loss"] == [None] * len(trend["times_unix"])


async def test_a_loss_that_is_not_finite_is_a_finding() -> None:
    """The loss is null, and the number of consecutive reports is given."""
    training = TrainingDouble(seconds=0)
    for second in range(4):
        training.second(second, loss=float("nan") if second else 2.0)
    found = await details(training.parts)
    assert (found["loss"], found["bad_losses"]) == (None, 3)
    assert {rank["bad_losses"] for rank in found["ranks"]} == {3}
    training = TrainingDouble(seconds=6)
    training.parts.fleet.ranks.add_reports(
        "b", [training.report(3, 28, loss=float("inf"))], training.clock(), training.clock()
    )
    training.parts.fleet.ranks.settle()
    found = await details(training.parts)
    assert (found["loss"], found["bad_losses"]) == (None, 1)  # also if another rank has a finite one


async def test_what_was_not_reported_is_null() -> None:
    """A run that reports only steps and times has null and empty lists elsewhere, and never zero."""
    training = TrainingDouble(seconds=0)
    for second in range(3):
        report = pb.StepReport(run="r", rank=0, step=second + 1, steps=1, step_seconds=1.0)
        training.clock.now_ns += SECOND
        training.parts.fleet.ranks.add_reports("c", [report], training.clock(), training.clock())
        training.parts.fleet.advance(training.clock())
    found = await details(training.parts)
    for key in ("loss", "allocated_peak_bytes", "reserved_peak_bytes", "slowest_rank"):
        assert found[key] is None
    for key in ("tokens_per_second", "samples_per_second", "data_wait_ratio", "device_ratio"):
        assert found["recent"][key] is None
    assert (found["sections"], found["services"], found["levels"]) == ([], [], [])
    assert found["progress"]["remaining_seconds"] is None


async def test_a_run_without_a_client_has_its_processes() -> None:
    """Users, hosts and GPUs are known; it is marked as a run that reports no steps."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    known = {"run": "slurm-7", "user": "eve", "source": "slurm"}
    numbered = [
        pb.Member(rank=rank, world_size=2, gpus=[f"GPU-{rank}"], pid=rank + 5, **known)  # type: ignore[arg-type]  # texts
        for rank in range(2)
    ]
    state.tenancy = pb.Tenancy(members=[*numbered, pb.Member(run="slurm-7", user="eve", source="slurm", pid=77)])
    parts.fleet.runs.advance(parts.clock(), {"c": state})
    found = await details(parts, "slurm-7")
    assert (found["reports_steps"], found["attempt"], found["loss"]) == (False, None, None)
    assert found["run"]["source"] == "slurm"
    assert [(rank["rank"], rank["host"], rank["pid"], len(rank["gpus"])) for rank in found["ranks"]] == [
        (0, "c", 5, 1), (1, "c", 6, 1), (None, "c", 77, 0)]  # fmt: skip
    assert {rank["step"] for rank in found["ranks"]} == {None}
    assert found["trend"]["times_unix"] == []


async def test_progress_by_samples() -> None:
    """If only the total of samples is known, the progress is counted in samples of all ranks."""
    training = TrainingDouble(seconds=0)
    for host in ("a", "b"):
        for member in training.parts.fleet.ensure(host).tenancy.members:  # type: ignore[union-attr]  # set above
            del member.labels["total_steps"]
            member.labels["total_samples"] = "1280"
    for second in range(5, 10):  # the collector started later than the run
        training.second(second)
    progress = (await details(training.parts))["progress"]
    assert (progress["samples"], progress["total_samples"], progress["ratio"]) == (320, 1280, 0.25)
    assert progress["total_steps"] is None


async def test_an_ended_run_keeps_its_last_figures() -> None:
    """After its processes and ranks are gone, its last step, its last loss and its charts are known."""
    training = TrainingDouble()
    for host in ("a", "b"):
        training.parts.fleet.ensure(host).tenancy = pb.Tenancy()
    for _ in range(3):
        training.clock.now_ns += 200 * SECOND
        training.parts.fleet.advance(training.clock())
    assert not training.parts.fleet.ranks.keys
    found = await details(training.parts)
    async with serving(training.parts) as url:
        (listed,) = (await fetch(f"{url}/api/v1/runs")).json()["runs"]
    assert (listed["state"], listed["step"]) == ("ended", 44)
    assert (found["run"]["state"], found["reports_steps"]) == ("ended", True)
    assert (found["progress"]["step"], found["loss"]) == (44, 2.5)
    assert found["trend"]["times_unix"]
    assert (found["ranks"], found["ranks_total"], found["recent"]["step_seconds"]) == ([], 0, None)


async def test_odd_totals_are_unknown() -> None:
    """A label that is not a positive number is not a total."""
    training = TrainingDouble(seconds=1)
    async with serving(training.parts) as url:
        for most, text in enumerate(("", "-5", "0", "1e3", "many", "²")):  # another number of ranks: a new answer
            for host in ("a", "b"):
                state, tenancy = training.parts.fleet.ensure(host), pb.Tenancy()
                assert state.tenancy is not None
                tenancy.CopyFrom(state.tenancy)
                for member in tenancy.members:
                    member.labels["total_steps"] = text
                state.tenancy = tenancy
            training.second(most + 1)
            progress = (await fetch(f"{url}/api/v1/run?name=r&ranks={most}")).json()["progress"]
            assert (progress["step"], progress["total_steps"], progress["ratio"]) == (4 * most + 8, None, None)


async def test_any_name_is_found() -> None:
    """A quoted name in the path and a name in the query lead to the same run, with its diagnosis."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    state.tenancy = pb.Tenancy(members=[pb.Member(run=name, gpus=["GPU-1"]) for name in HOSTILE])
    parts.fleet.runs.advance(parts.clock(), {"c": state})
    async with serving(parts) as url:
        for name in HOSTILE:
            quoted = quote(name, safe="")
            for path in (f"runs/{quoted}", f"run?name={quoted}"):
                answer = await fetch(f"{url}/api/v1/{path}")
                assert answer.status == 200, (name, path)
                assert answer.json()["run"]["run"] == name
            assert (await fetch(f"{url}/api/v1/runs/{quoted}/diagnosis")).json()["run"] == name


_PATHS = [
    ("/api/v1/runs/team%2Fx", "/team/x", ("team/x", "")),
    ("/api/v1/runs/team%2Fx/diagnosis", "/team/x/diagnosis", ("team/x", "diagnosis")),
    ("/api/v1/runs/x%2Fdiagnosis", "/x/diagnosis", ("x/diagnosis", "")),
    ("/api/v1/runs/x/diagnosis?a=/runs/b", "/x/diagnosis", ("x", "diagnosis")),
    ("/api/v1/runs/team/x", "/team/x", ("team/x", "")),
    ("/flyball/api/v1/runs/a%2525", "/a%25", ("a%25", "")),
]


@pytest.mark.parametrize(("raw", "decoded", "expected"), _PATHS)
def test_quoted_slashes_are_part_of_the_name(raw: str, decoded: str, expected: tuple[str, str]) -> None:
    """Only a slash that is not quoted divides the name from what follows it; a proxy may have decoded slashes."""
    assert name_in_path(raw, decoded) == expected


async def test_an_unknown_run_is_an_error() -> None:
    """The error names similar runs or the list; long and odd names do no harm."""
    async with serving(diagnosed()) as url:
        near = await fetch(f"{url}/api/v1/runs/rr")
        far = await fetch(f"{url}/api/v1/run?name=nothing-like-it")
        for odd in ("x" * 1000, "%00", "%ff%fe", "..%2f..%2fetc%2fpasswd", "<img>"):
            answer = await fetch(f"{url}/api/v1/runs/{odd}")
            assert (answer.status, answer.json()["error"]["code"]) == (404, "unknown_run")
        too_long = await fetch(f"{url}/api/v1/run?name={'x' * 1025}")
        missing = await fetch(f"{url}/api/v1/run")
        empty = await fetch(f"{url}/api/v1/run?name=")
    assert (near.status, near.json()["error"]["hint"]) == (404, "did you mean 'r'?")
    error = far.json()["error"]
    assert (error["what"], error["hint"]) == ("no run named 'nothing-like-it'", "GET /api/v1/runs lists them")
    assert [each.status for each in (too_long, missing, empty)] == [400, 400, 404]


async def test_a_typing_error_is_found_quickly_among_thousands_of_runs() -> None:
    """The hint names the run that was meant. It costs little, because the page of an unknown run asks each second."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    names = [f"team-{n % 50}/llama-{n}-lr-0.{n % 10}-bs-{n % 64}-seed-{n % 7}" for n in range(4000)]
    state.tenancy = pb.Tenancy(members=[pb.Member(run=name, gpus=["GPU-1"]) for name in [*names, "zebra"]])
    parts.fleet.runs.advance(parts.clock(), {"c": state})
    wrong = "taem-7/llama-1207-lr-0.7-bs-55-seed-3"
    taken = []
    async with serving(parts) as url:
        for _ in range(3):
            started = time.process_time()  # of this process, in which the server runs
            answer = await fetch(f"{url}/api/v1/run?name={quote(wrong)}")
            taken.append(time.process_time() - started)
        other = await fetch(f"{url}/api/v1/run?name=zabra")
    assert "'team-7/llama-1207-lr-0.7-bs-55-seed-3'" in answer.json()["error"]["hint"]
    assert other.json()["error"]["hint"] == "did you mean 'zebra'?"
    assert min(taken) < 0.2


async def test_advice_and_risks_of_a_run() -> None:
    """The diagnosis in the answer is that of the run: its advice, and the primary bottleneck with its confidence."""
    training = TrainingDouble()
    change = Advice(
        rule="batch",
        subject=Subject(run="r"),
        because="x",
        change="y",
        safety=Safety.CONSENT,
        confidence=0.8,
        effort=Effort.SETTING,
        source="a paper",
    )
    training.parts.timeline.add_events([make_event("bottleneck_disk", subject=Subject("a"), confidence=0.7)])
    found = await details(replace(training.parts, findings=RunFindingsDouble("r"), advice=lambda: (change,)))
    diagnosis = found["diagnosis"]
    assert (diagnosis["run"], diagnosis["primary"]) == ("r", "disk")
    assert diagnosis["scores"][0]["confidence"] == 0.7
    assert [each["rule"] for each in diagnosis["advice"]] == ["batch"]


async def test_advice_about_a_kill_of_another_job_on_the_same_host_is_not_that_of_the_run() -> None:
    """Advice about more than that, or about no condition, is."""
    training = TrainingDouble()
    because, of_group = "the kernel killed “python” (pid 7, rank 0 of run “z”)", {"limit_of_a_group": 1.0}
    kill = make_event("oom_kill", subject=Subject("a"), because=because, evidence=of_group)
    disk = make_event("bottleneck_disk", subject=Subject("a"))
    training.parts.timeline.add_events([kill, disk])
    killed, slow = (entry_of(each).condition for each in (kill, disk))
    advice = tuple(
        Advice(
            rule=rule, subject=Subject("a"), because="x", change="y", safety=Safety.CONSENT, confidence=0.8,
            effort=Effort.SETTING, source="a paper", conditions=conditions,
        )
        for rule, conditions in (("memory", (killed,)), ("both", (killed, slow)), ("none", ()))
    )  # fmt: skip
    found = await details(replace(training.parts, findings=RunFindingsDouble("r"), advice=lambda: advice))
    assert [each["rule"] for each in found["diagnosis"]["advice"]] == ["both", "none"]


def _report_of_large(rank: int, ranks: int) -> pb.StepReport:
    return pb.StepReport(
        run="large",
        rank=rank,
        world_size=ranks,
        step=9,
        steps=4,
        step_seconds=9.0 if rank == 777 else 1.0,
        tokens=100.0,
        loss=1.0,
        data_wait_seconds=0.1,
        section_seconds={"forward": 0.3, "backward": 0.5},
    )


def _large(ranks: int) -> CollectorParts:
    """Return a run of many ranks, eight a host, of which number 777 is slow and 5 has a condition."""
    training = TrainingDouble("other")
    parts, now = training.parts, training.clock()
    for number in range(ranks // 8):
        host, own = f"node-{number:04d}", range(8 * number, 8 * number + 8)
        state = parts.fleet.ensure(host)
        members = [pb.Member(run="large", rank=rank, world_size=ranks, gpus=[f"GPU-{rank}"], pid=rank) for rank in own]
        state.tenancy, state.received_ns = pb.Tenancy(members=members), now
        reports = [_report_of_large(rank, ranks) for rank in own]
        parts.fleet.ranks.add_reports(host, reports, now, now)
    parts.fleet.advance(now + SECOND)
    parts.timeline.add_events([make_event("straggler", subject=Subject("node-0000", run="large", rank=5))])
    return parts


async def test_a_run_of_many_ranks_is_answered_quickly() -> None:
    """Of 1,024 ranks, the answer has the slowest and those with problems, in order, within 100 ms."""
    parts = _large(1024)
    async with serving(parts) as url:
        found = (await fetch(f"{url}/api/v1/run?name=large")).json()
        taken = []
        for most in (40, 41, 42):  # no answer is one that was made before
            started = time.process_time()  # of this process, in which the server runs
            await fetch(f"{url}/api/v1/run?name=large&ranks={most}")
            taken.append(time.process_time() - started)
        everything = (await fetch(f"{url}/api/v1/run?name=large&ranks=65536")).json()
        none = (await fetch(f"{url}/api/v1/run?name=large&ranks=0")).json()
    numbers = [rank["rank"] for rank in found["ranks"]]
    assert (len(numbers), found["ranks_total"]) == (MOST_RANKS, 1024)
    assert {5, 777} <= set(numbers)
    assert numbers == sorted(numbers)
    assert [rank["rank"] for rank in everything["ranks"]] == list(range(1024))
    assert (none["ranks"], none["ranks_total"]) == ([], 1024)
    assert min(taken) < 0.1


async def test_a_paused_run_is_shown_as_paused_without_a_time_left() -> None:
    """While the value of a rank is that it pauses, the state is paused, and the time left is unknown."""
    run = await AdjustableTraining().begin()
    parts = replace(run.parts, findings=RunFindingsDouble("r"))
    shown = []
    for value in ("false", "true", "false"):
        declared = run.able(0)
        declared.values.append(pb_adjust.AdjustableValue(name="pause", value=value, safety=1, lever="pause"))
        run.governor.take("a", pb_adjust.AgentAdjust(able=declared))
        one = (await details(parts))["run"]
        async with serving(parts) as url:
            (listed,) = (await fetch(f"{url}/api/v1/runs")).json()["runs"]
        assert (one["state"], one["remaining_seconds"]) == (listed["state"], listed["remaining_seconds"])
        shown.append((one["state"], one["remaining_seconds"], one["remaining_high_seconds"]))
    assert shown == [("running", 89.0, 99.0), ("paused", None, None), ("running", 89.0, 99.0)]


@pytest.mark.parametrize("host", ["", "a"])
async def test_a_run_that_ended_while_the_collector_was_away_has_ended(host: str) -> None:
    """Only a condition from before is known of it. While a host does not report, it may be there."""
    training = TrainingDouble("other")
    training.parts.timeline.add_events([make_event("fail_slow", subject=Subject(host, run="gone"))])

    async def state() -> str:
        one = (await details(training.parts, "gone"))["run"]["state"]
        async with serving(training.parts) as url:
            listed = (await fetch(f"{url}/api/v1/runs")).json()["runs"]
        assert {run["run"]: run["state"] for run in listed}["gone"] == one
        return str(one)

    assert await state() == "ended"
    training.parts.fleet.ensure("a").received_ns -= 60 * SECOND
    assert await state() == "not_reporting"
