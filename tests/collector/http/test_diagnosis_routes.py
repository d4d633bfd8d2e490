"""The diagnosis of hosts and runs over HTTP."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flyball_collector.advice.advice import Advice, Effort, Gain, Safety
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, RunFigure, Scores, Standing
from flyball_collector.http.parts import Parts
from flyball_collector.http.testing import Clock, Machine, fetch, make_parts, serving
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, make_event
from flyball_proto.v1 import telemetry_pb2 as pb

DISK = make_event("bottleneck_disk", subject=Subject("a"), confidence=0.7)
MEMORY = make_event(at=1, subject=Subject("a", "GPU-1"), seconds_left=600.0)
FULL = make_event("disk_full", at=2, subject=Subject("a", resource="/data"), seconds_left=90.0)
SLOW = make_event("straggler", at=3, subject=Subject("b", run="r", rank=1))


class Found:
    """Findings of three hosts, as the diagnosis would hand them over."""

    def of_host(self, name: str) -> DiagnosisSnapshot:
        level = {"a": 0.8, "b": 0.4}.get(name, float("nan"))
        values = np.array([level])
        scores = Scores(
            [name], [("cpu", values / 2), ("memory", np.array([np.nan]))], [("disk", values), ("cpu", values / 4)]
        )
        fresh = Standing(MEMORY, 300.0, 200.0, 500.0, 0.9)
        return DiagnosisSnapshot(
            scores=scores, primary=[(name, "disk")] if level > 0.5 else [], standing=[fresh] if name == "a" else []
        )

    def of_fleet(self) -> DiagnosisSnapshot:
        return DiagnosisSnapshot(runs=[RunFigure("r", 2, 0.5, 0.7, 3600.0, 3000.0, 4000.0)])


def some_advice() -> Sequence[Advice]:
    about = {"confidence": 0.8, "effort": Effort.SETTING, "source": "a paper"}
    return (
        Advice(
            rule="storage",
            subject=Subject("a"),
            because="reads wait",
            change="cache",
            gain=Gain(1.2, 1.5),
            safety=Safety.ADVISE,
            **about,  # type: ignore[arg-type]  # as they are declared
        ),
        Advice(rule="batch", subject=Subject(run="r"), because="x", change="y", safety=Safety.CONSENT, **about),  # type: ignore[arg-type]
    )


def diagnosed() -> Parts:
    """Two hosts that step together, one that does not; findings and advice about them."""
    parts = make_parts(clock=Clock(NOW_NS + 60 * SECOND_NS))
    for rank, name in enumerate(("a", "b", "c")):
        tick = Machine(name, 1).tick(0, parts.clock())
        if name != "c":
            steps = [pb.StepReport(run="r", rank=rank, world_size=2, step=70, steps=2, step_seconds=1.0)]
            tick.extras = pb.Record(steps=steps).SerializeToString()
        parts.fleet.apply(tick)
    parts.fleet.ranks.settle()
    parts.timeline.take([DISK, MEMORY, FULL, SLOW])
    return replace(parts, findings=Found(), advice=some_advice)


async def test_a_host_is_diagnosed() -> None:
    """Scores with the raised one first, risks by time with the newest numbers, advice, and unknown as null."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/hosts/a/diagnosis")).json()
    assert (told["host"], told["primary"], told["runs"]) == ("a", "disk", ["r"])
    assert told["base_scores"] == {"cpu": 0.4, "memory": None}
    disk, cpu = told["scores"]
    assert (disk["bottleneck"], disk["score"], disk["raised"], disk["confidence"]) == ("disk", 0.8, True, 0.7)
    assert (cpu["score"], cpu["raised"], cpu["confidence"]) == (0.2, False, None)
    assert [risk["kind"] for risk in told["risks"]] == ["disk_full", "memory_exhaustion"]
    assert told["risks"][1]["seconds_left"] == 300.0
    assert {condition["kind"] for condition in told["conditions"]} == {
        "bottleneck_disk",
        "memory_exhaustion",
        "disk_full",
    }
    assert [advice["rule"] for advice in told["advice"]] == ["storage", "batch"]
    assert (told["advice"][0]["gain_low"], told["advice"][1]["gain_low"]) == (1.2, None)
    assert told["advice"][1]["needs_consent"]


async def test_a_quiet_host_has_nothing_to_say() -> None:
    """No scores known, nothing stands, no advice: empty and null, not zero; an unknown host is named."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/hosts/c/diagnosis")).json()
        wrong = await fetch(f"{url}/api/v1/hosts/nobody/diagnosis")
    assert (told["primary"], told["conditions"], told["risks"], told["advice"]) == (None, [], [], [])
    assert {score["score"] for score in told["scores"]} == {None}
    assert wrong.status == 404


async def test_a_run_is_diagnosed_over_its_hosts() -> None:
    """Means over hosts, what stands of the run and its hosts, each host's own primary bottleneck."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/runs/r/diagnosis")).json()
        wrong = (await fetch(f"{url}/api/v1/runs/rr/diagnosis")).json()
    assert told["base_scores"]["cpu"] == 0.3
    assert told["primary"] == "disk"
    assert told["hosts"] == [{"host": "a", "primary": "disk"}, {"host": "b", "primary": None}]
    assert {condition["kind"] for condition in told["conditions"]} >= {"straggler", "disk_full"}
    assert wrong["error"]["hint"] == "did you mean r?"


async def test_runs_are_listed_with_their_figures() -> None:
    """Ranks, hosts, newest step, step times, what remains, and what stands."""
    async with serving(diagnosed()) as url:
        told = (await fetch(f"{url}/api/v1/runs")).json()
    (run,) = told["runs"]
    assert (run["run"], run["ranks"], run["world_size"], run["hosts"], run["step"]) == ("r", 2, 2, ["a", "b"], 70)
    assert (run["step_median_seconds"], run["remaining_low_seconds"]) == (0.5, 3000.0)
    assert (run["conditions"], run["severity"]) == (1, "warning")


async def test_advice_is_filtered() -> None:
    """Of all, of a host, of a run."""
    async with serving(diagnosed()) as url:
        for query, rules in (
            ("", ["storage", "batch"]),
            ("?host=a", ["storage"]),
            ("?run=r", ["batch"]),
            ("?host=c", []),
        ):
            told = (await fetch(f"{url}/api/v1/advice{query}")).json()
            assert [advice["rule"] for advice in told] == rules


async def test_everything_is_described() -> None:
    """The description of the API names every path of the timeline, the diagnosis and silences."""
    async with serving(make_parts()) as url:
        paths = (await fetch(f"{url}/openapi.json")).json()["paths"]
    expected = ("events", "conditions", "kinds", "silences", "silences/{id}", "advice", "runs", "runs/{name}/diagnosis")
    assert {f"/api/v1/{path}" for path in expected} <= set(paths)
    assert {"get", "post"} == set(paths["/api/v1/silences"])
