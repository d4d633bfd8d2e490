"""The diagnosis of hosts and runs over HTTP."""

from flyball_collector.http.diagnosis_testing import GPU, diagnosed
from flyball_collector.http.testing import fetch, make_parts, serving
from flyball_proto.v1 import telemetry_pb2 as pb


async def test_host_diagnosis() -> None:
    """Scores have the raised one first; risks are sorted by time with current forecasts; unknown values are null."""
    async with serving(diagnosed()) as url:
        answer = (await fetch(f"{url}/api/v1/hosts/a/diagnosis")).json()
    assert (answer["host"], answer["primary"], answer["runs"]) == ("a", "disk", ["r"])
    assert answer["base_scores"] == {"cpu": 0.4, "memory": None}
    disk, cpu = answer["scores"]
    assert (disk["bottleneck"], disk["score"], disk["raised"], disk["confidence"]) == ("disk", 0.8, True, 0.7)
    assert (cpu["score"], cpu["raised"], cpu["confidence"]) == (0.2, False, None)
    assert [risk["kind"] for risk in answer["risks"]] == ["disk_full", "memory_exhaustion"]
    assert answer["risks"][1]["seconds_left"] == 300.0
    assert (answer["risks"][1]["gpu"], answer["risks"][1]["gpu_index"]) == (GPU, 3)
    assert {condition["kind"] for condition in answer["conditions"]} == {
        "bottleneck_disk",
        "memory_exhaustion",
        "disk_full",
    }
    assert [advice["rule"] for advice in answer["advice"]] == ["storage", "batch"]
    assert (answer["advice"][0]["gain_low"], answer["advice"][1]["gain_low"]) == (1.2, None)
    assert answer["advice"][1]["needs_consent"]
    assert [(advice["gpu"], advice["gpu_index"]) for advice in answer["advice"]] == [(GPU, 3), (None, None)]


async def test_a_host_without_findings() -> None:
    """The answer has null and empty lists, not zero. An unknown host is an error."""
    async with serving(diagnosed()) as url:
        answer = (await fetch(f"{url}/api/v1/hosts/c/diagnosis")).json()
        wrong = await fetch(f"{url}/api/v1/hosts/nobody/diagnosis")
    assert (answer["primary"], answer["conditions"], answer["risks"], answer["advice"]) == (None, [], [], [])
    assert {score["score"] for score in answer["scores"]} == {None}
    assert wrong.status == 404


async def test_run_diagnosis() -> None:
    """Return mean scores, the conditions of the run and its hosts, and the primary bottleneck of each host."""
    async with serving(diagnosed()) as url:
        answer = (await fetch(f"{url}/api/v1/runs/r/diagnosis")).json()
        wrong = (await fetch(f"{url}/api/v1/runs/rr/diagnosis")).json()
    assert answer["base_scores"]["cpu"] == 0.3
    assert answer["primary"] == "disk"
    assert answer["hosts"] == [{"host": "a", "primary": "disk"}, {"host": "b", "primary": None}]
    assert {condition["kind"] for condition in answer["conditions"]} >= {"straggler", "disk_full"}
    assert wrong["error"]["hint"] == "did you mean 'r'?"


async def test_runs_are_listed_with_figures() -> None:
    """Ranks, hosts, newest step, step times, remaining time and active conditions are included."""
    async with serving(diagnosed()) as url:
        answer = (await fetch(f"{url}/api/v1/runs")).json()
    (run,) = answer["runs"]
    assert (run["run"], run["ranks"], run["world_size"], run["hosts"], run["step"]) == ("r", 2, 2, ["a", "b"], 70)
    assert (run["step_median_seconds"], run["remaining_low_seconds"]) == (0.5, 3000.0)
    assert (run["conditions"], run["own_conditions"], run["severity"]) == (4, 1, "critical")


async def test_a_run_without_steps_is_listed() -> None:
    """A run that agents know by its processes has users, GPUs and times, and null where it would need steps."""
    parts = diagnosed()
    state = parts.fleet.ensure("c")
    member = pb.Member(run="slurm-7", rank=1, world_size=4, user="ada", source="slurm", gpus=["GPU-1"], pid=5)
    state.tenancy = pb.Tenancy(members=[member])
    parts.fleet.runs.advance(parts.clock(), {host.name: host for host in parts.fleet.hosts()})
    async with serving(parts) as url:
        answer = (await fetch(f"{url}/api/v1/runs")).json()
        diagnosis = (await fetch(f"{url}/api/v1/runs/slurm-7/diagnosis")).json()
        host = (await fetch(f"{url}/api/v1/hosts/c/diagnosis")).json()
    reported, seen = answer["runs"]
    assert (reported["run"], reported["users"], reported["gpus"], reported["started"]) == ("r", [], None, None)
    assert (seen["run"], seen["state"], seen["source"], seen["users"]) == ("slurm-7", "running", "slurm", ["ada"])
    assert (seen["hosts"], seen["gpus"], seen["ranks"], seen["world_size"]) == (["c"], 1, 1, 4)
    assert (seen["step"], seen["step_median_seconds"], seen["last_report"]) == (None, None, None)
    assert seen["started"]["unix"] <= seen["last_seen"]["unix"]
    assert [each["host"] for each in diagnosis["hosts"]] == ["c"]
    assert host["runs"] == ["slurm-7"]


async def test_advice_is_filtered() -> None:
    """Filters by host and run work."""
    async with serving(diagnosed()) as url:
        for query, rules in (
            ("", ["storage", "batch"]),
            ("?host=a", ["storage"]),
            ("?run=r", ["batch"]),
            ("?host=c", []),
        ):
            answer = (await fetch(f"{url}/api/v1/advice{query}")).json()
            assert [advice["rule"] for advice in answer] == rules


async def test_the_api_description_has_all_paths() -> None:
    """The OpenAPI description has every path of the timeline and the diagnosis."""
    async with serving(make_parts()) as url:
        paths = (await fetch(f"{url}/openapi.json")).json()["paths"]
    expected = ("events", "conditions", "kinds", "advice", "runs", "run", "runs/{name}", "runs/{name}/diagnosis")
    assert {f"/api/v1/{path}" for path in expected} <= set(paths)
